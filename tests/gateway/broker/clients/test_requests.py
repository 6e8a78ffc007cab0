"""Queue locks over the wire; the other requests of clients are in the tests of their subjects."""

import pytest

from mqgateway.gateway.codec.bodies.assignment import (
    LockBatchRequestBody,
    LockBatchResponseBody,
    UnlockBatchRequestBody,
)
from mqgateway.gateway.codec.bodies.body import Body
from mqgateway.gateway.codec.bodies.message_queue import MessageQueue
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from tests.support.gateway.broker.helpers import MemoryBroker

Q0, Q1 = MessageQueue("T", "b", 0), MessageQueue("T", "b", 1)


def ask(memory: MemoryBroker, code: int, body: Body) -> RemotingCommand:
    return memory.ask(code, body=body.encode(), peer=memory.consumer).arrived


def test_locks_over_the_wire() -> None:
    """41 returns the queues the client holds now, 42 unlocks and always succeeds."""
    memory = MemoryBroker()
    wanted = {Q0, Q1}
    first = ask(memory, RequestCode.LOCK_BATCH_MQ, LockBatchRequestBody("G", "one", wanted))
    assert first.code == 0
    assert LockBatchResponseBody.decode(first.body).lock_ok_mq_set == wanted
    second = ask(memory, RequestCode.LOCK_BATCH_MQ, LockBatchRequestBody("G", "two", {Q0}))
    assert second.body == b'{"lockOKMQSet":[]}'
    assert ask(memory, RequestCode.UNLOCK_BATCH_MQ, UnlockBatchRequestBody("G", "two", wanted)).code == 0
    assert ask(memory, RequestCode.UNLOCK_BATCH_MQ, UnlockBatchRequestBody("G", "one", {Q0})).code == 0
    third = ask(memory, RequestCode.LOCK_BATCH_MQ, LockBatchRequestBody("G", "two", wanted))
    assert LockBatchResponseBody.decode(third.body).lock_ok_mq_set == {Q0}


@pytest.mark.parametrize("body", [b"", b"null", b'""'])
def test_null_client_config_is_accepted(body: bytes) -> None:
    memory = MemoryBroker()
    answer = memory.ask(RequestCode.CHECK_CLIENT_CONFIG, body=body, peer=memory.consumer).arrived
    assert answer.code == 0


def test_length_of_locked_names_is_limited() -> None:
    memory = MemoryBroker(options={"max_name_length": 20})
    for body in (LockBatchRequestBody("G" * 21, "one", {Q0}), LockBatchRequestBody("G", "o" * 21, {Q0})):
        assert ask(memory, RequestCode.LOCK_BATCH_MQ, body).code == 1
    queues = {Q0, MessageQueue("T" * 21, "b", 0)}
    answer = ask(memory, RequestCode.LOCK_BATCH_MQ, LockBatchRequestBody("G", "one", queues))
    assert LockBatchResponseBody.decode(answer.body).lock_ok_mq_set == {Q0}


def test_malformed_body_is_refused() -> None:
    memory = MemoryBroker()
    assert memory.ask(RequestCode.LOCK_BATCH_MQ, body=b"not json").code == 1
