"""Requests about timers: 370 takes one back; 60 and 61 tell how far they have come; 5001 names their engine.

Setting a timer is a send (`send`); delivering them is the engine's own work (`engine.timers`). Standard:
`RecallMessageProcessor`, `AdminBrokerProcessor`.
"""

from __future__ import annotations

import re

from twisted.internet.defer import Deferred

from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.message import (
    PROPERTY_MSG_REGION,
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
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.headers import RecallMessageRequestHeader, RecallMessageResponseHeader
from mqgateway.gateway.remoting.call import Call, Reply, RequestError

STORED = frozenset(
    {
        PutStatus.PUT_OK,
        PutStatus.FLUSH_DISK_TIMEOUT,
        PutStatus.FLUSH_SLAVE_TIMEOUT,
        PutStatus.SLAVE_NOT_AVAILABLE,
    }
)
"""With each of these the recall is in the log."""
UNAVAILABLE = "recall failed, broker service not available"
ENGINE_FIELD = "E_T"
FILES, ROCKSDB = "F", "R"
"""The engines that 5001 knows."""

_NUMBER = re.compile(r"-?[0-9]{1,18}")


def recall_message(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """370 RECALL_MESSAGE: delete a timer that was not delivered yet, by the handle its sender got."""
    header = call.header
    assert isinstance(header, RecallMessageRequestHeader)
    _check_broker(broker, call.now)
    if broker.topics.get(header.topic) is None:
        raise RequestError(
            ResponseCode.TOPIC_NOT_EXIST, f"recall failed, the topic[{header.topic}] not exist"
        )
    handle = _checked_handle(broker, broker.store.steady.now(), header)
    message = _deletion(broker, call, header, handle)
    if broker.timers.rewrite_steady(message) is not None:
        raise _failed()
    result = broker.store.put(message)
    if result.status is not PutStatus.PUT_OK:
        raise _failed()
    broker.stats.put(message.topic, 1, result.end_offset - result.physical_offset)
    if broker.durable.is_awaited:
        return broker.durable.wait(result).addCallback(lambda status: _answer(broker, handle, status))
    return _answer(broker, handle, result.status)


def _check_broker(broker: Broker, now: int) -> None:
    options = broker.options
    if not options.recall_message_enable:
        raise RequestError(ResponseCode.NO_PERMISSION, "recall failed, operation is forbidden")
    if broker.role.is_slave:
        raise RequestError(ResponseCode.SLAVE_NOT_AVAILABLE, UNAVAILABLE)
    is_readable_only = not options.broker_permission & PERM_WRITE
    if now < options.start_accept_send_request_time_stamp or (
        is_readable_only and not options.allow_recall_when_broker_not_writeable
    ):
        raise RequestError(ResponseCode.SERVICE_NOT_AVAILABLE, UNAVAILABLE)


def _checked_handle(broker: Broker, now: int, header: RecallMessageRequestHeader) -> RecallHandle:
    """The handle, if it names a timer of this topic and broker that still waits."""
    try:
        handle = RecallHandle.decode(header.recall_handle)
    except MessageIllegal as error:
        raise RequestError(ResponseCode.ILLEGAL_OPERATION, str(error)) from None
    if handle.topic != header.topic:
        raise RequestError(ResponseCode.ILLEGAL_OPERATION, "recall failed, topic not match")
    if handle.broker_name != broker.options.broker_name:
        raise RequestError(ResponseCode.ILLEGAL_OPERATION, UNAVAILABLE)
    left = int(handle.time) - now if _NUMBER.fullmatch(handle.time) else -1
    if not 0 < left < broker.store_options.timer_max_delay_sec * 1000:
        raise RequestError(ResponseCode.ILLEGAL_OPERATION, "recall failed, timestamp invalid")
    return handle


def _deletion(
    broker: Broker, call: Call, header: RecallMessageRequestHeader, handle: RecallHandle
) -> Message:
    """The message that deletes a timer: due in the same slot, with the same key."""
    with_topic = broker.store_options.append_topic_for_timer_delete_key
    properties = {
        PROPERTY_TAGS: RECALL_TAG,
        PROPERTY_TIMER_DEL_UNIQKEY: f"{handle.topic}+{handle.key}" if with_topic else handle.key,
        PROPERTY_UNIQ_KEY: handle.key,
        PROPERTY_TIMER_DELIVER_MS: handle.time,
        "BORN_TIMESTAMP": str(call.now),
        "TRACE_CONTEXT": "",
    }
    if header.producer_group is not None:
        properties[PROPERTY_PRODUCER_GROUP] = header.producer_group
    hosts = call.peer.host_bytes, broker.store_host
    return Message(handle.topic, 0, b"0", properties, call.now, *hosts)


def _answer(broker: Broker, handle: RecallHandle, status: PutStatus) -> Reply:
    if status not in STORED:
        raise _failed()
    header = RecallMessageResponseHeader(msg_id=handle.key)
    return Reply(header=header, ext={PROPERTY_MSG_REGION: broker.options.region_id})


def _failed() -> RequestError:
    return RequestError(ResponseCode.SYSTEM_ERROR, "recall failed, execute error")


def check_point(broker: Broker, call: Call) -> Reply:
    """60 GET_TIMER_CHECK_POINT: how far the timers have come, in the 56 bytes of their file."""
    if not broker.timers.is_enabled:
        raise RequestError(ResponseCode.SYSTEM_ERROR, "The checkpoint is null")
    return Reply(body=broker.timers.checkpoint.encode())


def metrics(broker: Broker, call: Call) -> Reply:
    """61 GET_TIMER_METRICS: pending timers by topic."""
    if not broker.timers.is_enabled:
        raise RequestError(ResponseCode.SYSTEM_ERROR, "The timer message store is null")
    return Reply(body=broker.timers.metrics.encode())


def switch_engine(broker: Broker, call: Call) -> Reply:
    """5001 SWITCH_TIMER_ENGINE: the wheel is the only one; to switch to it lets it read on."""
    if not broker.timers.is_enabled:
        raise RequestError(ResponseCode.INVALID_PARAMETER, "broker timerWheelEnable is false")
    fields = call.command.ext_fields
    if not fields:
        raise RequestError(ResponseCode.INVALID_PARAMETER, "param error, extFields is null")
    engine = fields.get(ENGINE_FIELD)
    if engine == ROCKSDB:
        raise RequestError(
            ResponseCode.INVALID_PARAMETER, "timerRocksDBEnable must be configured true when broker start"
        )
    if engine != FILES:
        raise RequestError(ResponseCode.INVALID_PARAMETER, "param error")
    broker.configuration.update([Setting("timerStopEnqueue", "false")])
    return Reply(remark="switch timer engine success")
