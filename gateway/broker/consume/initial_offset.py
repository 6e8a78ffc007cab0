"""Initial offsets of consumers without a committed offset, and the offsets of broadcasting clients.

Shared by the read requests. RocketMQ: `DefaultMessageStore.checkInMemByConsumeOffset`,
`PullMessageProcessor.queryBroadcastPullInitOffset` and `updateBroadcastPulledOffset`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from mqgateway.engine.disk import total_memory
from mqgateway.engine.tables.broadcasts import UNKNOWN, ClientKey, broadcast_group
from mqgateway.gateway.broker.clients.members import BROADCASTING, CONSUME_PASSIVELY, GroupClient
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.consume.pull_request import PullOutcomeStatus, PullRequest

if TYPE_CHECKING:
    from mqgateway.gateway.broker.broker import Broker


def begins_fresh(broker: Broker, topic: str, queue_id: int) -> bool:
    """Return True if the queue still has offset 0, so near the log's end that it is probably in memory."""
    units = broker.store.consume_queue_units(topic, queue_id, 0, 1)
    if not units:
        return False
    fresh = total_memory() * broker.store_options.access_message_in_memory_max_ratio // 100
    return broker.store.max_physical_offset - units[0][0] <= fresh


def broadcast_reader(broker: Broker, connection: ClientConnection, request: PullRequest) -> ClientKey | None:
    """Return the client that pulls if it is a broadcasting client whose offsets are recorded, else None."""
    if not broker.options.enable_broadcast_offset_store:
        return None
    group = request.group
    if request.is_broadcast:
        client_id = request.proxied_client
    else:
        members = broker.clients.consumer_groups.get(group)
        if (
            members is None
            or members.message_model != BROADCASTING
            or members.consume_type != CONSUME_PASSIVELY
        ):
            return None
        clients: Mapping[Any, GroupClient] = members.clients
        client = clients.get(connection)
        client_id = None if client is None else client.client_id
    if client_id is None or len(client_id) > broker.options.max_name_length:
        return None
    return request.topic, group, client_id


def broadcast_beginning(broker: Broker, reader: ClientKey, request: PullRequest) -> int:
    """Return the offset that replaces the one a broadcasting client requested; below 0 for none."""
    return broker.consume.broadcasts.first_offset(
        reader,
        request.queue_id,
        request.offset,
        request.is_broadcast,
        partial(_common_beginning, broker, reader[0], reader[1], request.queue_id),
    )


def note_broadcast(
    broker: Broker, reader: ClientKey, request: PullRequest, status: PullOutcomeStatus, next_offset: int
) -> None:
    """Record the offset of a broadcasting client after its pull has been read."""
    offset = next_offset if status is PullOutcomeStatus.OFFSET_MOVED else request.offset
    broker.consume.broadcasts.pulled(reader, request.queue_id, offset, request.is_broadcast)


def _common_beginning(broker: Broker, topic: str, group: str, queue_id: int) -> int:
    """Return the last offset of the group's slowest client.

    Without one, return 0 if that is probably in memory, else the end of the queue.
    """
    offset = broker.tables.offsets.query(broadcast_group(group), topic, queue_id)
    if offset > UNKNOWN:
        return offset
    return 0 if begins_fresh(broker, topic, queue_id) else broker.store.readable_end(topic, queue_id)
