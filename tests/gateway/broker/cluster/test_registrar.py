"""The conversation with one name server, also while it is away."""

from __future__ import annotations

import logging

import pytest

from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.cluster import announcement
from mqgateway.gateway.broker.cluster.registrar import RETRY_SECONDS
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import QueryDataVersionResponseHeader
from mqgateway.gateway.remoting.exchange import PeerGone
from tests.support.gateway.broker.name_servers import ONE, QUERY, REGISTER, TWO, UNREGISTER, World


def test_changes_during_a_request_are_sent_by_the_next() -> None:
    world = World().started()
    world.change("A")
    asked = world.one()
    world.change("B")
    world.change("C")
    assert world.take() == []
    asked.agree()
    assert set(world.one().topics) == {"B", "C"}


def test_refusal_or_stop_ends_a_split_registration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcement, "TOPICS_A_REQUEST", 5)
    monkeypatch.setattr(announcement, "TOPICS_A_PART", 5)
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


class TestWithoutForce:
    """With `forceRegister` off the name server is queried first whether its topics are stale."""

    @pytest.fixture
    def world(self) -> World:
        world = World(force_register=False).started()
        world.time.advance(30)
        return world

    @staticmethod
    def said(changed: bool) -> RemotingCommand:
        return RemotingCommand.response(0, QueryDataVersionResponseHeader(changed=changed))

    def test_server_that_is_up_to_date_gets_no_registration(self, world: World) -> None:
        asked = world.one(QUERY)
        assert asked.command.body == world.topics.data_version.encode()
        asked.answer.callback(self.said(False))
        assert world.take() == []

    def test_stale_server_gets_all_topics(self, world: World) -> None:
        world.one(QUERY).answer.callback(self.said(True))
        assert len(world.one().topics) == len(world.topics)


class TestVeryManyTopics:
    """Registering all of them takes long: changes are sent, and servers are asked for their version."""

    @pytest.fixture
    def world(self, monkeypatch: pytest.MonkeyPatch) -> World:
        world = World().started()
        monkeypatch.setattr(announcement, "TOPICS_A_PERIOD", len(world.topics))
        return world

    def test_very_many_topics_are_announced_rarely(self, world: World) -> None:
        codes = []
        for _ in range(4):
            world.time.advance(30)
            (asked,) = world.take()
            codes.append(asked.command.code)
            asked.answer.callback(TestWithoutForce.said(False))
        assert codes == [QUERY, REGISTER, QUERY, REGISTER]

    def test_version_query_has_the_announced_version(self, world: World) -> None:
        """Not about the current change, which is sent next: that is no reason to send all topics."""
        reported = world.topics.data_version.encode()
        world.time.advance(29.995)
        world.topics.put(TopicConfig("A", 4, 4))
        world.registration.soon("A")
        world.time.advance(0.006)
        asked = world.one(QUERY)
        assert asked.command.body == reported != world.topics.data_version.encode()
        asked.answer.callback(TestWithoutForce.said(False))
        world.time.advance(0.01)
        assert list(world.one().topics) == ["A"]

    def test_restarted_server_gets_all_topics(self, world: World) -> None:
        world.time.advance(30)
        world.one(QUERY).answer.callback(TestWithoutForce.said(True))
        assert len(world.one().topics) == len(world.topics)


class TestAway:
    """A name server that cannot be reached."""

    def test_unreachable_server_is_retried_with_all_topics(self) -> None:
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

    def test_loss_and_return_are_logged_once(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO, "mqgateway.gateway.broker.cluster.registrar")
        world = World()
        world.registration.start()
        for _ in range(3):
            world.one().answer.errback(PeerGone("refused"))
            world.time.advance(RETRY_SECONDS)
        for _ in range(3):
            world.one().agree()
            world.time.advance(30)
        assert [record.getMessage() for record in caplog.records] == [
            f"Registration with name server {ONE} failed: refused",
            f"Registered with name server {ONE}",
        ]

    def test_refusal_counts_as_unreachable(self, caplog: pytest.LogCaptureFixture) -> None:
        world = World()
        world.registration.start()
        world.one().agree(code=1)
        assert "it answers 1, no" in caplog.text
        world.time.advance(RETRY_SECONDS)
        world.one()

    def test_other_servers_are_still_registered(self) -> None:
        world = World(f"{ONE};{TWO}")
        world.registration.start()
        first, second = world.take()
        second.agree()
        world.change("A")
        asked = world.one()
        assert asked.address == TWO and set(asked.topics) == {"A"}
        first.answer.errback(PeerGone("refused"))


class TestOneThatIsDown:
    """However much changes meanwhile, it is retried by one timer, and receives everything once."""

    @pytest.fixture
    def world(self) -> World:
        world = World(f"{ONE};{TWO}").started()
        world.change("first")
        one, two = world.take()
        one.agree()
        two.answer.errback(PeerGone("refused"))
        return world

    def test_changes_do_not_shorten_the_retry(self, world: World) -> None:
        for number in range(50):
            world.change(f"t{number}")
            assert [asked.address for asked in world.agreed()] == [ONE]
        world.time.advance(RETRY_SECONDS)
        assert world.one().address == TWO

    def test_failures_keep_one_retry_timer(self, world: World) -> None:
        tried = 0
        for _ in range(8):
            world.change("again")
            world.time.advance(RETRY_SECONDS)
            for asked in world.take():
                if asked.address == ONE:
                    asked.agree()
                else:
                    tried += 1
                    asked.answer.errback(PeerGone("refused"))
        assert tried <= 10, "one attempt in five seconds, and those of the period"

    def test_removed_server_is_not_retried(self, world: World) -> None:
        world.options.namesrv_addr = ONE
        world.registration._follow_name_servers()
        world.time.advance(RETRY_SECONDS)
        assert world.take() == []


def test_old_address_is_unregistered_before_the_new_one_is_registered() -> None:
    """Name servers of RocketMQ 4 remove the broker with the id, which would be the new address."""
    world = World().started()
    world.address = "10.0.0.9:40000"
    world.registration.soon()
    world.time.advance(0.01)
    farewell, register = world.agreed()
    assert (register.command.code, register.fields["brokerAddr"]) == (REGISTER, "10.0.0.9:40000")
    assert set(register.topics) == set(world.topics.names())
    assert (farewell.command.code, farewell.fields["brokerAddr"]) == (UNREGISTER, "10.0.0.1:10911")
    world.change("A")
    assert [asked.command.code for asked in world.agreed()] == [REGISTER]


def test_old_name_is_unregistered_before_the_new_one_is_registered() -> None:
    """A name server knows a broker by its address: the farewell would take the new name off."""
    world = World().started()
    world.options.broker_name = "renamed"
    world.registration.soon()
    world.time.advance(0.01)
    farewell, register = world.agreed()
    assert (farewell.command.code, farewell.fields["brokerName"]) == (UNREGISTER, "b")
    assert (register.command.code, register.fields["brokerName"]) == (REGISTER, "renamed")


def test_refused_unregistration_of_an_old_identity_is_ignored() -> None:
    world = World().started()
    world.options.broker_cluster_name = "other"
    world.registration.soon()
    world.time.advance(0.01)
    world.one(UNREGISTER).agree(code=1)
    world.one(REGISTER).agree()
    assert world.registration.registered == {ONE: True}


def test_stop_unregisters_the_known_identity() -> None:
    world = World().started()
    world.address = "10.0.0.9:40000"
    world.registration.stop()
    assert world.one(UNREGISTER).fields["brokerAddr"] == "10.0.0.1:10911"


def test_warning_of_a_name_server_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    world = World().started()
    for _ in range(2):
        world.registration.soon()
        world.time.advance(0.01)
        world.one().answer.callback(RemotingCommand.response(0, remark="two brokers are b, id 0"))
    warned = [record.getMessage() for record in caplog.records if "two brokers" in record.getMessage()]
    assert warned == [f"Name server {ONE}: two brokers are b, id 0"]
