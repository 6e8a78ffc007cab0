"""Sends waiting for replicas, as in `CommitLog.calcNeedAckNums` and `GroupTransferService`."""

import itertools

from mqgateway.engine.ha.feed import Feed
from mqgateway.engine.ha.frames import encode_report
from mqgateway.engine.ha.replicas import Replicas
from mqgateway.engine.options import BrokerRole
from mqgateway.engine.store.message_store import PutStatus
from tests.support.engine.ha.logs import Ends, options


class Group:
    """A master at 100 with slaves that connect and acknowledge."""

    def __init__(self, **changes: object) -> None:
        self.log = Ends(100)
        self.options = options(broker_role=BrokerRole.SYNC_MASTER, **changes)
        self.replicas = Replicas(self.options, self.log)
        self.said: list[PutStatus] = []
        self._hosts = itertools.count(2)

    def slave(self, ack: int = 100, host: str = "", now: int = 0) -> Feed:
        feed = Feed(self.options, self.log, f"{host or f'10.0.0.{next(self._hosts)}'}:5000", now)
        self.replicas.add(feed, now)
        self.acknowledge(feed, ack, now)
        return feed

    def acknowledge(self, feed: Feed, offset: int, now: int = 0) -> None:
        while (outgoing := feed.take(now)) is not None and outgoing.size:
            pass
        feed.receive(encode_report(offset), now)
        self.replicas.acknowledged()

    def put(self, size: int = 50, now: int = 0) -> None:
        need = self.replicas.need(now)
        assert need is not None
        self.log.position += size
        self.replicas.wait(self.log.position, now, need, self.said.append)


def test_one_log_is_enough_by_default() -> None:
    """A SYNC_MASTER of version 5 waits for slaves only with inSyncReplicas."""
    group = Group()
    group.put()
    assert group.said == [PutStatus.PUT_OK]


def test_a_send_waits_until_enough_slaves_have_it() -> None:
    group = Group(in_sync_replicas=3)
    first, second = group.slave(), group.slave()
    group.put()
    group.acknowledge(first, 150)
    assert group.said == []
    group.acknowledge(second, 149)
    assert group.said == []
    group.acknowledge(second, 150)
    assert group.said == [PutStatus.PUT_OK]
    assert group.replicas.waiting == 0


def test_send_times_out() -> None:
    group = Group(in_sync_replicas=2)
    group.put()
    group.replicas.expire(2999)
    assert group.said == []
    group.replicas.expire(3000)
    assert group.said == [PutStatus.FLUSH_SLAVE_TIMEOUT]


def test_waiting_sends_are_answered_at_stop() -> None:
    group = Group(in_sync_replicas=2)
    group.put()
    group.replicas.give_up()
    assert group.said == [PutStatus.FLUSH_SLAVE_TIMEOUT]


def test_a_slave_that_connected_twice_counts_once() -> None:
    """The old connection hangs: the master has not noticed its end."""
    group = Group(in_sync_replicas=3)
    group.slave(host="10.0.0.9", now=0)
    group.put()
    again = group.slave(host="10.0.0.9", ack=100, now=1000)
    group.acknowledge(again, 150, now=1001)
    assert group.said == []
    assert group.replicas.high_water_mark(3) == 0
    assert group.replicas.high_water_mark(2) == 150


def test_two_slaves_of_one_host_count_once_each_when_both_are_heard_of() -> None:
    group = Group(in_sync_replicas=3)
    first = group.slave(host="10.0.0.9", now=0)
    second = group.slave(host="10.0.0.9", now=1000)
    group.put(now=1000)
    group.acknowledge(second, 150, now=1002)
    group.acknowledge(first, 150, now=1003)
    assert group.said == [PutStatus.PUT_OK]


def test_acknowledgement_of_lost_slave_does_not_count() -> None:
    group = Group(in_sync_replicas=3)
    lost, stays = group.slave(), group.slave()
    group.put()
    group.acknowledge(lost, 150)
    group.replicas.remove(lost)
    group.acknowledge(stays, 150)
    assert group.said == []


def test_too_few_logs_that_keep_up_refuse_sends() -> None:
    group = Group(in_sync_replicas=3, min_in_sync_replicas=2)
    assert group.replicas.need(0) is None
    group.slave()
    assert group.replicas.need(0) == 3


def test_by_itself_the_number_goes_down_to_those_that_keep_up() -> None:
    group = Group(in_sync_replicas=3, min_in_sync_replicas=2, enable_auto_in_sync_replicas=True)
    assert group.replicas.need(0) is None
    group.slave()
    assert group.replicas.need(0) == 2
    group.slave()
    assert group.replicas.need(0) == 3
    group.slave()
    assert group.replicas.need(0) == 3


def test_no_more_logs_are_in_sync_than_members_are_there() -> None:
    """If slaves may act: name servers have lost a member that is still connected."""
    group = Group(in_sync_replicas=2)
    group.slave()
    group.replicas.alive = 2
    assert (group.replicas.in_sync(), group.replicas.need(0)) == (2, 2)
    group.replicas.alive = 1
    assert (group.replicas.in_sync(), group.replicas.need(0)) == (1, None)
    group.replicas.alive = 3
    assert (group.replicas.in_sync(), group.replicas.need(0)) == (2, 2)


def test_all_that_keep_up_are_waited_for() -> None:
    group = Group(all_ack_in_sync_state_set=True)
    assert group.replicas.need(0) == 1
    group.slave()
    slow = group.slave()
    assert group.replicas.need(0) == 3
    group.put()
    group.acknowledge(slow, 120)
    assert group.replicas.need(15_001) == 1
    group.acknowledge(slow, 150, now=15_001)
    assert group.replicas.need(15_001) == 2


def test_a_slave_far_behind_does_not_keep_up() -> None:
    group = Group(in_sync_replicas=2, enable_auto_in_sync_replicas=True, ha_max_gap_not_in_sync=60)
    group.slave(ack=50)
    assert group.replicas.need(0) == 2
    group.log.position = 110
    assert group.replicas.need(0) == 1


def test_the_high_water_mark_is_what_so_many_logs_have() -> None:
    group = Group()
    group.slave(ack=40)
    group.slave(ack=70)
    assert [group.replicas.high_water_mark(need) for need in (1, 2, 3, 4)] == [100, 70, 40, 0]


def test_waiting_sends_are_released_on_role_change() -> None:
    group = Group(in_sync_replicas=2)
    slave = group.slave()
    group.put()
    group.replicas.release()
    assert group.said == [PutStatus.FLUSH_SLAVE_TIMEOUT]
    group.acknowledge(slave, 150)
    assert len(group.said) == 1
