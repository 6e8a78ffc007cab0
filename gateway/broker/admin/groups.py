"""Administration of consumer groups.

RocketMQ: `AdminBrokerProcessor`, `SubscriptionGroupManager`.
"""

from collections.abc import Sequence
from dataclasses import replace

from mqgateway.engine.message import RETRY_PREFIX
from mqgateway.engine.names import validate_group, validate_topic
from mqgateway.engine.steps import Steps, in_parts, run
from mqgateway.engine.tables.attributes import AttributeRefused
from mqgateway.engine.tables.groups import FORBIDDEN_READ, SubscriptionGroupConfig
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.errors import OperationError, Reason


class BadAttribute(OperationError):
    """A change of a group's attributes that is not allowed."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.SYSTEM_ERROR, message)


def update_group(broker: Broker, config: SubscriptionGroupConfig) -> None:
    """Create or change a group; keys of its attributes are changes, `+name` or `-name`.

    Raises `OperationError`.
    """
    run(update_groups(broker, [config]))


def update_groups(broker: Broker, configs: Sequence[SubscriptionGroupConfig]) -> Steps[None]:
    """Create or change groups, all of them or none. Raises `OperationError`."""
    groups, most = broker.tables.groups, broker.options.max_groups
    for part in in_parts(configs):
        for config in part:
            problem = validate_group(config.group_name)
            if problem is None and config.retry_queue_nums > broker.options.max_queues_per_topic:
                problem = f"a retry topic may not have more than {broker.options.max_queues_per_topic} queues"
            if problem is not None:
                raise OperationError(Reason.INVALID_PARAMETER, problem)
        yield
    new = {config.group_name for config in configs if config.group_name not in groups}
    if new and len(groups) + len(new) > most:
        raise OperationError(
            Reason.SYSTEM_ERROR, f"there are {len(groups)} groups, maxGroups allows no more than {most}"
        )
    try:
        yield from groups.update_in_steps(configs)
    except AttributeRefused as refusal:
        raise BadAttribute(str(refusal)) from None
    for part in in_parts(configs):
        for config in part:
            _widen_retry_topic(broker, config)
        yield


def _widen_retry_topic(broker: Broker, group: SubscriptionGroupConfig) -> None:
    """Give the group's retry topic, if it exists, as many queues as retries are sent to.

    The number never shrinks: surplus queues may hold messages.
    """
    topics, queues = broker.tables.topics, group.retry_queue_nums
    topic = topics.get(RETRY_PREFIX + group.group_name)
    if topic is None or min(topic.read_queue_nums, topic.write_queue_nums) >= queues:
        return
    topics.put(
        replace(
            topic,
            read_queue_nums=max(queues, topic.read_queue_nums),
            write_queue_nums=max(queues, topic.write_queue_nums),
        )
    )


def delete_group(broker: Broker, group: str, *, with_offsets: bool = False) -> None:
    """Delete a group, with its offsets if requested; no-op for an unknown group."""
    is_lite = broker.lite.rules.bound_topic(group) is not None
    broker.tables.groups.delete(group)
    broker.tables.request_modes.remove_group(group)
    broker.pop.forget_group(group)
    if with_offsets or is_lite:
        broker.tables.offsets.remove_group(group)
    if broker.options.auto_delete_unused_stats:
        broker.stats.group_deleted(group)


def group_config(broker: Broker, group: str) -> SubscriptionGroupConfig:
    """Return a group; it is created if groups may be created on use.

    Raises `OperationError` if it does not exist.
    """
    config = broker.tables.groups.find(group)
    if config is None:
        raise OperationError(Reason.SUBSCRIPTION_GROUP_NOT_EXIST, "No group in this broker")
    return config


def set_readable(broker: Broker, group: str, topic: str, readable: bool) -> None:
    """Allow or forbid a group to read a topic. Raises `OperationError`."""
    problem = validate_group(group) or validate_topic(topic)
    if problem is not None:
        raise OperationError(Reason.INVALID_PARAMETER, problem)
    if not broker.tables.groups.forbid(group, topic, FORBIDDEN_READ, not readable):
        most = broker.options.max_forbidden
        raise OperationError(Reason.SYSTEM_ERROR, f"{most} topics are forbidden, no more may be")


def is_readable(broker: Broker, group: str, topic: str) -> bool:
    """Return True if a group may read a topic."""
    return not broker.tables.groups.is_read_forbidden(group, topic)
