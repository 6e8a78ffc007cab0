"""How far groups have come: 14 QUERY_CONSUMER_OFFSET, 15 UPDATE_CONSUMER_OFFSET, 314 CLONE_GROUP_OFFSET
and 43 GET_ALL_CONSUMER_OFFSET.

Standard: `ConsumerManageProcessor`, `AdminBrokerProcessor.cloneGroupOffset` and `getAllConsumerOffset`.
"""

from mqgateway.engine import lenient_json
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.consume.initial_offset import begins_fresh
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.headers import (
    CloneGroupOffsetRequestHeader,
    QueryConsumerOffsetRequestHeader,
    QueryConsumerOffsetResponseHeader,
    UpdateConsumerOffsetRequestHeader,
)
from mqgateway.gateway.remoting.call import Call, Reply, RequestError


def query_offset(broker: Broker, call: Call) -> Reply:
    """What the group has committed.

    A group that never committed begins at 0 while the queue still has its first message and that is
    among the log's fresh part; else the answer is "not found", and the client decides by its own
    settings where to begin.
    """
    header = call.header
    assert isinstance(header, QueryConsumerOffsetRequestHeader)
    topic, queue_id = header.topic, header.queue_id
    offset = broker.offsets.query(header.consumer_group, topic, queue_id)
    if offset < 0:
        if header.set_zero_if_not_found is False:
            raise RequestError(
                ResponseCode.QUERY_NOT_FOUND, "Not found, do not set to zero, maybe this group boot first"
            )
        if not begins_fresh(broker, topic, queue_id):
            raise RequestError(
                ResponseCode.QUERY_NOT_FOUND,
                "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first",
            )
        offset = 0
    return Reply(header=QueryConsumerOffsetResponseHeader(offset=offset))


def update_offset(broker: Broker, call: Call) -> Reply:
    """Commit; ignored while a reset by an administrator waits for the group's next pull."""
    header = call.header
    assert isinstance(header, UpdateConsumerOffsetRequestHeader)
    group, topic, queue_id = header.consumer_group, header.topic, header.queue_id
    if group not in broker.groups:
        raise RequestError(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"Group {group} not exist!")
    if broker.topics.get(topic) is None:
        raise RequestError(ResponseCode.TOPIC_NOT_EXIST, f"Topic {topic} not exist!")
    offsets = broker.offsets
    if broker.options.use_server_side_reset_offset and offsets.has_reset(group, topic, queue_id):
        return Reply(remark="Offset has been previously reset")
    if not offsets.commit(group, topic, queue_id, header.commit_offset):
        most = broker.options.max_offsets
        raise RequestError(
            ResponseCode.SYSTEM_ERROR, f"{most} offsets are kept, no more are allowed (maxOffsets)"
        )
    return Reply()


def clone_offset(broker: Broker, call: Call) -> Reply:
    """Let one group begin where another stands, in one topic or in all the other consumes.

    Topics that no longer exist are left out and, unless `offline` is said, those that a connected
    source group no longer subscribes to.
    """
    header = call.header
    assert isinstance(header, CloneGroupOffsetRequestHeader)
    source = header.src_group
    topics = [header.topic] if header.topic else sorted(broker.offsets.topics_of(source))
    for topic in topics:
        if broker.topics.get(topic) is None:
            continue
        left = broker.clients.subscription_count(source) > 0 and (
            broker.clients.subscription(source, topic) is None
        )
        if header.offline or not left:
            broker.offsets.clone(source, header.dest_group, topic)
    return Reply()


def all_offsets(broker: Broker, call: Call) -> Reply:
    """The whole table, as it lies in consumerOffset.json."""
    return Reply(body=lenient_json.dumps(broker.offsets.to_json()))
