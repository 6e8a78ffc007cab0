"""Registration: its contents, its time, and the callers that wait for it."""

from __future__ import annotations

import zlib

import pytest

from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.cluster import announcement
from mqgateway.gateway.broker.cluster.registrar import RETRY_SECONDS
from mqgateway.gateway.broker.cluster.registration import GATHER_SECONDS
from mqgateway.gateway.codec.bodies import KVTable
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import RegisterBrokerResponseHeader
from mqgateway.gateway.remoting.exchange import PeerGone
from tests.support.gateway.broker.name_servers import ONE, REGISTER, TWO, UNREGISTER, World


def test_start_registers_with_every_name_server() -> None:
    world = World(f"{ONE}; {TWO};")
    done: list[object] = []
    world.registration.start().addCallback(done.append)
    first, second = world.take()
    assert [first.address, second.address] == [ONE, TWO]
    for asked in (first, second):
        assert asked.command.code == REGISTER
        assert asked.timeout == 24.0
        assert asked.fields == {
            "brokerName": "b",
            "brokerAddr": "10.0.0.1:10911",
            "clusterName": "DefaultCluster",
            "haServerAddr": "10.0.0.1:10912",
            "brokerId": "0",
            "enableActingMaster": "false",
            "compressed": "false",
            "bodyCrc32": str(zlib.crc32(asked.command.body) & 0x7FFFFFFF),
        }
        assert asked.topics == {config.topic_name: config.to_json() for config in world.topics.all()}
    first.agree()
    assert not done
    second.answer.errback(PeerGone("refused"))
    assert done == [None], "who does not answer is not waited for"


def test_withdrawn_topic_is_removed_from_reachable_name_servers() -> None:
    world = World(f"{ONE};{TWO}")
    world.registration.start()
    first, second = world.take()
    first.agree()
    second.answer.errback(PeerGone("refused"))
    done: list[object] = []
    world.registration.withdraw("A").addCallback(done.append)
    asked = world.one(RequestCode.DELETE_TOPIC_IN_NAMESRV)
    assert (asked.address, asked.fields) == (ONE, {"topic": "A", "clusterName": "DefaultCluster"})
    assert not done
    asked.answer.errback(PeerGone("refused"))
    assert done == [None]


def test_withdrawn_topic_of_a_fenced_broker_is_left_to_name_servers() -> None:
    world = World().started()
    world.role.become(RoleKind.FENCED)
    world.take()
    assert world.registration.withdraw("A").called
    assert world.take() == []


def test_start_without_name_servers_succeeds() -> None:
    world = World("")
    done: list[object] = []
    world.registration.start().addCallback(done.append)
    assert done == [None] and world.take() == []


def test_registration_is_repeated_each_period() -> None:
    world = World().started()
    world.time.advance(29.9)
    assert world.take() == []
    world.time.advance(0.2)
    assert len(world.one().topics) == len(world.topics)


@pytest.mark.parametrize(("wished", "seconds"), [(1, 10), (20_000, 20), (600_000, 60)])
def test_period_is_limited(wished: int, seconds: int) -> None:
    world = World(register_name_server_period=wished).started()
    world.time.advance(seconds - 0.1)
    assert world.take() == []
    world.time.advance(0.2)
    world.one()


def test_changed_topics_are_announced_together() -> None:
    world = World().started()
    world.change("A", "B")
    assert set(world.one().topics) == {"A", "B"}


def test_call_without_a_topic_announces_everything() -> None:
    world = World().started()
    world.registration.soon("A")
    world.registration.soon()
    world.registration.soon("B")
    world.time.advance(0.01)
    assert len(world.one().topics) == len(world.topics)


def test_every_watcher_gets_the_addresses_of_the_master() -> None:
    world, seen = World(), list[tuple[str | None, str | None]]()
    for _ in range(2):
        world.registration.watch_master(lambda main, ha: seen.append((main, ha)))
    world.registration.start()
    header = RegisterBrokerResponseHeader(master_addr="10.0.0.1:10911", ha_server_addr="10.0.0.1:10912")
    world.one().answer.callback(RemotingCommand.response(0, header))
    assert seen == [("10.0.0.1:10911", "10.0.0.1:10912")] * 2


def test_ordered_topics_are_applied_from_the_name_server() -> None:
    world = World()
    world.topics.put(TopicConfig("A"), TopicConfig("B", order=True))
    world.registration.start()
    world.one().agree(KVTable(table={"A": "b:4", "unknown": "b:4"}).encode())
    assert {config.topic_name: config.order for config in world.topics.all() if config.order} == {
        "A": True,
        "B": True,
    }


def test_name_servers_can_change_at_run_time() -> None:
    world = World().started()
    world.options.namesrv_addr = f"{TWO}"
    world.time.advance(30)
    assert world.one().address == TWO
    world.change("A")
    assert world.take() == [], "the new one has not answered yet"


def test_stop_unregisters_from_reachable_name_servers() -> None:
    world = World(f"{ONE};{TWO}")
    world.registration.start()
    first, second = world.take()
    first.agree()
    second.answer.errback(PeerGone("refused"))
    done: list[object] = []
    world.registration.stop().addCallback(done.append)
    asked = world.one(UNREGISTER)
    assert asked.address == ONE
    assert asked.fields == {
        "brokerName": "b",
        "brokerAddr": "10.0.0.1:10911",
        "clusterName": "DefaultCluster",
        "brokerId": "0",
    }
    assert not done
    asked.answer.errback(PeerGone("gone"))
    assert done == [None]
    world.change("A")
    world.time.advance(100)
    assert world.take() == [] and world.time.getDelayedCalls() == []


def test_waiting_caller_resumes_with_the_last_answer() -> None:
    world = World(f"{ONE};{TWO}").started()
    done: list[object] = []
    world.registration.heard().addCallback(done.append)
    assert done == [None]  # nothing has changed
    world.registration.soon("new")
    world.topics.put(TopicConfig("new", 4, 4))
    world.registration.heard().addCallback(done.append)
    world.time.advance(0)
    first, second = world.take()
    first.agree()
    assert done == [None]
    second.answer.errback(PeerGone("gone"))  # it is unreachable: no caller waits for that
    assert done == [None, None]


def test_stopped_registration_releases_waiting_callers() -> None:
    world = World().started()
    world.topics.put(TopicConfig("new", 4, 4))
    world.registration.soon("new")
    done: list[object] = []
    world.registration.heard().addCallback(done.append)
    assert done == []
    world.registration.stop()
    assert done == [None]


def test_stop_resolves_waits_for_pending_changes() -> None:
    world = World().started()
    world.registration.soon("new")
    world.registration.stop()
    done: list[object] = []
    world.registration.heard().addCallback(done.append)
    assert done == [None]


def test_new_role_is_announced_at_once() -> None:
    world = World(broker_id=1).started()
    world.role.become(RoleKind.MASTER, epoch=1)
    world.time.advance(0.01)
    reported = world.one()
    assert reported.fields["brokerId"] == "0"
    reported.agree()
    world.role.become(RoleKind.SLAVE, broker_id=2)
    world.time.advance(0.01)
    assert world.one().fields["brokerId"] == "2"


def test_acting_slave_is_not_announced() -> None:
    world = World(broker_id=1)
    world.role.become(RoleKind.SLAVE)
    world.started()
    world.role.become(RoleKind.ACTING)
    world.time.advance(0.01)
    assert world.take() == []


def test_fenced_broker_unregisters_and_registers_in_its_next_role() -> None:
    world = World().started()
    reported: list[None] = []
    world.change("T")
    world.one().agree()
    world.role.become(RoleKind.FENCED)
    assert world.one(UNREGISTER).fields["brokerId"] == "0"
    world.change("T2")
    world.registration.heard().addCallback(reported.append)
    world.time.advance(120)
    assert (world.take(), reported) == ([], [None])
    world.role.become(RoleKind.MASTER)
    world.time.advance(0.01)
    assert {"T", "T2"} <= world.one().topics.keys()


def test_fencing_ends_a_split_registration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World().started()
    world.topics.put(*[TopicConfig(f"t{number}", 4, 4) for number in range(40)])
    monkeypatch.setattr(announcement, "TOPICS_A_REQUEST", 10)
    monkeypatch.setattr(announcement, "TOPICS_A_PART", 10)
    world.registration.soon(None)
    world.time.advance(0.01)
    part = world.one()
    world.role.become(RoleKind.FENCED)
    world.one(UNREGISTER).agree()
    part.agree()
    assert world.take() == []
    world.role.become(RoleKind.MASTER)
    world.time.advance(0.01)
    assert {name for one in world.agreed() for name in one.topics} == set(world.topics.names())


def test_failed_registration_is_not_retried_while_fenced() -> None:
    world = World()
    world.registration.start()
    (first,) = world.take()
    world.role.become(RoleKind.FENCED)
    first.answer.errback(PeerGone("refused"))
    world.time.advance(120)
    assert world.take() == []


def test_changes_during_a_registration_are_sent_together() -> None:
    world = World().started()
    done: list[str] = []

    def change(topic: str) -> None:
        world.change(topic)
        world.registration.heard().addCallback(lambda _: done.append(topic))

    change("first")
    conversation = world.one()
    for number in range(100):
        change(f"{number}")
    assert world.take() == [], "one conversation at a time"
    conversation.agree()
    assert done == ["first"]
    world.time.advance(GATHER_SECONDS)
    world.one().agree()
    assert len(done) == 101
    assert world.take() == []


def test_wait_for_a_silent_name_server_is_limited() -> None:
    world = World().started()
    done: list[object] = []
    world.change("new")
    world.registration.heard(within=1.0).addCallback(done.append)
    world.time.advance(0.9)
    assert done == []
    world.time.advance(0.2)
    assert done == [None]
    world.one().agree()


def test_failed_registration_releases_callers_of_the_next_one() -> None:
    world = World().started()
    done: list[object] = []
    world.change("first")
    world.registration.heard().addCallback(done.append)
    world.change("second")
    world.registration.heard().addCallback(done.append)
    world.time.advance(GATHER_SECONDS)
    assert done == []
    world.one().answer.errback(PeerGone("gone"))
    assert done == [None, None]


class Sends:
    """Sends that make topics, each answered once the name servers have heard of its topic."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.answered: list[str] = []

    def send(self, *topics: str, within: float | None = None) -> None:
        """In one turn of the loop."""
        for topic in topics:
            self.world.topics.put(TopicConfig(topic, 4, 4))
            self.world.registration.soon(topic)
            answer = self.world.registration.heard(within)
            answer.addCallback(lambda _, topic=topic: self.answered.append(topic))


def test_sends_of_one_turn_share_one_registration() -> None:
    world = World().started()
    sends = Sends(world)
    for topics in (["lone"], [f"t{number}" for number in range(32)]):
        sends.answered.clear()
        sends.send(*topics)
        assert world.take() == [], "the rest of the turn is gathered"
        world.time.advance(0)
        asked = world.one()
        assert set(asked.topics) == set(topics)
        assert sends.answered == []
        asked.agree()
        assert sends.answered == topics
    world.time.advance(GATHER_SECONDS)
    assert world.take() == [], "all has been told"


def test_changes_during_a_registration_are_sent_when_it_ends() -> None:
    world = World().started()
    sends = Sends(world)
    sends.send("first")
    world.time.advance(0)
    conversation = world.one()
    for number in range(20):
        sends.send(f"t{number}")
        world.time.advance(0.0001)
    assert world.take() == [], "one conversation at a time"
    conversation.agree()
    assert sends.answered == ["first"]
    asked = world.one()
    assert set(asked.topics) == {f"t{number}" for number in range(20)}
    asked.agree()
    assert len(sends.answered) == 21


def test_change_without_a_waiting_caller_is_gathered() -> None:
    world = World().started()
    world.change("first")
    conversation = world.one()
    world.registration.soon("second")
    conversation.agree()
    assert world.take() == []
    world.topics.put(TopicConfig("second", 4, 4))
    world.time.advance(GATHER_SECONDS)
    assert list(world.one().topics) == ["second"]


def test_slowest_name_server_is_waited_for() -> None:
    world = World(f"{ONE};{TWO}").started()
    sends = Sends(world)
    sends.send("A")
    world.time.advance(0)
    quick, slow = world.take()
    quick.agree()
    sends.send("B")
    world.time.advance(0)
    again = world.one()
    assert (again.address, list(again.topics)) == (ONE, ["B"])
    again.agree()
    assert sends.answered == []
    slow.agree()
    assert sends.answered == ["A"]
    last = world.one()
    assert (last.address, list(last.topics)) == (TWO, ["B"])
    last.agree()
    assert sends.answered == ["A", "B"]


def test_refused_registration_releases_callers_and_is_repeated() -> None:
    world = World().started()
    sends = Sends(world)
    sends.send("A")
    world.time.advance(0)
    asked = world.one()
    sends.send("B")
    world.time.advance(0)
    asked.agree(code=1)
    assert sends.answered == ["A", "B"], "it cannot be told"
    sends.send("C")
    assert sends.answered == ["A", "B", "C"]
    world.time.advance(RETRY_SECONDS)
    again = world.one()
    assert {"A", "B", "C"} < set(again.topics)
    sends.send("D")
    assert sends.answered[-1] == "D", "it is not known to be there yet"
    world.time.advance(GATHER_SECONDS)
    again.agree()
    assert list(world.one().topics) == ["D"]


def test_new_name_server_is_waited_for() -> None:
    world = World().started()
    world.change("before")
    world.one().agree()
    world.options.namesrv_addr = f"{ONE};{TWO}"
    sends = Sends(world)
    world.time.advance(30)
    for asked in world.take():
        asked.agree()
    assert world.registration.heard().called
    sends.send("A")
    world.time.advance(0)
    one, two = world.take()
    one.agree()
    assert sends.answered == []
    world.options.namesrv_addr = ONE
    world.time.advance(30)
    assert sends.answered == ["A"], "it is one of ours no longer"
    two.agree()


def test_only_expired_waits_are_resolved() -> None:
    world = World().started()
    sends = Sends(world)
    sends.send("A", within=1.0)
    sends.send("always")
    world.time.advance(0.5)
    sends.send("B", within=1.0)
    world.time.advance(0.5)
    assert sends.answered == ["A"]
    world.time.advance(0.5)
    assert sends.answered == ["A", "B"]
    world.agreed()
    assert sends.answered == ["A", "B", "always"]
