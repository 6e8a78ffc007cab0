"""One message of another group, read from its broker with the smallest id."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from twisted.internet.defer import Deferred, fail, succeed

from mqgateway.engine.message import StoredMessage
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.pop.foreign import Found, MessageLocation, Missing
from mqgateway.gateway.broker.acting.foreign_messages import ForeignReader
from mqgateway.gateway.codec.bodies import BrokerData, TopicRouteData
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.remoting.exchange import PeerGone
from tests.support.engine.store.stores import Bench, message

PLACE = MessageLocation("b2", "orders", 0, 0)


def record() -> bytes:
    """The first message of a queue, as it is stored."""
    bench = Bench()
    bench.put(message(body=b"there"))
    found = bench.store.record_at(0)
    assert found is not None
    return found


def read(
    answer: RemotingCommand | Exception,
    place: MessageLocation = PLACE,
    groups: dict[str, dict[int, str]] | None = None,
) -> tuple[Found, list[tuple[str, int]]]:
    """Return the outcome, and the address and code of each request."""
    asked: list[tuple[str, int]] = []

    def ask(address: str, command: RemotingCommand, timeout: float) -> Deferred[RemotingCommand]:
        asked.append((address, command.code))
        assert command.ext_fields["consumerGroup"] == "InnerConsumerGroup_b1_0"
        return fail(answer) if isinstance(answer, Exception) else succeed(answer)

    def ask_name_server(command: RemotingCommand) -> Deferred[RemotingCommand]:
        known = {"b2": {1: "s:1", 2: "s:2"}, "b3": {0: "m:3"}} if groups is None else groups
        route = TopicRouteData([], [BrokerData("c", name, each) for name, each in known.items()])
        return succeed(RemotingCommand.response(0, body=route.encode_standard()))

    name_servers: Any = SimpleNamespace(ask=ask_name_server)
    found: list[Found] = []
    ForeignReader(BrokerOptions(broker_name="b1"), ask, name_servers).read(place, found.append)
    (one,) = found
    return one, asked


def test_the_member_with_the_smallest_id_is_asked() -> None:
    found, asked = read(RemotingCommand.response(0, body=record()))
    assert isinstance(found, StoredMessage) and found.body == b"there"
    assert asked == [("s:1", RequestCode.PULL_MESSAGE)]


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (RemotingCommand.response(21), Missing.GONE),
        (RemotingCommand.response(19), Missing.FAILED),
        (RemotingCommand.response(0), Missing.FAILED),
        (PeerGone("refused"), Missing.FAILED),
    ],
)
def test_missing_message_has_a_reason(answer: RemotingCommand | Exception, wanted: Missing) -> None:
    assert read(answer)[0] is wanted


def test_later_message_means_it_is_gone() -> None:
    place = PLACE._replace(offset=-1)
    assert read(RemotingCommand.response(0, body=record()), place)[0] is Missing.GONE


def test_lost_group_fails_the_read() -> None:
    found, asked = read(RemotingCommand.response(0), groups={})
    assert (found, asked) == (Missing.FAILED, [])
