"""The way to clients that cannot be reached."""

from twisted.internet.defer import Deferred

from mqgateway.engine.transactions import CheckBack
from mqgateway.gateway.broker.clients.outgoing import (
    UNREACHABLE,
    DirectConsumption,
    NotAnswered,
    OffsetReset,
    PushedReply,
)
from tests.support.gateway.broker.producing import new_message


def test_unreachable_client_is_skipped() -> None:
    UNREACHABLE.members_changed("g")
    UNREACHABLE.reset_offsets(OffsetReset("g", "T", 0, {}))
    UNREACHABLE.check_transaction(CheckBack(0, "g", 0, 0, None, "id", b"", "T"), "broker-a")
    message = DirectConsumption("g", "me", "id", b"", "broker-a", None, None, None)
    asked: list[Deferred[object]] = [
        UNREACHABLE.offsets("g", "T").addCallback(lambda _: None),
        UNREACHABLE.running_info("g", "me", False, {}).addCallback(lambda _: None),
        UNREACHABLE.consume(message).addCallback(lambda _: None),
        UNREACHABLE.push_reply(PushedReply(new_message(), "", b"", 0)).addCallback(lambda _: None),
    ]
    failed: list[BaseException] = []
    for one in asked:
        one.addErrback(lambda failure: failed.append(failure.value))
    assert [type(error) for error in failed] == [NotAnswered] * 4
