"""Timers: recall by their handles, progress, engine.

Setting a timer is a send (`send`); the engine delivers timer messages (`engine.timers`). RocketMQ:
`RecallMessageProcessor`, `AdminBrokerProcessor`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from twisted.internet.defer import Deferred

from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.message import (
    PROPERTY_PRODUCER_GROUP,
    PROPERTY_TAGS,
    PROPERTY_TIMER_DEL_UNIQKEY,
    PROPERTY_TIMER_DELIVER_MS,
    PROPERTY_UNIQ_KEY,
    Message,
)
from mqgateway.engine.options import Setting
from mqgateway.engine.store.message_store import PutStatus
from mqgateway.engine.tables.topics import PERM_WRITE
from mqgateway.engine.timers.messages import RECALL_TAG, RecallHandle
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.produce.durability import STORED

UNAVAILABLE = "recall failed, broker service not available"
FILES, ROCKSDB = "F", "R"
"""The engines that RocketMQ has: the wheel and its log in files, and RocksDB."""

_NUMBER = re.compile(r"-?[0-9]{1,18}")


class RecallOutcome(NamedTuple):
    """Unique key of the recalled message, and the broker's region."""

    message_id: str
    region_id: str


def recall(
    broker: Broker,
    topic: str,
    recall_handle: str,
    producer_group: str | None,
    connection: ClientConnection,
    now: int,
) -> RecallOutcome | Deferred[RecallOutcome]:
    """Delete a timer that was not delivered yet, by its sender's handle. `now` is the wall time in ms.

    Raises `OperationError`.
    """
    _check_broker(broker, now)
    if broker.tables.topics.get(topic) is None:
        raise OperationError(Reason.TOPIC_NOT_EXIST, f"recall failed, the topic[{topic}] not exist")
    handle = _checked_handle(broker, broker.store.steady.now(), topic, recall_handle)
    message = _deletion(broker, handle, producer_group, connection, now)
    if broker.timers.acceptance.rewrite_steady(message) is not None:
        raise _failed()
    result = broker.store.put(message)
    if result.status is not PutStatus.PUT_OK:
        raise _failed()
    broker.stats.put(message.topic, 1, result.end_offset - result.physical_offset)
    if broker.produce.durability.is_awaited:
        return broker.produce.durability.wait(result).addCallback(
            lambda status: _outcome(broker, handle, status)
        )
    return _outcome(broker, handle, result.status)


def _check_broker(broker: Broker, now: int) -> None:
    options = broker.options
    if not options.recall_message_enable:
        raise OperationError(Reason.NO_PERMISSION, "recall failed, operation is forbidden")
    if broker.role.is_slave:
        raise OperationError(Reason.SLAVE_NOT_AVAILABLE, UNAVAILABLE)
    is_readable_only = not options.broker_permission & PERM_WRITE
    if now < options.start_accept_send_request_time_stamp or (
        is_readable_only and not options.allow_recall_when_broker_not_writeable
    ):
        raise OperationError(Reason.SERVICE_NOT_AVAILABLE, UNAVAILABLE)


def _checked_handle(broker: Broker, now: int, topic: str, text: str) -> RecallHandle:
    """Return the handle if it names a pending timer of this topic and broker. Raises `OperationError`."""
    try:
        handle = RecallHandle.decode(text)
    except MessageIllegal as error:
        raise OperationError(Reason.ILLEGAL_OPERATION, str(error)) from None
    if handle.topic != topic:
        raise OperationError(Reason.ILLEGAL_OPERATION, "recall failed, topic not match")
    if handle.broker_name != broker.options.broker_name:
        raise OperationError(Reason.ILLEGAL_OPERATION, UNAVAILABLE)
    left = int(handle.time) - now if _NUMBER.fullmatch(handle.time) else -1
    if not 0 < left < broker.store_options.timer_max_delay_sec * 1000:
        raise OperationError(Reason.ILLEGAL_OPERATION, "recall failed, timestamp invalid")
    return handle


def _deletion(
    broker: Broker,
    handle: RecallHandle,
    producer_group: str | None,
    connection: ClientConnection,
    now: int,
) -> Message:
    """Return the message that deletes a timer: due in the same slot, with the same key."""
    with_topic = broker.store_options.append_topic_for_timer_delete_key
    properties = {
        PROPERTY_TAGS: RECALL_TAG,
        PROPERTY_TIMER_DEL_UNIQKEY: f"{handle.topic}+{handle.key}" if with_topic else handle.key,
        PROPERTY_UNIQ_KEY: handle.key,
        PROPERTY_TIMER_DELIVER_MS: handle.time,
        "BORN_TIMESTAMP": str(now),
        "TRACE_CONTEXT": "",
    }
    if producer_group is not None:
        properties[PROPERTY_PRODUCER_GROUP] = producer_group
    return Message(handle.topic, 0, b"0", properties, now, connection.host_bytes, broker.store_host)


def _outcome(broker: Broker, handle: RecallHandle, status: PutStatus) -> RecallOutcome:
    if status not in STORED:
        raise _failed()
    return RecallOutcome(handle.key, broker.options.region_id)


def _failed() -> OperationError:
    return OperationError(Reason.SYSTEM_ERROR, "recall failed, execute error")


def check_point(broker: Broker) -> bytes:
    """Return the checkpoint of the timers: the 56 bytes of their file. Raises `OperationError`."""
    if not broker.timers.is_enabled:
        raise OperationError(Reason.SYSTEM_ERROR, "The checkpoint is null")
    return broker.timers.checkpoint.encode()


def metrics(broker: Broker) -> bytes:
    """Pending timers by topic, as the JSON text of their file. Raises `OperationError`."""
    if not broker.timers.is_enabled:
        raise OperationError(Reason.SYSTEM_ERROR, "The timer message store is null")
    return broker.timers.metrics.encode()


def switch_engine(broker: Broker, engine: str | None) -> None:
    """Use this engine for the timers; None if the request names none. Raises `OperationError`.

    The wheel is the only one; switching to it lets it resume reading.
    """
    if not broker.timers.is_enabled:
        raise OperationError(Reason.INVALID_PARAMETER, "broker timerWheelEnable is false")
    if engine is None:
        raise OperationError(Reason.INVALID_PARAMETER, "param error, extFields is null")
    if engine == ROCKSDB:
        raise OperationError(
            Reason.INVALID_PARAMETER, "timerRocksDBEnable must be configured true when broker start"
        )
    if engine != FILES:
        raise OperationError(Reason.INVALID_PARAMETER, "param error")
    broker.configuration.update([Setting("timerStopEnqueue", "false")])
