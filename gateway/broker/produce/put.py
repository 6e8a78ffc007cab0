"""Puts of checked and prepared messages, and the outcomes of their sends.

`put` stores a message or a batch, and returns when the put is as durable as configured. `send_outcome` turns
the result into a `SendOutcome`, or raises the refusal that its status means.

RocketMQ: `SendMessageProcessor.handlePutMessageResult`.
"""

from typing import Final

from twisted.internet.defer import Deferred

from mqgateway.engine.message import (
    PROPERTY_REAL_TOPIC,
    PROPERTY_TIMER_OUT_MS,
    PROPERTY_UNIQ_KEY,
    RETRY_PREFIX,
    TIMER_TOPIC,
    TYPED,
    Message,
    SysFlag,
)
from mqgateway.engine.store.large_batch import LargeBatch
from mqgateway.engine.store.message_store import PutResult, PutStatus
from mqgateway.engine.timers.messages import RecallHandle
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.flow_control import OVERLOAD
from mqgateway.gateway.broker.produce.durability import STORED

PUT_OK: Final = PutStatus.PUT_OK  # a look-up in an enumeration costs more than the rest of a check

FAILED: Final = {
    PutStatus.IN_SYNC_REPLICAS_NOT_ENOUGH: (Reason.SYSTEM_ERROR, "in-sync replicas not enough"),
    PutStatus.CREATE_MAPPED_FILE_FAILED: (
        Reason.SYSTEM_ERROR,
        "create mapped file failed, server is busy or broken.",
    ),
    PutStatus.OS_PAGE_CACHE_BUSY: (
        Reason.SYSTEM_BUSY,
        "[PC_SYNCHRONIZED]broker busy, start flow control for a while",
    ),
    PutStatus.LMQ_CONSUME_QUEUE_NUM_EXCEEDED: (
        Reason.LMQ_QUOTA_EXCEEDED,
        "[LMQ_CONSUME_QUEUE_NUM_EXCEEDED]lmq consume queue num exceeded.",
    ),
    PutStatus.WHEEL_TIMER_NOT_ENABLE: (
        Reason.SYSTEM_ERROR,
        "accurate timer message is not enabled, timerWheelEnable is false",
    ),
    PutStatus.WHEEL_TIMER_MSG_ILLEGAL: (
        Reason.MESSAGE_ILLEGAL,
        "timer message illegal, the delay time should not be bigger than the max delay {max_delay}ms; "
        "or if set del msg, the delay time should be bigger than the current time",
    ),
    PutStatus.WHEEL_TIMER_FLOW_CONTROL: (
        Reason.SYSTEM_ERROR,
        "timer message is under flow control, max num limit is {twice} or the current value is greater than "
        "{congested} and less than {twice}, trigger random flow control",
    ),
    PutStatus.UNKNOWN_ERROR: (Reason.SYSTEM_ERROR, "UNKNOWN_ERROR"),
}
"""Put statuses of refused messages, each with reason and text."""

WAITING_FOR_FLUSH: Final = "waiting for the disk"
"""Cause of refusals of sends that would have to wait for the disk."""


class SendOutcome:
    """Position and durability of a sent message; of a batch, all ids joined by commas and the first offset.

    `status` is one of `STORED`. `message_id` is the address of the broker and the offset in its log, in
    hexadecimal digits. `queue_id` is the requested or chosen queue: a delayed message waits in another.
    `transaction_id` is the message's unique key, None for a batch without one. `recall_handle` recalls a
    timer, None for other messages; `batch_id` names a batch stored as one record. `region_id` and `is_traced`
    are the broker's region, and whether clients should trace their messages.
    """

    __slots__ = (
        "batch_id",
        "is_traced",
        "message_id",
        "queue_id",
        "queue_offset",
        "recall_handle",
        "region_id",
        "status",
        "transaction_id",
    )

    def __init__(
        self,
        status: PutStatus,
        message_id: str,
        queue_id: int,
        queue_offset: int,
        transaction_id: str | None,
        recall_handle: str | None,
        batch_id: str | None,
        region_id: str,
        is_traced: bool,
    ) -> None:
        self.status = status
        self.message_id = message_id
        self.queue_id = queue_id
        self.queue_offset = queue_offset
        self.transaction_id = transaction_id
        self.recall_handle = recall_handle
        self.batch_id = batch_id
        self.region_id = region_id
        self.is_traced = is_traced


Sent = SendOutcome | Deferred[SendOutcome]
"""The outcome at once, or when it is as durable as configured."""


def put(
    broker: Broker,
    message: Message,
    queue_id: int,
    batch: bytes | LargeBatch | None = None,
    batch_id: str | None = None,
) -> Sent:
    """Store a message. `queue_id` and `batch_id` are reported to the producer, delayed or not."""
    if broker.produce.durability.is_awaited:
        return put_durably(broker, message, queue_id, batch, batch_id)
    result = broker.store.put(message) if batch is None else _put_batch(broker, message, batch)
    return send_outcome(broker, message, queue_id, result, batch_id)


def _put_batch(broker: Broker, message: Message, batch: bytes | LargeBatch) -> PutResult:
    if message.sys_flag & SysFlag.INNER_BATCH:
        return broker.store.put_inner_batch(message)
    return broker.store.put_batch(message, batch)


def put_durably(
    broker: Broker,
    message: Message,
    queue_id: int,
    batch: bytes | LargeBatch | None,
    batch_id: str | None,
) -> Sent:
    """Store a message and wait until it is as durable as configured."""
    durability = broker.produce.durability
    if durability.is_full:
        raise broker.flow_control.refusal(WAITING_FOR_FLUSH, OVERLOAD, message.topic)
    if durability.lacks_replicas(message.properties):
        raise failure(broker, PutStatus.IN_SYNC_REPLICAS_NOT_ENOUGH)
    result = broker.store.put(message) if batch is None else _put_batch(broker, message, batch)
    if result.status is not PUT_OK or not durability.awaits(message.properties):
        return send_outcome(broker, message, queue_id, result, batch_id)

    def waited(status: PutStatus) -> SendOutcome:
        result.status = status
        return send_outcome(broker, message, queue_id, result, batch_id)

    return durability.wait(result).addCallback(waited)


def send_outcome(
    broker: Broker, message: Message, queue_id: int, result: PutResult, batch_id: str | None
) -> SendOutcome:
    """Return the outcome of a put. Raises `OperationError` if nothing is stored."""
    status = result.status
    if status is not PUT_OK and status not in STORED:
        raise failure(broker, status, result.remark)
    options = broker.options
    topic, properties = message.topic, message.properties
    if result.count == 1 and TYPED.isdisjoint(properties):
        broker.stats.put_plain(topic, result.end_offset - result.physical_offset)
    else:
        broker.stats.put(topic, result.count, result.end_offset - result.physical_offset, properties)
    return SendOutcome(
        status,
        result.message_id,
        queue_id,
        result.queue_offset,
        properties.get(PROPERTY_UNIQ_KEY),
        _recall_handle(broker, properties) if topic == TIMER_TOPIC else None,
        batch_id,
        options.region_id,
        options.trace_on,
    )


def _recall_handle(broker: Broker, properties: dict[str, str]) -> str | None:
    """Return the handle by which a timer's sender recalls it. RocketMQ: `attachRecallHandle`."""
    out_time, topic = properties.get(PROPERTY_TIMER_OUT_MS, ""), properties.get(PROPERTY_REAL_TOPIC, "")
    unique_key = properties.get(PROPERTY_UNIQ_KEY)
    if unique_key is None or not out_time or not topic or topic.startswith(RETRY_PREFIX):
        return None
    return RecallHandle(topic, broker.options.broker_name, str(int(out_time) + 1), unique_key).encode()


def failure(broker: Broker, status: PutStatus, why: str = "") -> OperationError:
    """Return the refusal for a put status; `why` is the store's reason."""
    if status in (PutStatus.MESSAGE_ILLEGAL, PutStatus.PROPERTIES_SIZE_EXCEEDED):
        return illegal(broker)
    if status is PutStatus.SERVICE_NOT_AVAILABLE:
        return _unavailable(broker, why)
    code, remark = FAILED.get(status, (Reason.SYSTEM_ERROR, "UNKNOWN_ERROR DEFAULT"))
    if "{" in remark:
        options = broker.store_options
        congested = options.timer_congest_num_each_slot
        max_delay = options.timer_max_delay_sec * 1000
        remark = remark.format(max_delay=max_delay, congested=congested, twice=2 * congested)
    return OperationError(code, remark)


def _unavailable(broker: Broker, why: str = "") -> OperationError:
    why, info = why or broker.store.refusal, broker.store.admin.runtime_info()
    log_use, queue_use = (
        float(info.get(name, 0)) for name in ("commitLogDiskRatio", "consumeQueueDiskRatio")
    )
    return OperationError(
        Reason.SERVICE_NOT_AVAILABLE,
        "service not available now. It may be caused by one of the following reasons: the broker's disk is "
        f"full [CL: {log_use:5.2f} CQ: {queue_use:5.2f} INDEX: {queue_use:5.2f}], messages are put to the "
        f"slave, message store has been shut down, etc.{f' Here: {why}.' if why else ''}",
    )


def illegal(broker: Broker) -> OperationError:
    """Return the refusal of a message that the store does not accept."""
    return OperationError(
        Reason.MESSAGE_ILLEGAL,
        "the message is illegal, maybe msg body or properties length not matched. msg body length limit "
        f"{broker.store_options.max_message_size}B, msg properties length limit 32KB.",
    )
