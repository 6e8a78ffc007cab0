"""Registration: what name servers are told, when, and what happens while one of them is away."""

from __future__ import annotations

import logging
import zlib
from itertools import pairwise
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.ha.role import Role, RoleKind
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.static_topics.mappings import Mappings, TopicMapping
from mqgateway.engine.static_topics.pieces import Piece
from mqgateway.engine.steps import run
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.tables.topics import TopicConfig, TopicTable
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.broker.cluster import registration
from mqgateway.gateway.broker.cluster.registration import (
    GATHER_SECONDS,
    RETRY_SECONDS,
    Registration,
)
from mqgateway.gateway.codec.bodies import KVTable, RegisterBrokerBody, TopicConfigAndMappingSerializeWrapper
from mqgateway.gateway.codec.codes import CURRENT_VERSION, RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import QueryDataVersionResponseHeader
from mqgateway.gateway.remoting.exchange import PeerGone

ONE, TWO = "ns1:9876", "ns2:9876"
REGISTER, UNREGISTER, QUERY = (
    RequestCode.REGISTER_BROKER,
    RequestCode.UNREGISTER_BROKER,
    RequestCode.QUERY_DATA_VERSION,
)


class Asked:
    """One request to a name server that waits for its answer."""

    def __init__(self, address: str, command: RemotingCommand, timeout: float) -> None:
        self.address = address
        self.command = command
        self.timeout = timeout
        self.answer: Deferred[RemotingCommand] = Deferred()

    @property
    def fields(self) -> dict[str, str]:
        return self.command.ext_fields

    @property
    def topics(self) -> dict[str, Any]:
        """The topics it tells of."""
        return self.told.topic_config_table

    @property
    def version(self) -> DataVersion:
        """The version they have."""
        return DataVersion.from_json(self.told.data_version)

    @property
    def told(self) -> TopicConfigAndMappingSerializeWrapper:
        """The topics with their version."""
        body = self.command.body
        topics: dict[str, Any] = {}
        if self.fields["compressed"] == "true":
            steps = RegisterBrokerBody.read_compressed(body, CURRENT_VERSION, 1 << 26, topics.__setitem__)
            wrapper = run(steps).topic_config_serialize_wrapper
            wrapper.topic_config_table = topics
            return wrapper
        return RegisterBrokerBody.decode(body).topic_config_serialize_wrapper

    def agree(self, body: bytes = b"", code: int = 0) -> None:
        self.answer.callback(RemotingCommand.response(code, body=body, remark="no" if code else None))


class World:
    """A registration whose name servers answer by hand."""

    def __init__(self, servers: str = ONE, **options: Any) -> None:
        self.wall = ManualClock()
        self.time = Clock()
        self.options = BrokerOptions(broker_name="b", namesrv_addr=servers, **options)
        self.topics = TopicTable(self.options, CrashDisk(millis=self.wall.millis), "/topics.json", self.wall)
        self.waiting: list[Asked] = []
        self.role = Role(
            RoleKind.SLAVE if self.options.broker_id else RoleKind.MASTER, self.options.broker_id
        )
        self.mappings = Mappings(
            self.options, CrashDisk(millis=self.wall.millis), "/mappings.json", self.wall
        )
        self.registration = Registration(
            self.options,
            self.topics,
            self.mappings,
            self,
            self.time,
            role=self.role,
            address="10.0.0.1:10911",
            ha_address="10.0.0.1:10912",
        )

    def request(
        self, address: str, command: RemotingCommand, timeout: float = 3.0
    ) -> Deferred[RemotingCommand]:
        asked = Asked(address, command, timeout)
        self.waiting.append(asked)
        return asked.answer

    def take(self) -> list[Asked]:
        """What was asked since the last time."""
        waiting, self.waiting = self.waiting, []
        return waiting

    def agreed(self) -> list[Asked]:
        """What is asked until there is nothing more, each answered before the next."""
        found: list[Asked] = []
        while asked := self.take():
            found += asked
            for one in asked:
                one.agree()
        return found

    def one(self, code: int = REGISTER) -> Asked:
        """The one request that must have been made."""
        (asked,) = self.take()
        assert asked.command.code == code
        return asked

    def started(self) -> World:
        """Past the first registration everywhere."""
        self.registration.start()
        for asked in self.take():
            asked.agree()
        return self

    def change(self, *names: str) -> None:
        """Topics that are new, told at once."""
        for name in names:
            self.topics.put(TopicConfig(name, 4, 4))
            self.registration.soon(name)
        self.time.advance(0.01)


def test_a_start_tells_every_name_server_everything() -> None:
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


def test_no_name_server_is_no_hindrance() -> None:
    world = World("")
    done: list[object] = []
    world.registration.start().addCallback(done.append)
    assert done == [None] and world.take() == []


def test_everything_is_told_again_each_period() -> None:
    world = World().started()
    world.time.advance(29.9)
    assert world.take() == []
    world.time.advance(0.2)
    assert len(world.one().topics) == len(world.topics)


@pytest.mark.parametrize(("wished", "seconds"), [(1, 10), (20_000, 20), (600_000, 60)])
def test_the_period_has_bounds(wished: int, seconds: int) -> None:
    world = World(register_name_server_period=wished).started()
    world.time.advance(seconds - 0.1)
    assert world.take() == []
    world.time.advance(0.2)
    world.one()


def test_changed_topics_are_told_alone_and_together() -> None:
    world = World().started()
    world.change("A", "B")
    assert set(world.one().topics) == {"A", "B"}


def test_what_changes_while_a_request_is_under_way_is_told_by_the_next() -> None:
    world = World().started()
    world.change("A")
    asked = world.one()
    world.change("B")
    world.change("C")
    assert world.take() == []
    asked.agree()
    assert set(world.one().topics) == {"B", "C"}


def test_a_call_without_a_topic_tells_everything() -> None:
    world = World().started()
    world.registration.soon("A")
    world.registration.soon()
    world.registration.soon("B")
    world.time.advance(0.01)
    assert len(world.one().topics) == len(world.topics)


def test_a_topic_that_is_gone_again_is_not_told() -> None:
    world = World().started()
    world.registration.soon("never made")
    world.time.advance(0.01)
    assert world.take() == []
    world.change("A")
    assert set(world.one().topics) == {"A"}


def test_a_broker_that_may_do_less_says_so_of_its_topics() -> None:
    world = World(broker_permission=4)
    world.registration.start()
    topics = world.one().topics
    assert topics["b"]["perm"] == 7 & 4
    config = world.topics.get("b")
    assert config is not None and config.perm == 7, "the topic itself stays as it is"


@pytest.mark.parametrize("compressed", [False, True])
def test_static_topics_are_told_with_the_queues_that_are_led_here(compressed: bool) -> None:
    world = World(compressed_register=compressed)
    queues = {0: [Piece(0, 1, "b", 0)], 1: [Piece(0, 0, "b", 0, 0, 5), Piece(1, 0, "c", 10)]}
    world.mappings.put(TopicMapping("static", "b", 2, 7, queues=queues))
    world.started()
    world.change("static", "plain")
    (told,) = world.one().told.topic_queue_mapping_info_map.values()
    assert (told["topic"], told["totalQueues"], told["epoch"]) == ("static", 2, 7)
    assert {int(number): queue for number, queue in told["currIdMap"].items()} == {0: 1}


def test_the_body_may_be_compressed() -> None:
    world = World(compressed_register=True)
    world.registration.start()
    asked = world.one()
    assert asked.fields["compressed"] == "true"
    assert asked.fields["bodyCrc32"] == str(zlib.crc32(asked.command.body) & 0x7FFFFFFF)
    assert set(asked.topics) == set(world.topics.names())


def test_many_topics_may_be_told_in_several_requests() -> None:
    world = World(enable_split_registration=True, split_registration_size=5)
    world.registration.start()
    asked = world.agreed()
    assert [len(one.topics) for one in asked[:-1]] == [5] * (len(asked) - 1)
    assert sorted(name for one in asked for name in one.topics) == sorted(world.topics.names())


def test_very_many_topics_are_told_in_parts_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "TOPICS_A_REQUEST", 30)
    monkeypatch.setattr(registration, "TOPICS_A_PART", 10)
    world = World().started()
    world.topics.put(*[TopicConfig(f"t{number}", 4, 4) for number in range(40)])
    world.registration.soon(None)
    world.time.advance(0.01)
    (first,) = world.take()
    assert len(first.topics) == 10
    world.topics.put(TopicConfig("later", 4, 4))
    first.agree()
    others = world.agreed()
    told = {name for one in (first, *others) for name in one.topics}
    assert told == set(world.topics.names()) - {"later"}
    assert others[-1].version != world.topics.data_version


def test_parts_end_when_one_is_not_taken_or_the_broker_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "TOPICS_A_REQUEST", 5)
    monkeypatch.setattr(registration, "TOPICS_A_PART", 5)
    world = World()
    world.registration.start()
    world.one().agree(code=1)
    assert world.take() == []
    world.time.advance(RETRY_SECONDS)
    world.agreed()
    world.registration.soon(None)
    world.time.advance(0.01)
    part = world.one()
    world.registration.stop()
    world.one(UNREGISTER)
    part.agree()
    assert world.take() == []


def test_every_part_of_a_split_registration_is_news() -> None:
    """A name server passes over known topics that come with the version it was told last."""
    world = World(enable_split_registration=True, split_registration_size=5)
    world.registration.start()
    first = world.agreed()
    world.topics.put(TopicConfig("one", perm=4))
    world.time.advance(30)
    versions = [asked.version for asked in first + world.agreed()]
    assert len(versions) > 4
    assert all(one != other for one, other in pairwise(versions))
    assert versions[len(first) - 1].counter == 0
    assert versions[-1] == world.topics.data_version


class TestWithoutForce:
    """With `forceRegister` off the name server is asked first whether it is behind."""

    @pytest.fixture
    def world(self) -> World:
        world = World(force_register=False).started()
        world.time.advance(30)
        return world

    @staticmethod
    def said(changed: bool) -> RemotingCommand:
        return RemotingCommand.response(0, QueryDataVersionResponseHeader(changed=changed))

    def test_who_is_up_to_date_is_left_alone(self, world: World) -> None:
        asked = world.one(QUERY)
        assert asked.command.body == world.topics.data_version.encode()
        asked.answer.callback(self.said(False))
        assert world.take() == []

    def test_who_is_behind_is_told_everything(self, world: World) -> None:
        world.one(QUERY).answer.callback(self.said(True))
        assert len(world.one().topics) == len(world.topics)


class TestVeryManyTopics:
    """To tell all of them takes long: what changes is told, and servers are asked whether they know it."""

    @pytest.fixture
    def world(self, monkeypatch: pytest.MonkeyPatch) -> World:
        world = World().started()
        monkeypatch.setattr(registration, "TOPICS_A_PERIOD", len(world.topics))
        return world

    def test_all_are_told_only_now_and_then(self, world: World) -> None:
        codes = []
        for _ in range(4):
            world.time.advance(30)
            (asked,) = world.take()
            codes.append(asked.command.code)
            asked.answer.callback(TestWithoutForce.said(False))
        assert codes == [QUERY, REGISTER, QUERY, REGISTER]

    def test_a_server_is_asked_about_what_it_was_told(self, world: World) -> None:
        """Not about what changes just now, which it is told next: that is no reason to tell it all."""
        told = world.topics.data_version.encode()
        world.time.advance(29.995)
        world.topics.put(TopicConfig("A", 4, 4))
        world.registration.soon("A")
        world.time.advance(0.006)
        asked = world.one(QUERY)
        assert asked.command.body == told != world.topics.data_version.encode()
        asked.answer.callback(TestWithoutForce.said(False))
        world.time.advance(0.01)
        assert list(world.one().topics) == ["A"]

    def test_one_that_began_anew_is_told_all(self, world: World) -> None:
        world.time.advance(30)
        world.one(QUERY).answer.callback(TestWithoutForce.said(True))
        assert len(world.one().topics) == len(world.topics)


class TestAway:
    """A name server that cannot be reached."""

    def test_it_is_tried_again_and_then_told_everything(self) -> None:
        world = World().started()
        world.change("A")
        world.one().answer.errback(PeerGone("refused"))
        world.time.advance(RETRY_SECONDS)
        asked = world.one()
        assert len(asked.topics) == len(world.topics)
        asked.answer.errback(PeerGone("refused"))
        world.time.advance(RETRY_SECONDS)
        world.one().agree()
        world.change("B")
        assert set(world.one().topics) == {"B"}

    def test_going_and_coming_back_is_one_log_line_each(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO, "mqgateway.gateway.broker.cluster.registration")
        world = World()
        world.registration.start()
        for _ in range(3):
            world.one().answer.errback(PeerGone("refused"))
            world.time.advance(RETRY_SECONDS)
        for _ in range(3):
            world.one().agree()
            world.time.advance(30)
        assert [record.getMessage() for record in caplog.records] == [
            f"Name server {ONE} cannot be told of this broker: refused",
            f"Registered with name server {ONE}",
        ]

    def test_a_refusal_counts_as_away(self, caplog: pytest.LogCaptureFixture) -> None:
        world = World()
        world.registration.start()
        world.one().agree(code=1)
        assert "it answers 1, no" in caplog.text
        world.time.advance(RETRY_SECONDS)
        world.one()

    def test_the_others_are_told_all_the_same(self) -> None:
        world = World(f"{ONE};{TWO}")
        world.registration.start()
        first, second = world.take()
        second.agree()
        world.change("A")
        asked = world.one()
        assert asked.address == TWO and set(asked.topics) == {"A"}
        first.answer.errback(PeerGone("refused"))


def test_ordered_topics_are_taken_over_from_the_name_server() -> None:
    world = World()
    world.topics.put(TopicConfig("A"), TopicConfig("B", order=True))
    world.registration.start()
    world.one().agree(KVTable(table={"A": "b:4", "unknown": "b:4"}).encode())
    assert {config.topic_name: config.order for config in world.topics.all() if config.order} == {
        "A": True,
        "B": True,
    }


def test_name_servers_may_be_changed_while_running() -> None:
    world = World().started()
    world.options.namesrv_addr = f"{TWO}"
    world.time.advance(30)
    assert world.one().address == TWO
    world.change("A")
    assert world.take() == [], "the new one has not answered yet"


def test_a_stop_takes_the_broker_off_every_name_server_that_is_there() -> None:
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


def test_who_waits_until_it_is_told_goes_on_with_the_last_answer() -> None:
    world = World(f"{ONE};{TWO}").started()
    done: list[object] = []
    world.registration.heard().addCallback(done.append)
    assert done == [None]  # nothing has changed
    world.registration.soon("new")
    world.topics.put(TopicConfig("new", 4, 4))
    world.registration.heard().addCallback(done.append)
    first, second = world.take()
    first.agree()
    assert done == [None]
    second.answer.errback(PeerGone("gone"))  # it cannot be told: nobody waits for that
    assert done == [None, None]


def test_nobody_waits_for_a_registration_that_has_stopped() -> None:
    world = World().started()
    world.topics.put(TopicConfig("new", 4, 4))
    world.registration.soon("new")
    done: list[object] = []
    world.registration.heard().addCallback(done.append)
    assert done == []
    world.registration.stop()
    assert done == [None]


def test_after_a_stop_nobody_waits_for_what_was_gathered_before() -> None:
    world = World().started()
    world.registration.soon("new")
    world.registration.stop()
    done: list[object] = []
    world.registration.heard().addCallback(done.append)
    assert done == [None]


def test_a_new_role_is_told_at_once() -> None:
    world = World(broker_id=1).started()
    world.role.become(RoleKind.MASTER, epoch=1)
    world.time.advance(0.01)
    told = world.one()
    assert told.fields["brokerId"] == "0"
    told.agree()
    world.role.become(RoleKind.SLAVE, broker_id=2)
    world.time.advance(0.01)
    assert world.one().fields["brokerId"] == "2"


def test_a_slave_that_acts_is_told_of_by_nobody() -> None:
    world = World(broker_id=1)
    world.role.become(RoleKind.SLAVE)
    world.started()
    world.role.become(RoleKind.ACTING)
    world.time.advance(0.01)
    assert world.take() == []


def test_a_fenced_broker_leaves_and_comes_back_when_it_is_something_again() -> None:
    world = World().started()
    told: list[None] = []
    world.change("T")
    world.one().agree()
    world.role.become(RoleKind.FENCED)
    assert world.one(UNREGISTER).fields["brokerId"] == "0"
    world.change("T2")
    world.registration.heard().addCallback(told.append)
    world.time.advance(120)
    assert (world.take(), told) == ([], [None])
    world.role.become(RoleKind.MASTER)
    world.time.advance(0.01)
    assert {"T", "T2"} <= world.one().topics.keys()


def test_parts_end_when_the_broker_is_fenced_and_all_are_told_when_it_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World().started()
    world.topics.put(*[TopicConfig(f"t{number}", 4, 4) for number in range(40)])
    monkeypatch.setattr(registration, "TOPICS_A_REQUEST", 10)
    monkeypatch.setattr(registration, "TOPICS_A_PART", 10)
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


def test_what_cannot_be_told_is_not_tried_again_while_fenced() -> None:
    world = World()
    world.registration.start()
    (first,) = world.take()
    world.role.become(RoleKind.FENCED)
    first.answer.errback(PeerGone("refused"))
    world.time.advance(120)
    assert world.take() == []


def test_what_changes_meanwhile_is_told_together_and_each_waits_for_its_own() -> None:
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


def test_a_name_server_that_says_nothing_is_waited_for_no_longer_than_was_said() -> None:
    world = World().started()
    done: list[object] = []
    world.change("new")
    world.registration.heard(within=1.0).addCallback(done.append)
    world.time.advance(0.9)
    assert done == []
    world.time.advance(0.2)
    assert done == [None]
    world.one().agree()


def test_who_waits_for_what_comes_next_waits_no_longer_when_it_cannot_be_told() -> None:
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
