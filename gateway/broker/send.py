"""10 SEND_MESSAGE, 310 SEND_MESSAGE_V2 and 320 SEND_BATCH_MESSAGE: from a request to a stored message.

The way: `send_message` checks name, permission and queue (`checked_topic`, creating the topic
where that is allowed), gives the message the properties a stored one has, sends retries that have
had their turns to the dead letters, turns a delay into a wait in the schedule topic, puts the
message into the store and answers when the put is as durable as configured. The three codes share
one header; what makes a batch is its field `batch`, not the code.

This is the hottest road of the broker: with ASYNC_FLUSH it is a plain call without a Deferred.
Standard: `SendMessageProcessor`, `AbstractSendMessageProcessor`, `HookUtils`.
"""

import logging
from random import random

from twisted.internet.defer import Deferred

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.lite.names import light_queue
from mqgateway.engine.message import (
    DLQ_PREFIX,
    PROPERTY_CLUSTER,
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_INNER_MULTI_DISPATCH,
    PROPERTY_INNER_NUM,
    PROPERTY_KEYS,
    PROPERTY_LITE_TOPIC,
    PROPERTY_MSG_REGION,
    PROPERTY_POP_CK,
    PROPERTY_PRIORITY,
    PROPERTY_REAL_TOPIC,
    PROPERTY_SHARDING_KEY,
    PROPERTY_TIMER_OUT_MS,
    PROPERTY_TRACE_SWITCH,
    PROPERTY_TRANSACTION_PREPARED,
    PROPERTY_UNIQ_KEY,
    RETRY_PREFIX,
    TIMER_TOPIC,
    TOPIC_LENGTH_MAX,
    Message,
    SysFlag,
    parse_properties,
)
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.large_batch import LARGE, LargeBatch
from mqgateway.engine.store.message_store import PutResult, PutStatus
from mqgateway.engine.timers.messages import TIMED, RecallHandle
from mqgateway.engine.topics import TopicConfig
from mqgateway.gateway.broker.accepting import checked_topic
from mqgateway.gateway.broker.broker import FAQ, PERM_READ, PERM_WRITE, Broker
from mqgateway.gateway.broker.flow_control import OVERLOAD
from mqgateway.gateway.codec.codes import V3_4_9, ResponseCode
from mqgateway.gateway.codec.headers import SendMessageRequestHeader
from mqgateway.gateway.remoting.call import Call, Reply, RequestError
from mqgateway.gateway.remoting.dispatch import Served

log = logging.getLogger(__name__)

_PUT_OK = PutStatus.PUT_OK  # a look-up in an enumeration costs more than the rest of a check
SENT: dict[PutStatus, int] = {
    PutStatus.FLUSH_DISK_TIMEOUT: ResponseCode.FLUSH_DISK_TIMEOUT,
    PutStatus.FLUSH_SLAVE_TIMEOUT: ResponseCode.FLUSH_SLAVE_TIMEOUT,
    PutStatus.SLAVE_NOT_AVAILABLE: ResponseCode.SLAVE_NOT_AVAILABLE,
}
"""What is answered when a message is stored, but less safely than configured."""

FAILED = {
    PutStatus.IN_SYNC_REPLICAS_NOT_ENOUGH: (ResponseCode.SYSTEM_ERROR, "in-sync replicas not enough"),
    PutStatus.CREATE_MAPPED_FILE_FAILED: (
        ResponseCode.SYSTEM_ERROR,
        "create mapped file failed, server is busy or broken.",
    ),
    PutStatus.OS_PAGE_CACHE_BUSY: (
        ResponseCode.SYSTEM_BUSY,
        "[PC_SYNCHRONIZED]broker busy, start flow control for a while",
    ),
    PutStatus.LMQ_CONSUME_QUEUE_NUM_EXCEEDED: (
        ResponseCode.LMQ_QUOTA_EXCEEDED,
        "[LMQ_CONSUME_QUEUE_NUM_EXCEEDED]lmq consume queue num exceeded.",
    ),
    PutStatus.WHEEL_TIMER_NOT_ENABLE: (
        ResponseCode.SYSTEM_ERROR,
        "accurate timer message is not enabled, timerWheelEnable is false",
    ),
    PutStatus.WHEEL_TIMER_MSG_ILLEGAL: (
        ResponseCode.MESSAGE_ILLEGAL,
        "timer message illegal, the delay time should not be bigger than the max delay {max_delay}ms; "
        "or if set del msg, the delay time should be bigger than the current time",
    ),
    PutStatus.WHEEL_TIMER_FLOW_CONTROL: (
        ResponseCode.SYSTEM_ERROR,
        "timer message is under flow control, max num limit is {twice} or the current value is greater than "
        "{congested} and less than {twice}, trigger random flow control",
    ),
    PutStatus.UNKNOWN_ERROR: (ResponseCode.SYSTEM_ERROR, "UNKNOWN_ERROR"),
}
"""Put statuses with which a message is not sent, and why."""

WAITING_FOR_FLUSH = "waiting for the disk"
"""The cause under which sends are refused that would have to wait until they are on disk."""

DELAYED = TIMED | {PROPERTY_DELAY_TIME_LEVEL}
DLQ_QUEUES = 1


def send_message(broker: Broker, call: Call) -> Served:
    """Store what a producer sends, and answer where it lies."""
    header = call.header
    assert isinstance(header, SendMessageRequestHeader)
    topic_config = checked_topic(broker, call, header)
    queue_id = header.queue_id
    if queue_id < 0:
        queue_id = int(random() * topic_config.write_queue_nums)
    sys_flag = header.sys_flag
    if topic_config.topic_filter_type == "MULTI_TAG":
        sys_flag |= SysFlag.MULTI_TAGS
    message = Message(
        header.topic,
        queue_id,
        call.body,
        _stored_properties(broker, header),
        header.born_timestamp,
        call.peer.host_bytes,
        broker.store_host,
        header.flag,
        sys_flag,
        header.reconsume_times or 0,
    )
    if sys_flag & SysFlag.INNER_BATCH or PROPERTY_INNER_NUM in message.properties:
        _check_inner_batch(broker, topic_config, message)
    if header.batch or sys_flag & SysFlag.INNER_BATCH:
        _check_batch(broker, message)
        if header.batch:
            # The messages are counted; only of what a client put together itself it must say the number.
            message.properties.pop(PROPERTY_INNER_NUM, None)
        return _put_together(broker, call, topic_config, message, queue_id)
    properties = message.properties
    if header.topic.startswith(RETRY_PREFIX):
        _redirect_retry(broker, call, header, message)
    if PROPERTY_UNIQ_KEY not in properties:
        properties[PROPERTY_UNIQ_KEY] = broker.unique_keys.next(call.now)
    if topic_config.attributes:
        _check_attributes(topic_config, properties)
    if PROPERTY_LITE_TOPIC in properties:
        properties[PROPERTY_INNER_MULTI_DISPATCH] = light_queue(header.topic, properties[PROPERTY_LITE_TOPIC])
    if PROPERTY_PRIORITY in properties:
        message.queue_id = queue_id = _priority_queue(topic_config, properties, message.queue_id)
    if PROPERTY_TRANSACTION_PREPARED in properties and _is_half(broker, message):
        return _put_half(broker, message, queue_id)
    if not DELAYED.isdisjoint(properties):
        _delay(broker, message)
    return _put(broker, message, queue_id, None)


def _stored_properties(broker: Broker, header: SendMessageRequestHeader) -> dict[str, str]:
    """The client's properties as they are stored: with what the broker adds, without what is its own."""
    options = broker.options
    properties = parse_properties(header.properties) if header.properties else {}
    properties[PROPERTY_MSG_REGION] = options.region_id
    properties[PROPERTY_TRACE_SWITCH] = "true" if options.trace_on else "false"
    properties[PROPERTY_CLUSTER] = options.broker_cluster_name
    if PROPERTY_POP_CK in properties:
        del properties[PROPERTY_POP_CK]
    return properties


def _check_batch(broker: Broker, message: Message) -> None:
    """Refuse what may not come in a batch."""
    topic = message.topic
    if topic.startswith(RETRY_PREFIX):
        raise RequestError(
            ResponseCode.MESSAGE_ILLEGAL, f"batch request does not support retry group {topic}"
        )
    if len(topic) > TOPIC_LENGTH_MAX:
        raise RequestError(ResponseCode.MESSAGE_ILLEGAL, f"message topic length too long {len(topic)}")
    if message.sys_flag & SysFlag.TRANSACTION_MASK or _delay_level(message.properties) > 0:
        raise _illegal(broker)


def _check_inner_batch(broker: Broker, topic_config: TopicConfig, message: Message) -> None:
    """Refuse what says that it is a batch in one record where there can be none.

    Standard: `HookUtils.checkInnerBatch`.
    """
    if not (message.sys_flag & SysFlag.INNER_BATCH and topic_config.has_batch_queues):
        raise _illegal(broker)


def _put_together(
    broker: Broker, call: Call, topic_config: TopicConfig, message: Message, queue_id: int
) -> Served:
    """Store a batch: its messages one by one, or as one record where the topic has queues of batches.

    For the latter the client must have named the batch, as it looks for that name in the answer.
    """
    name = message.properties.get(PROPERTY_UNIQ_KEY)
    if not message.sys_flag & SysFlag.INNER_BATCH:
        if name is None or not topic_config.has_batch_queues:
            if len(message.body) > LARGE:
                return _put_large_batch(broker, call, message, queue_id)
            return _put(broker, message, queue_id, message.body)
        message.sys_flag |= SysFlag.NEED_UNWRAP | SysFlag.INNER_BATCH

    def named(reply: Reply) -> Reply:
        if reply.ext is not None and name is not None:
            reply.ext["batchUniqId"] = name
        return reply

    reply = _put(broker, message, queue_id, message.body)
    return reply.addCallback(named) if isinstance(reply, Deferred) else named(reply)


def _put_large_batch(
    broker: Broker, call: Call, message: Message, queue_id: int
) -> Steps[Reply | Deferred[Reply]]:
    """Store a batch of perhaps very many messages: what can be done before it is written is done in steps,
    and so is what follows. There is never more than one that is not dispatched."""
    store, topic = broker.store, message.topic
    batch = yield from store.make_ready(message, message.body)
    if isinstance(batch, PutResult):
        text = f"the batch to {topic} is refused: {batch.remark}"
        log.warning("%s: %s", call.peer.address, text)
        raise RequestError(ResponseCode.MESSAGE_ILLEGAL, text)
    while store.is_behind:
        yield
    if broker.topics.get(topic) is None:
        raise RequestError(ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] is deleted")
    reply = _put(broker, message, queue_id, batch)
    while store.is_behind:
        yield
    return reply


def _redirect_retry(broker: Broker, call: Call, header: SendMessageRequestHeader, message: Message) -> None:
    """A message to a retry topic goes to the dead letters when it had its turns, or is consumed in order.

    An ordered consumer counts the turns itself and sends a message here only to be rid of it, which
    shows by the locks its group holds.
    """
    name = header.topic[len(RETRY_PREFIX) :]
    group = broker.groups.find(name)
    if group is None:
        raise RequestError(
            ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"subscription group not exist, {name} {FAQ}"
        )
    turns = group.retry_max_times
    if call.command.version >= V3_4_9 and header.max_reconsume_times is not None:
        turns = header.max_reconsume_times
    if message.reconsume_times <= turns and not broker.locks.any_live(name, elapsed_millis(broker.clock)):
        return
    dead_letters = DLQ_PREFIX + name
    created = broker.topics.create_for_send_back(dead_letters, DLQ_QUEUES, PERM_READ | PERM_WRITE, 0)
    if created is None:
        raise RequestError(ResponseCode.SYSTEM_ERROR, f"topic[{dead_letters}] not exist")
    message.topic = dead_letters
    message.queue_id = 0
    message.properties[PROPERTY_DELAY_TIME_LEVEL] = "-1"


def _check_attributes(topic_config: TopicConfig, properties: dict[str, str]) -> None:
    """A compacted topic keeps the last message of each key, so there must be one."""
    if (
        topic_config.attributes.get("cleanup.policy") == "COMPACTION"
        and not properties.get(PROPERTY_KEYS, "").strip()
    ):
        raise RequestError(ResponseCode.MESSAGE_ILLEGAL, "Required message key is missing")


def _priority_queue(topic_config: TopicConfig, properties: dict[str, str], queue_id: int) -> int:
    """The queue of a message with a priority: the number of the queue is the priority.

    A message that is of another type too (a transaction, delayed, in order) loses the property.
    """
    other_type = (
        properties.get(PROPERTY_TRANSACTION_PREPARED, "").lower() == "true"
        or not DELAYED.isdisjoint(properties)
        or PROPERTY_SHARDING_KEY in properties
    )
    if other_type:
        del properties[PROPERTY_PRIORITY]
        return queue_id
    text = properties[PROPERTY_PRIORITY]
    if not (text.isascii() and text.isdigit()):
        return queue_id
    return min(int(text), topic_config.write_queue_nums - 1)


def _is_half(broker: Broker, message: Message) -> bool:
    """Whether it is a half message; what a client before 4.6.1 retries with the property left in is none."""
    properties = message.properties
    if properties[PROPERTY_TRANSACTION_PREPARED].lower() != "true":
        return False
    if message.reconsume_times > 0 and _delay_level(properties) > 0:
        return False
    if broker.options.reject_transaction_message:
        raise RequestError(
            ResponseCode.NO_PERMISSION,
            f"the broker[{broker.options.broker_ip1}] sending transaction message is forbidden",
        )
    return True


def _put_half(broker: Broker, message: Message, queue_id: int) -> Reply | Deferred[Reply]:
    """Store a half message; what it asks for beside, such as a delay, begins when it is committed."""
    topic = message.topic
    broker.transactions.prepare(message)

    def counted(reply: Reply) -> Reply:
        if reply.code == ResponseCode.SUCCESS:
            broker.transactions.prepared(topic)
        return reply

    reply = _put(broker, message, queue_id, None)
    return reply.addCallback(counted) if isinstance(reply, Deferred) else counted(reply)


def _delay(broker: Broker, message: Message) -> None:
    """Let the message wait for its delay level, or for a time of its own.

    Standard: `HookUtils.handleScheduleMessage`.
    """
    try:
        waits = broker.delay_levels.rewrite(message)
    except MessageIllegal:
        raise _illegal(broker) from None
    refusal = None if waits else broker.timers.rewrite(message, broker.clock.millis())
    if refusal is not None:
        raise _failure(broker, refusal)


def _delay_level(properties: dict[str, str]) -> int:
    """The delay level a message asks for; 0 for none, or one that is no number."""
    text = properties.get(PROPERTY_DELAY_TIME_LEVEL, "0")
    return int(text) if text.isascii() and text.removeprefix("-").isdigit() else 0


def _put(
    broker: Broker, message: Message, queue_id: int, batch: bytes | LargeBatch | None
) -> Reply | Deferred[Reply]:
    """Store and answer. `queue_id` is what the producer is told, delayed or not."""
    if broker.durable.is_awaited:
        return _put_durably(broker, message, queue_id, batch)
    result = broker.store.put(message) if batch is None else _put_batch(broker, message, batch)
    return _answer(broker, message, queue_id, result, result.status)


def _put_batch(broker: Broker, message: Message, batch: bytes | LargeBatch) -> PutResult:
    if message.sys_flag & SysFlag.INNER_BATCH:
        return broker.store.put_inner_batch(message)
    return broker.store.put_batch(message, batch)


def _put_durably(
    broker: Broker, message: Message, queue_id: int, batch: bytes | LargeBatch | None
) -> Reply | Deferred[Reply]:
    """Store, wait until that is safe, answer."""
    durable = broker.durable
    if durable.is_full:
        raise broker.flow_control.refusal(WAITING_FOR_FLUSH, OVERLOAD, message.topic)
    if durable.lacks_replicas(message.properties):
        raise _failure(broker, PutStatus.IN_SYNC_REPLICAS_NOT_ENOUGH)
    result = broker.store.put(message) if batch is None else _put_batch(broker, message, batch)
    if result.status is not _PUT_OK or not durable.awaits(message.properties):
        return _answer(broker, message, queue_id, result, result.status)
    return durable.wait(result).addCallback(lambda status: _answer(broker, message, queue_id, result, status))


def _answer(broker: Broker, message: Message, queue_id: int, result: PutResult, status: PutStatus) -> Reply:
    """The answer to a put. Its fields are written as text here: a typed header costs two microseconds."""
    code = 0
    if status is not _PUT_OK:
        code = SENT.get(status, -1)
        if code < 0:
            raise _failure(broker, status, result.remark)
    options = broker.options
    broker.stats.put(message.topic, result.count, result.end_offset - result.physical_offset)
    fields = {
        "msgId": result.message_id,
        "queueId": str(queue_id),
        "queueOffset": str(result.queue_offset),
        PROPERTY_MSG_REGION: options.region_id,
        PROPERTY_TRACE_SWITCH: "true" if options.trace_on else "false",
    }
    unique_key = message.properties.get(PROPERTY_UNIQ_KEY)
    if unique_key is not None:
        fields["transactionId"] = unique_key
        if message.topic == TIMER_TOPIC:
            _add_recall_handle(broker, message.properties, unique_key, fields)
    return Reply(code, ext=fields)


def _add_recall_handle(
    broker: Broker, properties: dict[str, str], unique_key: str, fields: dict[str, str]
) -> None:
    """Tell the sender of a timer how to call it back. Standard: `attachRecallHandle`."""
    out_time, topic = properties.get(PROPERTY_TIMER_OUT_MS, ""), properties.get(PROPERTY_REAL_TOPIC, "")
    if out_time and topic and not topic.startswith(RETRY_PREFIX):
        handle = RecallHandle(topic, broker.options.broker_name, str(int(out_time) + 1), unique_key)
        fields["recallHandle"] = handle.encode()


def _failure(broker: Broker, status: PutStatus, why: str = "") -> RequestError:
    """The refusal that a put status stands for; `why` is what the store says."""
    if status in (PutStatus.MESSAGE_ILLEGAL, PutStatus.PROPERTIES_SIZE_EXCEEDED):
        return _illegal(broker)
    if status is PutStatus.SERVICE_NOT_AVAILABLE:
        return _unavailable(broker, why)
    code, remark = FAILED.get(status, (ResponseCode.SYSTEM_ERROR, "UNKNOWN_ERROR DEFAULT"))
    if "{" in remark:
        options = broker.store_options
        congested = options.timer_congest_num_each_slot
        max_delay = options.timer_max_delay_sec * 1000
        remark = remark.format(max_delay=max_delay, congested=congested, twice=2 * congested)
    return RequestError(code, remark)


def _unavailable(broker: Broker, why: str = "") -> RequestError:
    why, info = why or broker.store.refusal, broker.store.runtime_info()
    log_use, queue_use = (
        float(info.get(name, 0)) for name in ("commitLogDiskRatio", "consumeQueueDiskRatio")
    )
    return RequestError(
        ResponseCode.SERVICE_NOT_AVAILABLE,
        "service not available now. It may be caused by one of the following reasons: the broker's disk is "
        f"full [CL: {log_use:5.2f} CQ: {queue_use:5.2f} INDEX: {queue_use:5.2f}], messages are put to the "
        f"slave, message store has been shut down, etc.{f' Here: {why}.' if why else ''}",
    )


def _illegal(broker: Broker) -> RequestError:
    return RequestError(
        ResponseCode.MESSAGE_ILLEGAL,
        "the message is illegal, maybe msg body or properties length not matched. msg body length limit "
        f"{broker.store_options.max_message_size}B, msg properties length limit 32KB.",
    )
