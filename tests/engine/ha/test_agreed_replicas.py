"""Replicas of a master under a controller, and the sends that wait for them."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.ha.agreed_replicas import ALL_IN_SYNC, AgreedReplicas
from mqgateway.engine.ha.epoch_feed import EpochFeed
from mqgateway.engine.ha.epoch_frames import Hello, encode_epoch_report, encode_hello
from mqgateway.engine.ha.epochs import Epochs
from mqgateway.engine.store.log import Agreement
from mqgateway.engine.store.results import PutStatus
from mqgateway.engine.testing.crash_disk import CrashDisk
from tests.support.engine.ha.logs import Ends, options


class Master:
    """Master 1 of a log of 100 bytes, with replicas."""

    def __init__(self, *in_sync: int, **settings: Any) -> None:
        self.log = Ends(100)
        self.may_answer = True
        self.agreement = Agreement(lambda log: log.end_offset)
        self.options = options(**({"all_ack_in_sync_state_set": True} | settings))
        self.replicas = AgreedReplicas(self.options, self.log, self.agreement, lambda: self.may_answer)
        self.replicas.begin(1, frozenset(in_sync), 4)
        self.answers: list[PutStatus] = []

    def join(self, number: int) -> EpochFeed:
        epochs = Epochs(CrashDisk(), "/store/epochs")
        feed = EpochFeed(
            self.options, self.log, f"10.0.0.{number}:1", 0, epochs, self.replicas.in_sync_set, lambda: 0
        )
        self.replicas.add(feed, 0)
        feed.receive(encode_hello(Hello(number)), 0)
        return feed

    def report(self, feed: EpochFeed, offset: int) -> None:
        feed.next_offset = max(feed.next_offset, offset)
        feed.receive(encode_epoch_report(offset), 0)
        self.replicas.acknowledged()

    def put(self) -> int:
        self.log.position += 10
        need = self.replicas.need(0) or self.replicas.wanted
        self.replicas.wait(self.log.position, 0, need, self.answers.append)
        return self.log.position


OK, LATE = PutStatus.PUT_OK, PutStatus.FLUSH_SLAVE_TIMEOUT


def test_alone_in_sync_the_master_is_enough() -> None:
    master = Master(1)
    master.put()
    assert master.answers == [OK]
    assert master.agreement.limit is None


def test_send_waits_for_all_replicas_in_sync() -> None:
    master = Master(1, 2, 3)
    two, three = master.join(2), master.join(3)
    end = master.put()
    master.report(two, end)
    assert master.answers == []
    assert master.replicas.confirmed == 100
    master.report(three, end)
    assert master.answers == [OK]
    assert master.replicas.confirmed == end


def test_disconnected_replica_in_sync_stops_confirmation() -> None:
    master = Master(1, 2, 3)
    two = master.join(2)
    master.report(two, master.put())
    master.replicas.expire(3000)
    assert master.answers == [LATE]
    assert master.replicas.confirmed == 100


def test_replica_out_of_sync_does_not_count() -> None:
    master = Master(1, 2)
    three = master.join(3)
    master.report(three, master.put())
    assert master.answers == []
    assert not three.is_in_sync()


def test_a_smaller_set_lets_go_who_waited_once_it_is_agreed() -> None:
    master = Master(1, 2)
    master.put()
    replicas = master.replicas
    replicas.in_sync_set.ask(frozenset({1}))
    replicas.acknowledged()
    assert master.answers == []
    replicas.in_sync_set.take({1}, 5)
    replicas.acknowledged()
    assert master.answers == [OK]


def test_confirm_offset_is_kept_when_a_replica_joins() -> None:
    master = Master(1)
    two = master.join(2)
    two.caught_up = 0
    assert master.replicas.in_sync_set.consider([two], 100, 0, 2500, master.options) is None
    master.replicas.confirm()
    assert master.replicas.confirmed == 100
    end = master.put()
    assert master.answers == []
    master.report(two, end)
    assert (master.answers, master.replicas.confirmed) == ([OK], end)


def test_too_few_in_sync_take_nothing() -> None:
    master = Master(1, min_in_sync_replicas=2)
    assert master.replicas.need(0) is None
    master.replicas.in_sync_set.take({1, 2}, 5)
    assert master.replicas.need(0) == ALL_IN_SYNC
    assert master.replicas.in_sync() == 2


def test_a_number_of_logs_is_counted_among_those_in_sync() -> None:
    master = Master(1, 2, all_ack_in_sync_state_set=False, in_sync_replicas=2)
    two, three = master.join(2), master.join(3)
    end = master.put()
    master.report(three, end)
    assert master.answers == []
    master.report(two, end)
    assert master.answers == [OK]
    assert master.agreement.limit is None
    assert master.replicas.wanted == 2


def test_as_many_as_there_are_if_the_settings_say_so() -> None:
    settings = {"all_ack_in_sync_state_set": False, "in_sync_replicas": 3}
    assert Master(1, 2, enable_auto_in_sync_replicas=True, **settings).replicas.need(0) == 2
    assert Master(1, 2, **settings).replicas.need(0) == 3


def test_the_newest_connection_of_a_replica_counts() -> None:
    master = Master(1, 2)
    old, new = master.join(2), master.join(2)
    assert master.replicas.followers() == [new]
    master.report(old, master.put())
    assert master.answers == [OK]


def test_send_is_not_acknowledged_after_lease_end() -> None:
    master = Master(1, 2)
    two = master.join(2)
    end = master.put()
    master.may_answer = False
    master.report(two, end)
    assert master.answers == []
    master.put()
    assert master.answers == [LATE]


def test_watchers_are_notified_before_sends_are_answered() -> None:
    master, seen = Master(1, 2), list[list[PutStatus]]()
    two = master.join(2)
    for _ in range(2):
        master.replicas.watch_confirms(lambda: seen.append(list(master.answers)))
    master.report(two, master.put())
    assert seen == [[], []] and master.answers == [OK]
