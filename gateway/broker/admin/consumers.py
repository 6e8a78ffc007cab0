"""Administration of connected clients: members of groups, and their state.

RocketMQ: `AdminBrokerProcessor`, `Broker2Client`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from twisted.internet.defer import Deferred, DeferredList
from twisted.python.failure import Failure

from mqgateway.engine.message import parse_offset_message_id
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.clients.members import ConsumerGroup, GroupClient
from mqgateway.gateway.broker.clients.outgoing import ClientAnswer, DirectConsumption, NotAnswered
from mqgateway.gateway.broker.cold import reading
from mqgateway.gateway.broker.connection import MayUse
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.records import record_at
from mqgateway.gateway.codec.bodies import MessageQueue, SubscriptionData
from mqgateway.gateway.runtime.outcomes import then


def consumer_group(broker: Broker, group: str) -> ConsumerGroup:
    """Return a connected group with its subscriptions. Raises `OperationError` if it has no members."""
    found = broker.clients.consumer_group(group)
    if found is None:
        raise OperationError(Reason.CONSUMER_NOT_ONLINE, f"the consumer group[{group}] not online")
    return found


def producers(broker: Broker, group: str) -> list[GroupClient]:
    """Return the members of a connected producer group. Raises `OperationError` if it has none."""
    clients = broker.clients.producer_groups.get(group)
    if clients is None:
        raise OperationError(Reason.SYSTEM_ERROR, f"the producer group[{group}] not exist")
    return list(clients.values())


def all_producers(broker: Broker) -> dict[str, list[GroupClient]]:
    """Return every producer group with its clients."""
    return {group: list(clients.values()) for group, clients in broker.clients.producer_groups.items()}


def topics_of_consumer(broker: Broker, group: str) -> set[str]:
    """Return the topics in which a group has offsets."""
    return set(broker.tables.offsets.topics_of(group))


def subscription_of_consumer(broker: Broker, group: str, topic: str) -> SubscriptionData | None:
    """Return a connected group's subscription to a topic."""
    return broker.clients.subscription(group, topic)


NOTHING_ELSE: Mapping[str, str] = {}


def running_info(
    broker: Broker,
    group: str,
    client_id: str,
    *,
    jstack: bool = False,
    fields: Mapping[str, str] = NOTHING_ELSE,
) -> Deferred[ClientAnswer]:
    """Request a consumer's running info from it.

    `fields` are the other fields of the caller's request, passed on to the consumer. Raises `OperationError`.
    """

    def ask(client: GroupClient) -> Deferred[ClientAnswer]:
        return client.outgoing.running_info(group, client_id, jstack, fields)

    return _ask(broker, group, client_id, ask)


def consume_directly(
    broker: Broker,
    group: str,
    client_id: str,
    topic: str | None,
    message_id: str,
    fields: Mapping[str, str] = NOTHING_ELSE,
    *,
    may_use: MayUse | None,
) -> ClientAnswer | Deferred[ClientAnswer]:
    """Have a consumer process one stored message; return its answer.

    `message_id` is the broker's own. `fields` are the other fields of the caller's request, passed on to the
    consumer. Raises `OperationError`.
    """
    known = broker.tables.topics.get(topic) if topic else None
    config = broker.tables.groups.find(group)

    def ask(record: bytes) -> Deferred[ClientAnswer]:
        message = DirectConsumption(
            group=group,
            client_id=client_id,
            message_id=message_id,
            record=record,
            broker_name=broker.options.broker_name,
            topic=topic,
            topic_sys_flag=None if known is None else known.topic_sys_flag,
            group_sys_flag=None if config is None else config.group_sys_flag,
            fields=fields,
        )
        return _ask(broker, group, client_id, lambda one: one.outgoing.consume(message))

    def attempt(rounds: int) -> bytes:
        return _record(broker, message_id, may_use, may_wait=not rounds)

    return then(reading(broker, attempt), ask)


def consumer_status(
    broker: Broker, group: str, topic: str, client_id: str | None = None
) -> Deferred[dict[str, dict[MessageQueue, int]]]:
    """Return the offsets of a topic as each member of a group reports them, or one member does, by client id.

    Members that do not answer are left out. RocketMQ: `Broker2Client.getConsumeStatus`. Raises
    `OperationError`.
    """
    members = broker.clients.consumer_group(group)
    if members is None:
        raise OperationError(Reason.SYSTEM_ERROR, f"No Any Consumer online in the consumer group: [{group}]")
    clients = [one for one in members.clients.values() if not client_id or one.client_id == client_id]
    asked = [client.outgoing.offsets(group, topic) for client in clients]

    def answered(outcomes: list[tuple[bool, Any]]) -> dict[str, dict[MessageQueue, int]]:
        return {
            client.client_id: offsets
            for client, (is_there, offsets) in zip(clients, outcomes, strict=True)
            if is_there
        }

    return DeferredList(asked, consumeErrors=True).addCallback(answered)


def _record(broker: Broker, message_id: str, may_use: MayUse | None, *, may_wait: bool) -> bytes:
    try:
        offset = parse_offset_message_id(message_id)[2]
    except ValueError as error:
        raise OperationError(Reason.SYSTEM_ERROR, f"msgId[{message_id}]: {error}") from None
    record = record_at(broker, offset, may_use, may_wait=may_wait)
    if record is None:
        raise OperationError(Reason.SYSTEM_ERROR, f"can not find message by the offset, {offset}")
    return record


def _ask(
    broker: Broker, group: str, client_id: str, ask: Callable[[GroupClient], Deferred[ClientAnswer]]
) -> Deferred[ClientAnswer]:
    """Send a request to one member of a group. RocketMQ: `AdminBrokerProcessor.callConsumer`."""
    client = broker.clients.consumer(group, client_id)
    if client is None:
        raise OperationError(Reason.SYSTEM_ERROR, f"The Consumer <{group}> <{client_id}> not online")

    def failed(failure: Failure) -> ClientAnswer:
        error = failure.value
        if isinstance(error, NotAnswered) and error.is_late:
            message = f"consumer <{group}> <{client_id}> Timeout: {error}"
            raise OperationError(Reason.CONSUME_MSG_TIMEOUT, message)
        raise OperationError(
            Reason.SYSTEM_ERROR, f"invoke consumer <{group}> <{client_id}> Exception: {error}"
        )

    return ask(client).addErrback(failed)
