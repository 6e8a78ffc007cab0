"""Looking things up: messages by key or id, offsets by time, the ends of a queue, a stretch of its index.

12 QUERY_MESSAGE, 33 VIEW_MESSAGE_BY_ID, 29 SEARCH_OFFSET_BY_TIMESTAMP, 30 GET_MAX_OFFSET,
31 GET_MIN_OFFSET, 32 GET_EARLIEST_MSG_STORETIME, 321 QUERY_CONSUME_QUEUE.

Standard: `QueryMessageProcessor`, `AdminBrokerProcessor`.
"""

from mqgateway.engine.lite.names import light_queue
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.codec.bodies.consuming import ConsumeQueueData, QueryConsumeQueueResponseBody
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.fields import BoundaryType
from mqgateway.gateway.codec.headers import (
    GetEarliestMsgStoretimeRequestHeader,
    GetEarliestMsgStoretimeResponseHeader,
    GetMaxOffsetRequestHeader,
    GetMaxOffsetResponseHeader,
    GetMinOffsetRequestHeader,
    GetMinOffsetResponseHeader,
    QueryConsumeQueueRequestHeader,
    QueryMessageRequestHeader,
    QueryMessageResponseHeader,
    SearchOffsetRequestHeader,
    SearchOffsetResponseHeader,
    ViewMessageRequestHeader,
)
from mqgateway.gateway.remoting.call import Call, Reply, RequestError

UNIQUE_KEY_QUERY = "_UNIQUE_KEY_QUERY"
"""The field by which a client older than 5.5 says that it asks for a unique key."""
INDEX_KEY, INDEX_UNIQUE = "K", "U"
QUEUE_UNITS_MAX = 1024
"""How many units of a queue's index one answer holds."""


def query_message(broker: Broker, call: Call) -> Reply:
    """The records whose key has the asked key's hash; the client compares the keys themselves."""
    header = call.header
    assert isinstance(header, QueryMessageRequestHeader)
    index_type = header.index_type or INDEX_KEY
    max_num = header.max_num
    if call.command.ext_fields.get(UNIQUE_KEY_QUERY) == "true":
        index_type, max_num = INDEX_UNIQUE, broker.store_options.default_query_max_num
    found = broker.store.query(
        header.topic, header.key, max_num, header.begin_timestamp, header.end_timestamp, index_type
    )
    fields = QueryMessageResponseHeader(
        index_last_update_timestamp=found.last_update_timestamp,
        index_last_update_phyoffset=found.last_update_offset,
    )
    if not found.records:
        raise RequestError(
            ResponseCode.QUERY_NOT_FOUND, "can not find message, maybe time range not correct", fields
        )
    return Reply(header=fields, body=b"".join(found.records))


def view_message(broker: Broker, call: Call) -> Reply:
    """The record at a log offset, as it is stored."""
    header = call.header
    assert isinstance(header, ViewMessageRequestHeader)
    record = broker.store.record_at(header.offset)
    if record is None:
        raise RequestError(ResponseCode.SYSTEM_ERROR, f"can not find message by the offset, {header.offset}")
    return Reply(body=record)


def search_offset(broker: Broker, call: Call) -> Reply:
    """The queue offset that a store time (ms) stands for."""
    header = call.header
    assert isinstance(header, SearchOffsetRequestHeader)
    upper = header.boundary_type is BoundaryType.UPPER
    topic, queue_id = header.topic, header.queue_id
    if header.lite_topic:
        topic, queue_id = light_queue(topic, header.lite_topic), 0
    offset = broker.store.offset_by_time(topic, queue_id, header.timestamp, upper)
    return Reply(header=SearchOffsetResponseHeader(offset=offset))


def max_offset(broker: Broker, call: Call) -> Reply:
    """The offset the queue's next message will have; 0 for a queue nobody has written to."""
    header = call.header
    assert isinstance(header, GetMaxOffsetRequestHeader)
    offset = broker.store.max_offset(header.topic, header.queue_id)
    return Reply(header=GetMaxOffsetResponseHeader(offset=offset))


def min_offset(broker: Broker, call: Call) -> Reply:
    """The offset of the oldest message the queue still has."""
    header = call.header
    assert isinstance(header, GetMinOffsetRequestHeader)
    topic, queue_id = header.topic, header.queue_id
    offset = broker.store.min_offset(topic, queue_id)
    if broker.topics.has_batch_queues(topic) and not broker.store.max_offset(topic, queue_id):
        offset = -1  # of a queue of batches that has none. Standard: `BatchConsumeQueue`
    return Reply(header=GetMinOffsetResponseHeader(offset=offset))


def earliest_store_time(broker: Broker, call: Call) -> Reply:
    """When the oldest message of a queue was stored (ms); -1 when the queue is empty."""
    header = call.header
    assert isinstance(header, GetEarliestMsgStoretimeRequestHeader)
    store, topic, queue_id = broker.store, header.topic, header.queue_id
    timestamp = store.store_time(topic, queue_id, store.min_offset(topic, queue_id))
    return Reply(header=GetEarliestMsgStoretimeResponseHeader(timestamp=timestamp))


def query_consume_queue(broker: Broker, call: Call) -> Reply:
    """A stretch of a queue's index: where each message lies, how long it is, and its tag hash."""
    header = call.header
    assert isinstance(header, QueryConsumeQueueRequestHeader)
    store, topic, queue_id = broker.store, header.topic or "", header.queue_id
    if queue_id not in store.queues().get(topic, ()):
        raise RequestError(ResponseCode.SYSTEM_ERROR, f"{queue_id}@{topic} is not exist!")
    first, last = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
    if not first <= header.index < last:
        return Reply(remark=f"Index {header.index} of {queue_id}@{topic} is not exist!")
    units = store.consume_queue_units(topic, queue_id, header.index, min(header.count, QUEUE_UNITS_MAX))
    body = QueryConsumeQueueResponseBody(
        min_queue_index=first,
        max_queue_index=last,
        queue_data=[
            ConsumeQueueData(physic_offset=position, physic_size=size, tags_code=tags_code)
            for position, size, tags_code in units
        ],
    )
    group = header.consumer_group
    if group is not None:
        body.subscription_data = broker.clients.subscription(group, topic)
        if body.subscription_data is None:
            body.filter_data = f"{group}@{topic} is not online!"
    return Reply(body=body.encode())
