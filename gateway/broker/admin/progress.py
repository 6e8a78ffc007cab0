"""Progress of consumer groups: queries and resets by administration.

An offset is reset in this broker, or in the clients. RocketMQ: `AdminBrokerProcessor`,
`Broker2Client.resetOffset`.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from mqgateway.engine.message import format_host
from mqgateway.engine.steps import Steps, in_parts
from mqgateway.engine.store.older_messages import NothingYet
from mqgateway.gateway.broker.admin.coordinated_groups import shared_progress
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.clients.outgoing import OffsetReset
from mqgateway.gateway.broker.cold import busy
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.codec.bodies import ConsumeStats, ConsumeStatsList, MessageQueue, OffsetWrapper

log = logging.getLogger(__name__)

LONG_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Restart:
    """Reset of a group's offsets in a topic: to a time, or in one queue to an offset.

    `timestamp` in ms, below 0 for the end; `queue_id` below 0 for all queues. `is_force` allows offsets
    beyond those the group has consumed; `as_list` is for C++ clients.
    """

    group: str
    topic: str
    timestamp: int
    queue_id: int = -1
    offset: int | None = None
    is_force: bool = False
    as_list: bool = False


def consume_stats(broker: Broker, group: str, topic: str = "", topics: Collection[str] = ()) -> ConsumeStats:
    """Return the progress of a group in the topics named, in the one topic, or in all it consumes.

    Of static topics the broker's own queues are shown, from which tools compute those of the topic; so the
    offset is -1 where nothing was committed.
    """
    named = list(topics)
    if not named:
        consumed = [topic] if topic else sorted(broker.tables.offsets.topics_of(group))
        named = [one for one in consumed if not _has_left(broker, group, one)]
    stats = ConsumeStats(offset_table={}, consume_tps=0.0)
    for name in named:
        config = broker.tables.topics.get(name)
        if config is not None:
            least = -1 if name in broker.tables.mappings.table else 0
            stats.offset_table.update(_progress(broker, group, name, config.read_queue_nums, least))
            stats.consume_tps += broker.stats.get_tps(group, name)
    stats.offset_table.update(
        (queue, one)
        for queue, one in shared_progress(broker, group).items()
        if not (topics or topic) or queue.topic in named
    )
    return stats


def all_consume_stats(broker: Broker, *, only_ordered: bool = False) -> ConsumeStatsList:
    """Return the progress of every group in every topic it consumes, or in every ordered one."""
    stats = ConsumeStatsList(
        consume_stats_list=[], broker_addr=format_host(broker.store_host), total_diff=0, total_inflight_diff=0
    )
    for group in broker.tables.groups.names():
        of_group = []
        for topic in sorted(broker.tables.offsets.topics_of(group)):
            config = broker.tables.topics.get(topic)
            if config is None or (only_ordered and not config.order) or _has_left(broker, group, topic):
                continue
            table = _progress(broker, group, topic, config.write_queue_nums)
            of_group.append(ConsumeStats(offset_table=table, consume_tps=broker.stats.get_tps(group, topic)))
            stats.total_diff += sum(one.broker_offset - one.consumer_offset for one in table.values())
            stats.total_inflight_diff += sum(one.pull_offset - one.consumer_offset for one in table.values())
        if not only_ordered and (shared := shared_progress(broker, group)):
            of_group.append(ConsumeStats(offset_table=shared, consume_tps=0.0))
            stats.total_diff += sum(one.broker_offset - one.consumer_offset for one in shared.values())
        stats.consume_stats_list.append({group: of_group})
    return stats


def group_lags(broker: Broker, groups: Sequence[str]) -> Steps[dict[str, int]]:
    """Return the lag of each of these groups in messages, as the sum over what `consume_stats` returns."""
    topics, lags = broker.tables.offsets.group_topics(), {}
    for part in in_parts(groups):
        for group in part:
            lag = sum(_lag(broker, group, topic) for topic in topics.get(group, ()))
            shared = shared_progress(broker, group).values()
            lags[group] = lag + sum(one.broker_offset - one.consumer_offset for one in shared)
        yield
    return lags


def _lag(broker: Broker, group: str, topic: str) -> int:
    """Return the number of messages of a topic after a group's offsets; 0 where it consumes no longer."""
    config = broker.tables.topics.get(topic)
    if config is None or _has_left(broker, group, topic):
        return 0
    store, query = broker.store, broker.tables.offsets.query
    return sum(
        max(0, store.readable_end(topic, queue_id) - max(0, query(group, topic, queue_id)))
        for queue_id in range(config.read_queue_nums)
    )


def correction_offsets(
    broker: Broker, topic: str, compared: str, without: Collection[str] = ()
) -> dict[int, int]:
    """Return for each queue of a topic the least offset of any group that is not below the queue's start.

    Groups in `without` are left out (RocketMQ deletes their offsets). The offset is Java's largest long,
    nothing to correct, where the compared group lags behind it.
    """
    least: dict[int, int] = {}
    for group in broker.tables.offsets.groups_of(topic):
        if group not in without:
            for queue_id, offset in broker.tables.offsets.queues_of(group, topic).items():
                if offset >= broker.store.min_offset(topic, queue_id):
                    least[queue_id] = min(offset, least.get(queue_id, offset))
    for queue_id, offset in broker.tables.offsets.queues_of(compared, topic).items():
        if least.get(queue_id, 0) > offset:
            least[queue_id] = LONG_MAX
    return least


def reset_offset(broker: Broker, restart: Restart) -> dict[MessageQueue, int]:
    """Reset the offsets of a group; return the new offsets. Raises `OperationError`.

    With `useServerSideResetOffset` they apply from the group's next pull; otherwise its connected members are
    notified to set theirs.
    """
    if broker.options.use_server_side_reset_offset:
        return _reset_here(broker, restart)
    return _reset_in_clients(broker, restart)


def _reset_here(broker: Broker, restart: Restart) -> dict[MessageQueue, int]:
    if broker.role.is_slave:
        raise OperationError(Reason.SYSTEM_ERROR, "Can not reset offset in slave broker")
    targets = restart_targets(broker, restart)
    set_offsets(broker, restart.group, restart.topic, targets)
    return _by_queue(broker, restart.topic, targets)


def restart_targets(broker: Broker, restart: Restart) -> dict[int, int]:
    """Return the offsets that a reset would set, by queue. Nothing is changed. Raises `OperationError`."""
    group, topic = restart.group, restart.topic
    config = broker.tables.topics.get(topic)
    if config is None:
        raise OperationError(Reason.TOPIC_NOT_EXIST, f"Topic {topic} does not exist")
    if group not in broker.tables.groups:
        raise OperationError(Reason.SUBSCRIPTION_GROUP_NOT_EXIST, f"Group {group} does not exist")
    if restart.queue_id >= 0:
        targets = {restart.queue_id: _target(broker, restart)}
    else:
        targets = {
            queue_id: _offset_by_time(broker, topic, queue_id, restart.timestamp)
            for queue_id in range(config.read_queue_nums)
        }
    if not targets:
        raise OperationError(Reason.SYSTEM_ERROR, "No queues to reset.")
    return targets


def set_offsets(broker: Broker, group: str, topic: str, targets: Mapping[int, int]) -> None:
    """Reset a group to these offsets, by queue; they apply from its next pull, even if it is offline now."""
    for queue_id, offset in targets.items():
        broker.tables.offsets.assign_reset(group, topic, queue_id, offset)
        broker.pop.sent_elsewhere(group, topic, queue_id)
    shown = ", ".join(f"queue {queue_id} at {offset}" for queue_id, offset in targets.items())
    log.info("Group %s starts again in topic %s: %s", group, topic, shown)


def _target(broker: Broker, restart: Restart) -> int:
    offset = restart.offset
    if offset is None or offset == -1:
        return _offset_by_time(broker, restart.topic, restart.queue_id, restart.timestamp)
    least = broker.store.min_offset(restart.topic, restart.queue_id)
    most = broker.store.max_offset(restart.topic, restart.queue_id)
    if offset < least or offset > most + 1:
        raise OperationError(
            Reason.SYSTEM_ERROR, f"Target offset {offset} not in consume queue range [{least}-{most}]"
        )
    return offset


def _offset_by_time(broker: Broker, topic: str, queue_id: int, timestamp: int) -> int:
    if timestamp < 0:
        return broker.store.readable_end(topic, queue_id)
    try:
        return broker.store.offset_by_time(topic, queue_id, timestamp)
    except NothingYet as missing:
        raise busy(missing) from None


def _reset_in_clients(broker: Broker, restart: Restart) -> dict[MessageQueue, int]:
    """Reset the offsets in the clients. RocketMQ: `Broker2Client.resetOffset`."""
    group, topic, timestamp = restart.group, restart.topic, restart.timestamp
    config = broker.tables.topics.get(topic)
    if config is None:
        raise OperationError(
            Reason.TOPIC_NOT_EXIST,
            f"[reset-offset] reset offset failed, no topic in this broker. topic={topic}",
        )
    targets = {}
    for queue_id in range(config.write_queue_nums):
        consumed = broker.tables.offsets.query(group, topic, queue_id)
        if consumed == -1:
            raise OperationError(Reason.SYSTEM_ERROR, f"THe consumer group <{group}> not exist")
        wished = max(0, _offset_by_time(broker, topic, queue_id, timestamp))
        targets[queue_id] = wished if restart.is_force else min(wished, consumed)
    members = broker.clients.consumer_group(group)
    if members is None:
        raise OperationError(
            Reason.CONSUMER_NOT_ONLINE,
            f"Consumer not online, so can not reset offset, Group: {group} Topic: {topic} "
            f"Timestamp: {timestamp}",
        )
    offsets = _by_queue(broker, topic, targets)
    for client in members.clients.values():
        client.outgoing.reset_offsets(OffsetReset(group, topic, timestamp, offsets, restart.as_list))
    return offsets


def _by_queue(broker: Broker, topic: str, offsets: dict[int, int]) -> dict[MessageQueue, int]:
    name = broker.options.broker_name
    return {MessageQueue(topic, name, queue_id): offset for queue_id, offset in offsets.items()}


def _has_left(broker: Broker, group: str, topic: str) -> bool:
    """Return True if a connected group no longer subscribes to a topic in which it has offsets."""
    clients = broker.clients
    return clients.subscription_count(group) > 0 and clients.subscription(group, topic) is None


def _progress(
    broker: Broker, group: str, topic: str, queues: int, least: int = 0
) -> dict[MessageQueue, OffsetWrapper]:
    store, offsets, name = broker.store, broker.tables.offsets, broker.options.broker_name
    table = {}
    for queue_id in range(queues):
        consumed = max(least, offsets.query(group, topic, queue_id))
        last_time = store.store_time(topic, queue_id, consumed - 1) if consumed > 0 else 0
        table[MessageQueue(topic, name, queue_id)] = OffsetWrapper(
            broker_offset=max(0, store.readable_end(topic, queue_id)),
            consumer_offset=consumed,
            pull_offset=max(consumed, offsets.query_pull(group, topic, queue_id)),
            last_timestamp=max(0, last_time),
        )
    return table
