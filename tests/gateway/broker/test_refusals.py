"""Errors of operations become RocketMQ's answers."""

import pytest

from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.refusals import refusal
from mqgateway.gateway.codec.codes import ResponseCode


@pytest.mark.parametrize("reason", Reason)
def test_each_reason_has_the_code_of_its_name(reason: Reason) -> None:
    reply = refusal(OperationError(reason, "why"))
    assert reply is not None
    ours = {Reason.RECEIPT_STALE: "NO_MESSAGE", Reason.PROPERTIES_TOO_LARGE: "MESSAGE_ILLEGAL"}
    code = ours.get(reason, reason.name)
    assert (reply.code, reply.remark) == (ResponseCode[code], "why")


def test_other_errors_are_not_translated() -> None:
    assert refusal(ValueError("why")) is None
