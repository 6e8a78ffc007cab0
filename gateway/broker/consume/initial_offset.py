"""Where consumers begin that have no offset of their own, and what is watched of broadcasting ones.

Shared by the requests that read. Standard: `DefaultMessageStore.checkInMemByConsumeOffset`,
`PullMessageProcessor.queryBroadcastPullInitOffset` and `updateBroadcastPulledOffset`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mqgateway.engine.disk import total_memory
from mqgateway.engine.tables.broadcasts import UNKNOWN, ClientKey, broadcast_group
from mqgateway.gateway.broker.clients.table import BROADCASTING, CONSUME_PASSIVELY, Client
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.consume.pull_request import PullRequest, PullStatus

if TYPE_CHECKING:
    from mqgateway.gateway.broker.broker import Broker

PROXY_FOR_BROADCAST: Final = 1
"""Who sends a pull: a proxy for one of its broadcasting clients. Standard: `RequestSource`."""


def begins_fresh(broker: Broker, topic: str, queue_id: int) -> bool:
    """Whether offset 0 is there, and so near the log's end that it is taken to be in memory."""
    units = broker.store.consume_queue_units(topic, queue_id, 0, 1)
    if not units:
        return False
    fresh = total_memory() * broker.store_options.access_message_in_memory_max_ratio // 100
    return broker.store.max_physical_offset - units[0][0] <= fresh


def broadcast_reader(broker: Broker, connection: ClientConnection, request: PullRequest) -> ClientKey | None:
    """Whose pull it is, if it comes from a broadcasting client whose offsets are watched."""
    if not broker.options.enable_broadcast_offset_store:
        return None
    group = request.consumer_group
    if request.request_source == PROXY_FOR_BROADCAST:
        client_id = request.proxy_froward_client_id
    else:
        members = broker.clients.consumer_groups.get(group)
        if (
            members is None
            or members.message_model != BROADCASTING
            or members.consume_type != CONSUME_PASSIVELY
        ):
            return None
        clients: Mapping[Any, Client] = members.clients
        client = clients.get(connection)
        client_id = None if client is None else client.client_id
    if client_id is None or len(client_id) > broker.options.max_name_length:
        return None
    return request.topic, group, client_id


def broadcast_beginning(broker: Broker, reader: ClientKey, request: PullRequest) -> int:
    """The offset a broadcasting client is sent to instead of what it asked for; below 0 for none."""
    return broker.consume.broadcasts.first_offset(
        reader,
        request.queue_id,
        request.queue_offset,
        request.request_source == PROXY_FOR_BROADCAST,
        partial(_common_beginning, broker, reader[0], reader[1], request.queue_id),
    )


def note_broadcast(
    broker: Broker, reader: ClientKey, request: PullRequest, status: PullStatus, next_offset: int
) -> None:
    """Note how far a broadcasting client is, after its pull was answered."""
    offset = next_offset if status is PullStatus.OFFSET_MOVED else request.queue_offset
    from_proxy = request.request_source == PROXY_FOR_BROADCAST
    broker.consume.broadcasts.pulled(reader, request.queue_id, offset, from_proxy)


def _common_beginning(broker: Broker, topic: str, group: str, queue_id: int) -> int:
    """Where the slowest of the group's clients was last, or else a place that is cheap to read from."""
    offset = broker.tables.offsets.query(broadcast_group(group), topic, queue_id)
    if offset > UNKNOWN:
        return offset
    return 0 if begins_fresh(broker, topic, queue_id) else broker.store.max_offset(topic, queue_id)
