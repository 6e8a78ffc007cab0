"""The name server and the broker of a test server are killed and started again."""

from __future__ import annotations

import pytest

from mqgateway.gateway.client.errors import SendFailed
from mqgateway.gateway.client.message import Message
from mqgateway.gateway.testing.nodes import ServerError
from mqgateway.gateway.testing.server import Server
from tests.support.gateway.testing.hands import HOST, hands


def test_addresses_are_kept_by_a_restart() -> None:
    with hands() as held:
        server = held.server
        addresses = server.namesrv, server.broker_address, server.endpoint("grpc")
        assert {one.rpartition(":")[0] for one in addresses} == {HOST}
        server.restart()
        server.restart_name_server()
        assert (server.namesrv, server.broker_address, server.endpoint("grpc")) == addresses


def test_front_end_that_is_not_served_has_no_endpoint() -> None:
    with hands() as held, pytest.raises(ServerError, match="other is not served"):
        held.server.endpoint("other")


def test_killed_broker_keeps_written_messages() -> None:
    with hands() as held:
        topic, server = held.server.create_topic(), held.server
        producer = held.producer(retry_times_when_send_failed=0)
        held.send(producer, Message(topic, "before"))
        server.kill()
        held.loop.settle()
        with pytest.raises(SendFailed):
            held.send(producer, Message(topic, "x"))
        with pytest.raises(ServerError, match="not running"):
            server.messages(topic)
        with pytest.raises(ServerError, match="not running"):
            server.kill()
        server.restart()
        held.send(producer, Message(topic, "after"))
        assert [one.body for one in server.messages(topic)] == [b"before", b"after"]
        server.restart()
        assert [one.body for one in server.messages(topic)] == [b"before", b"after"]


def test_broker_registers_again_with_a_restarted_name_server() -> None:
    with hands() as held:
        topic, server = held.server.create_topic(), held.server
        server.kill_name_server()
        with pytest.raises(ServerError, match="name server"):
            server.create_topic()
        server.restart_name_server()
        held.wait_for(lambda: server._nodes.has_route(topic, 4))
        held.send(held.producer(), Message(topic, "x"))
        server.restart_name_server()
        held.wait_for(lambda: server._nodes.has_route(topic, 4))


def test_joined_server_is_a_broker_of_the_same_cluster() -> None:
    with hands() as held:
        first = held.server
        settings = {"broker_name": "broker-b", "broker_port": 10921}
        other = Server(host=HOST, machine=held.loop.clock, joins=first, **settings).start()
        assert other.namesrv == first.namesrv
        topic = other.create_topic()
        held.send(held.producer(), Message(topic, "x"))
        assert [one.body for one in other.messages(topic)] == [b"x"]
        assert first.messages(topic) == []
        with pytest.raises(ServerError, match="belongs to the server that this one joins"):
            other.kill_name_server()
        with pytest.raises(ServerError, match="belongs to the server that this one joins"):
            other.restart_name_server()
        other.restart()
        assert [one.body for one in other.messages(topic)] == [b"x"]
        other.stop()
