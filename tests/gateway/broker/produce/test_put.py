"""Puts of prepared messages: statuses, durability, and the outcomes of sends."""

from typing import Any

import pytest

from mqgateway.engine.options import FlushDiskType
from mqgateway.engine.store.message_store import PutResult, PutStatus
from mqgateway.engine.timers.messages import RecallHandle
from mqgateway.gateway.broker.new_message import NewMessage
from mqgateway.gateway.broker.produce.put import SendOutcome
from mqgateway.gateway.broker.produce.send import send
from tests.support.gateway.broker.helpers import MemoryBroker, batch_body
from tests.support.gateway.broker.producing import new_message, outcome_of, with_properties

TWO = batch_body((b"one", {"UNIQ_KEY": "A"}), (b"two", {"UNIQ_KEY": "B"}))

ILLEGAL = (
    "the message is illegal, maybe msg body or properties length not matched. "
    "msg body length limit 4194304B, msg properties length limit 32KB."
)


@pytest.fixture
def memory() -> MemoryBroker:
    broker = MemoryBroker()
    broker.add_topic("T")
    return broker


def test_a_durable_batch_is_named_when_it_is_answered() -> None:
    memory = MemoryBroker(store_options={"flush_disk_type": FlushDiskType.SYNC_FLUSH})
    memory.add_topic("B", attributes={"queue.type": "BatchCQ"})
    answer = memory.send("B", TWO, properties={"UNIQ_KEY": "M", "WAIT": "true"}, batch=True)
    assert (answer.code, answer.ext["batchUniqId"]) == (0, "M")


STATUSES = [
    (PutStatus.FLUSH_DISK_TIMEOUT, 10, None),
    (PutStatus.FLUSH_SLAVE_TIMEOUT, 12, None),
    (PutStatus.SLAVE_NOT_AVAILABLE, 11, None),
    (PutStatus.IN_SYNC_REPLICAS_NOT_ENOUGH, 1, "in-sync replicas not enough"),
    (PutStatus.CREATE_MAPPED_FILE_FAILED, 1, "create mapped file failed, server is busy or broken."),
    (PutStatus.MESSAGE_ILLEGAL, 13, ILLEGAL),
    (PutStatus.PROPERTIES_SIZE_EXCEEDED, 13, ILLEGAL),
    (PutStatus.OS_PAGE_CACHE_BUSY, 2, "[PC_SYNCHRONIZED]broker busy, start flow control for a while"),
    (PutStatus.UNKNOWN_ERROR, 1, "UNKNOWN_ERROR"),
    (
        PutStatus.WHEEL_TIMER_FLOW_CONTROL,
        1,
        "timer message is under flow control, max num limit is 4294967294 or the current value is greater "
        "than 2147483647 and less than 4294967294, trigger random flow control",
    ),
    (PutStatus.WHEEL_TIMER_NOT_ENABLE, 1, "accurate timer message is not enabled, timerWheelEnable is false"),
    (
        PutStatus.LMQ_CONSUME_QUEUE_NUM_EXCEEDED,
        2017,
        "[LMQ_CONSUME_QUEUE_NUM_EXCEEDED]lmq consume queue num exceeded.",
    ),
    (PutStatus.PUT_TO_REMOTE_BROKER_FAIL, 1, "UNKNOWN_ERROR DEFAULT"),
]


@pytest.mark.parametrize(("status", "code", "remark"), STATUSES, ids=[row[0].name for row in STATUSES])
def test_put_statuses(
    memory: MemoryBroker, monkeypatch: pytest.MonkeyPatch, status: PutStatus, code: int, remark: str | None
) -> None:
    """A message that counts as sent is answered with its offset all the same."""
    put = memory.broker.store.put

    def put_with_status(message: Any) -> PutResult:
        result = put(message)
        result.status = status
        return result

    monkeypatch.setattr(memory.broker.store, "put", put_with_status)
    answer = memory.send()
    assert (answer.code, answer.remark) == (code, remark)
    assert ("msgId" in answer.ext) == (remark is None)


def test_unwritable_store_refuses_sends(memory: MemoryBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    def put(message: Any) -> PutResult:
        return PutResult(PutStatus.SERVICE_NOT_AVAILABLE)

    monkeypatch.setattr(memory.broker.store, "put", put)
    answer = memory.send()
    assert answer.code == 14
    assert answer.remark is not None
    assert answer.remark.startswith(
        "service not available now. It may be caused by one of the following reasons: "
        "the broker's disk is full [CL: "
    )


def sent(memory: MemoryBroker, message: NewMessage) -> SendOutcome:
    """Return the outcome of a send without a command."""
    return outcome_of(send(memory.broker, message, memory.producer, memory.clock.millis()))


def test_the_outcome_is_typed(memory: MemoryBroker) -> None:
    outcome = sent(memory, new_message("T", queue_id=2))
    memory.broker.store.dispatch()
    (message,) = memory.stored("T", 2)
    assert (outcome.status, outcome.message_id) == (PutStatus.PUT_OK, message.message_id)
    assert (outcome.queue_id, outcome.queue_offset, outcome.transaction_id) == (2, 0, "K1")
    assert (outcome.recall_handle, outcome.batch_id) == (None, None)
    assert (outcome.region_id, outcome.is_traced) == ("DefaultRegion", True)


def test_the_outcome_of_a_timer_has_the_handle_that_recalls_it(memory: MemoryBroker) -> None:
    memory.broker.timers.load()
    outcome = sent(memory, with_properties("T", UNIQ_KEY="K1", TIMER_DELAY_SEC="5"))
    assert outcome.recall_handle is not None
    handle = RecallHandle.decode(outcome.recall_handle)
    assert (handle.topic, handle.broker_name, handle.key) == ("T", "broker-a", "K1")
