"""How far consumer groups have come, as administration sees and sets it.

208 and 317 show it, 308 finds the least of all groups, 222 lets a group go on from somewhere else: here, or
in the clients themselves. Standard: `AdminBrokerProcessor`, `Broker2Client.resetOffset`.
"""

import logging

from mqgateway.engine.message import format_host
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.codec.bodies import (
    ConsumeStats,
    ConsumeStatsList,
    MessageQueue,
    MessageQueueForC,
    OffsetWrapper,
    QueryCorrectionOffsetBody,
    ResetOffsetBody,
    ResetOffsetBodyForC,
)
from mqgateway.gateway.codec.codes import LanguageCode, RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import (
    GetConsumeStatsInBrokerHeader,
    GetConsumeStatsRequestHeader,
    QueryCorrectionOffsetHeader,
    ResetOffsetRequestHeader,
)
from mqgateway.gateway.remoting.call import Call, Reply, RequestError

log = logging.getLogger(__name__)

LONG_MAX = 2**63 - 1


def consume_stats(broker: Broker, call: Call) -> Reply:
    """208 GET_CONSUME_STATS: how far a group is in one topic, in those named, or in all it consumes.

    Of static topics the broker's own queues are shown, from which tools work out those of the topic; so -1 is
    said where nothing was committed.
    """
    header = call.header
    assert isinstance(header, GetConsumeStatsRequestHeader)
    group = header.consumer_group
    named = [topic for topic in (header.topic_list or "").split(";") if topic]
    if not named:
        topics = [header.topic] if header.topic else sorted(broker.offsets.topics_of(group))
        named = [topic for topic in topics if not _has_left(broker, group, topic)]
    stats = ConsumeStats(offset_table={}, consume_tps=0.0)
    for topic in named:
        config = broker.topics.get(topic)
        if config is not None:
            least = -1 if topic in broker.mappings.table else 0
            stats.offset_table.update(_progress(broker, group, topic, config.read_queue_nums, least))
            stats.consume_tps += broker.stats.get_tps(group, topic)
    return Reply(body=stats.encode())


def all_consume_stats(broker: Broker, call: Call) -> Reply:
    """317 GET_BROKER_CONSUME_STATS: how far every group is in every topic it consumes."""
    header = call.header
    assert isinstance(header, GetConsumeStatsInBrokerHeader)
    body = ConsumeStatsList(
        consume_stats_list=[], broker_addr=format_host(broker.store_host), total_diff=0, total_inflight_diff=0
    )
    for group in broker.groups.names():
        of_group = []
        for topic in sorted(broker.offsets.topics_of(group)):
            config = broker.topics.get(topic)
            if config is None or (header.is_order and not config.order) or _has_left(broker, group, topic):
                continue
            table = _progress(broker, group, topic, config.write_queue_nums)
            of_group.append(ConsumeStats(offset_table=table, consume_tps=broker.stats.get_tps(group, topic)))
            body.total_diff += sum(one.broker_offset - one.consumer_offset for one in table.values())
            body.total_inflight_diff += sum(one.pull_offset - one.consumer_offset for one in table.values())
        body.consume_stats_list.append({group: of_group})
    return Reply(body=body.encode())


def correction_offset(broker: Broker, call: Call) -> Reply:
    """308 QUERY_CORRECTION_OFFSET: for each queue the least offset of any group that is not below its start.

    Groups joined by "," in `filterGroups` are left out (the standard deletes their offsets). Where the
    compared group has not come as far, the answer is Java's largest long: nothing to correct.
    """
    header = call.header
    assert isinstance(header, QueryCorrectionOffsetHeader)
    left_out = set((header.filter_groups or "").split(","))
    least: dict[int, int] = {}
    for group in broker.offsets.groups_of(header.topic):
        if group not in left_out:
            for queue_id, offset in broker.offsets.queues_of(group, header.topic).items():
                if offset >= broker.store.min_offset(header.topic, queue_id):
                    least[queue_id] = min(offset, least.get(queue_id, offset))
    for queue_id, offset in broker.offsets.queues_of(header.compare_group, header.topic).items():
        if least.get(queue_id, 0) > offset:
            least[queue_id] = LONG_MAX
    return Reply(body=QueryCorrectionOffsetBody(correction_offsets=least).encode())


def reset_offset(broker: Broker, call: Call) -> Reply:
    """222 INVOKE_BROKER_TO_RESET_OFFSET: a group goes on from a time, or one queue from an offset.

    With `useServerSideResetOffset` the group finds the new offsets at its next pull; else its connected
    members are told to set theirs.
    """
    header = call.header
    assert isinstance(header, ResetOffsetRequestHeader)
    if broker.options.use_server_side_reset_offset:
        return _reset_here(broker, header)
    return _reset_in_clients(broker, header, for_c=call.command.language == LanguageCode.CPP)


def _reset_here(broker: Broker, header: ResetOffsetRequestHeader) -> Reply:
    if broker.role.is_slave:
        raise RequestError(ResponseCode.SYSTEM_ERROR, "Can not reset offset in slave broker")
    group, topic = header.group, header.topic
    config = broker.topics.get(topic)
    if config is None:
        raise RequestError(ResponseCode.TOPIC_NOT_EXIST, f"Topic {topic} does not exist")
    if group not in broker.groups:
        raise RequestError(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"Group {group} does not exist")
    if header.queue_id >= 0:
        targets = {header.queue_id: _reset_target(broker, header)}
    else:
        targets = {
            queue_id: _offset_by_time(broker, topic, queue_id, header.timestamp)
            for queue_id in range(config.read_queue_nums)
        }
    if not targets:
        raise RequestError(ResponseCode.SYSTEM_ERROR, "No queues to reset.")
    for queue_id, offset in targets.items():
        broker.offsets.assign_reset(group, topic, queue_id, offset)
        broker.pops.sent_elsewhere(group, topic, queue_id)
    said = ", ".join(f"queue {queue_id} at {offset}" for queue_id, offset in targets.items())
    log.info("Group %s starts again in topic %s: %s", group, topic, said)
    return Reply(body=_offset_table(broker, topic, targets).encode())


def _reset_target(broker: Broker, header: ResetOffsetRequestHeader) -> int:
    offset = header.offset
    if offset is None or offset == -1:
        return _offset_by_time(broker, header.topic, header.queue_id, header.timestamp)
    least = broker.store.min_offset(header.topic, header.queue_id)
    most = broker.store.max_offset(header.topic, header.queue_id)
    if offset < least or offset > most + 1:
        raise RequestError(
            ResponseCode.SYSTEM_ERROR, f"Target offset {offset} not in consume queue range [{least}-{most}]"
        )
    return offset


def _offset_by_time(broker: Broker, topic: str, queue_id: int, timestamp: int) -> int:
    if timestamp < 0:
        return broker.store.max_offset(topic, queue_id)
    return broker.store.offset_by_time(topic, queue_id, timestamp)


def _reset_in_clients(broker: Broker, header: ResetOffsetRequestHeader, *, for_c: bool) -> Reply:
    """Standard: `Broker2Client.resetOffset`."""
    group, topic, timestamp = header.group, header.topic, header.timestamp
    config = broker.topics.get(topic)
    if config is None:
        raise RequestError(
            ResponseCode.TOPIC_NOT_EXIST,
            f"[reset-offset] reset offset failed, no topic in this broker. topic={topic}",
        )
    targets = {}
    for queue_id in range(config.write_queue_nums):
        consumed = broker.offsets.query(group, topic, queue_id)
        if consumed == -1:
            raise RequestError(ResponseCode.SYSTEM_ERROR, f"THe consumer group <{group}> not exist")
        wished = max(0, _offset_by_time(broker, topic, queue_id, timestamp))
        targets[queue_id] = wished if header.is_force else min(wished, consumed)
    members = broker.clients.consumer_group(group)
    if members is None:
        raise RequestError(
            ResponseCode.CONSUMER_NOT_ONLINE,
            f"Consumer not online, so can not reset offset, Group: {group} Topic: {topic} "
            f"Timestamp: {timestamp}",
        )
    table = _offset_table(broker, topic, targets)
    command = RemotingCommand.request(
        RequestCode.RESET_CONSUMER_CLIENT_OFFSET,
        ResetOffsetRequestHeader(group=group, topic=topic, timestamp=timestamp, is_force=False),
        _for_c(table).encode() if for_c else table.encode(),
        oneway=True,
    )
    for client in members.clients.values():
        client.peer.send_oneway(command)
    return Reply(body=table.encode())


def _offset_table(broker: Broker, topic: str, offsets: dict[int, int]) -> ResetOffsetBody:
    name = broker.options.broker_name
    return ResetOffsetBody(
        offset_table={MessageQueue(topic, name, queue_id): offset for queue_id, offset in offsets.items()}
    )


def _for_c(body: ResetOffsetBody) -> ResetOffsetBodyForC:
    """The same as a list, which is what clients written in C++ read."""
    return ResetOffsetBodyForC(
        offset_table=[
            MessageQueueForC(queue.topic, queue.broker_name, queue.queue_id, offset)
            for queue, offset in body.offset_table.items()
        ]
    )


def _has_left(broker: Broker, group: str, topic: str) -> bool:
    """Whether a connected group no longer subscribes to a topic it has offsets in."""
    clients = broker.clients
    return clients.subscription_count(group) > 0 and clients.subscription(group, topic) is None


def _progress(
    broker: Broker, group: str, topic: str, queues: int, least: int = 0
) -> dict[MessageQueue, OffsetWrapper]:
    store, offsets, name = broker.store, broker.offsets, broker.options.broker_name
    table = {}
    for queue_id in range(queues):
        consumed = max(least, offsets.query(group, topic, queue_id))
        last_time = store.store_time(topic, queue_id, consumed - 1) if consumed > 0 else 0
        table[MessageQueue(topic, name, queue_id)] = OffsetWrapper(
            broker_offset=max(0, store.max_offset(topic, queue_id)),
            consumer_offset=consumed,
            pull_offset=max(consumed, offsets.query_pull(group, topic, queue_id)),
            last_timestamp=max(0, last_time),
        )
    return table
