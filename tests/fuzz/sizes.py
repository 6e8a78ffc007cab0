"""Sizes of all the tables that peers can make the services keep, with the limit of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mqgateway.engine.ha.admission import ADDRESSES_MAX, TICKETS_MAX
from mqgateway.gateway.access import throttling
from mqgateway.gateway.access.allowed import ALLOWED_MAX
from mqgateway.gateway.access.control import AccessControl
from mqgateway.gateway.access.plain.control import PlainControl
from mqgateway.gateway.broker.replication.slave_listener import WAITING_MAX
from mqgateway.gateway.remoting.protocol import RemotingConnection
from tests.fuzz.world import BROKER_PORT, NAMESRV_PORT, World

Size = tuple[str, int, int]
"""Name of a table, number of its entries, and limit."""

BUILT_IN = 32
"""More than the number of topics and groups that exist from the start."""
TIMERS_MAX = 64
"""Timers of both services, besides one for each request in flight."""


def check_sizes(world: World) -> None:
    """Assert that no table is larger than its option allows."""
    grown = [f"{what}: {count}, allowed {limit}" for what, count, limit in sizes(world) if count > limit]
    assert not grown, "\n".join(grown)


def sizes(world: World) -> Iterator[Size]:
    """Yield the sizes of all tables."""
    yield from _broker_tables(world)
    yield from _client_tables(world)
    yield from _store(world)
    yield from _name_server(world)
    yield from _grpc(world)
    yield from _connections(world)
    yield from _grpc_connections(world)
    yield "timers", len(world.net.getDelayedCalls()), TIMERS_MAX


def table_sizes(world: World) -> dict[str, int]:
    """Return the sizes of the tables that outlive a connection, to compare with later ones."""
    parts = (_broker_tables(world), _client_tables(world), _store(world), _name_server(world), _grpc(world))
    return {what: count for part in parts for what, count, _ in part}


def _broker_tables(world: World) -> Iterator[Size]:
    broker, options = world.broker, world.broker_options
    yield "topics", len(broker.tables.topics), options.max_topics + BUILT_IN
    yield "groups", len(broker.tables.groups), options.max_groups + BUILT_IN
    offsets = broker.tables.offsets
    yield "offsets", sum(map(len, offsets._table.values())), options.max_offsets
    yield "pull offsets", sum(map(len, offsets._pulled.values())), options.max_offsets
    yield "held pulls", len(broker.consume.held_pulls), options.max_held_pulls
    for queue, held in broker.consume.held_pulls._places.items():
        yield f"held pulls of {queue}", len(held), options.max_held_pulls_per_queue
    yield "peers with held pulls", len(broker.consume.held_pulls._connections), options.max_held_pulls
    for what, waiting in (("pops", broker.pop.parked), ("notifications", broker.pop.parked_notifications)):
        yield f"held {what}", len(waiting), options.max_pop_polling_size
        yield f"peers with held {what}", len(waiting._connections), options.max_pop_polling_size
        for place, held in waiting._places.items():
            yield f"held {what} of {place}", len(held), options.pop_polling_size
    yield "queues popped in order", len(broker.pop.orders), options.max_ordered_queues
    state = broker.lite
    yield "lite topics with messages that are out", len(state.orders), options.max_ordered_queues
    tables = None if broker.access is None else broker.access.tables
    yield "users", 0 if tables is None else len(tables.users), options.max_users
    yield "users with policies", 0 if tables is None else len(tables.acls), options.max_users
    yield from _access("broker", world.service.dispatcher.hooks)
    admission, listener = world.service.group.replication.admission, world.service.group.replication.listener
    yield "tickets for slaves, and addresses", len(admission), TICKETS_MAX + 3 * ADDRESSES_MAX
    yield "connections before the port for slaves", len(listener), WAITING_MAX
    yield "static topics", len(broker.tables.mappings.table), options.max_topics + BUILT_IN
    yield "pieces of queues", broker.tables.mappings.item_count, options.max_queue_pieces
    yield "brokers that can be asked", len(broker.cluster.broker_directory), world.namesrv_options.max_brokers
    yield (
        "questions that wait for addresses",
        len(broker.cluster.broker_directory._waiting),
        options.max_held_pulls,
    )
    yield "held pops of lite topics", len(state.parked), options.max_pop_polling_size
    yield "subscriptions of lite topics", state.subscriptions.count, options.max_lite_subscription_count
    yield "clients of lite topics", len(state.subscriptions), options.max_lite_subscription_count
    yield "clients told of lite topics", len(state.events), options.max_lite_subscription_count
    yield "connections of these clients", len(state._clients), options.max_lite_subscription_count
    yield "queues with messages that are out", len(broker.pop.log.in_flight), options.max_offsets
    yield "messages of other groups", len(broker.pop.log._foreign), options.max_escapes_under_way
    for name, counts in broker.stats._tables.items():
        yield f"counts of {name}", len(counts), options.max_stats_keys
    yield "counted puts", len(broker.stats._puts), options.max_stats_keys
    yield "counted pulls", len(broker.stats._gets), options.max_stats_keys
    yield "topics with half messages", len(broker.transactions.counts.table), options.max_topics + BUILT_IN
    forbidden = broker.tables.groups.forbidden_table()
    yield "modes of reading", len(broker.tables.request_modes), options.max_request_modes
    yield "offsets of broadcasting clients", len(broker.consume.broadcasts), options.max_offsets
    yield "queues of groups that are far behind", len(broker.consume.slow_consumers), options.max_offsets
    yield "groups that read cold", len(broker.consume.cold_reads._groups), options.max_groups
    yield "thresholds for cold reads", len(broker.consume.cold_reads._thresholds), options.max_groups
    yield "causes of refusals", len(broker.flow_control.totals), 8
    known = world.namesrv_options.max_topics
    yield "topics with looked-up queues", len(broker.cluster.route_cache), known
    yield "forbidden topics", sum(map(len, forbidden.values())), options.max_forbidden


def _access(what: str, hooks: Iterable[object]) -> Iterator[Size]:
    controls = [hook for hook in hooks if isinstance(hook, AccessControl | PlainControl)]
    counts = [len(one.late_refusals) for one in controls]
    yield f"addresses that a {what} refused", sum(counts), throttling.ADDRESSES_MAX
    allowed = [len(one.allowed) for one in controls if isinstance(one, AccessControl)]
    yield f"what a {what} knows to be allowed", sum(allowed), ALLOWED_MAX


def _client_tables(world: World) -> Iterator[Size]:
    broker, options = world.broker, world.broker_options
    clients = broker.clients
    groups = len(clients.consumer_groups) + len(clients.producer_groups)
    yield "groups online", groups, options.max_groups_online
    for name, group in clients.consumer_groups.items():
        yield f"members of {name:.20}", len(group.clients), options.max_clients_per_group
        yield f"subscriptions of {name:.20}", len(group.subscriptions), options.max_subscriptions_per_group
        for subscriptions in group.subscriptions.values():
            yield (
                "characters of a subscription",
                len(subscriptions.sub_string or ""),
                options.max_subscription_text,
            )
            yield "tags of a subscription", len(subscriptions.tags_set), options.max_tags_per_subscription
            yield (
                "tag hashes of a subscription",
                len(subscriptions.code_set),
                options.max_tags_per_subscription,
            )
    for name, members in clients.producer_groups.items():
        yield f"producers of {name:.20}", len(members), options.max_clients_per_group
    ids = sum(map(len, clients._producer_ids.values()))
    yield "producers by id", ids, sum(map(len, clients.producer_groups.values()))
    for peer in {*clients._consumes, *clients._produces}:
        memberships = len(clients._consumes.get(peer, ())) + len(clients._produces.get(peer, ()))
        yield f"groups of client {peer.address}", memberships, options.max_groups_per_client
    yield "filters", len(broker.tables.filters), options.max_filter_data
    yield "groups with refused filters", len(broker.tables.filters._refusals), options.max_groups_online
    for refused in broker.tables.filters._refusals.values():
        yield "refused filters of a group", len(refused), options.max_subscriptions_per_group
    yield "groups with locks", len(broker.clients.locks._groups), options.max_groups_online
    for name, locks in broker.clients.locks._groups.items():
        yield f"locks of {name:.20}", len(locks), options.max_queue_locks_per_group


def _store(world: World) -> Iterator[Size]:
    queues = world.broker.store.queues()
    yield "consume queues", sum(map(len, queues.values())), world.store_options.max_queues
    files = world.broker.store._queues.pool
    yield "open files", len(files._files), world.store_options.max_open_files


def _name_server(world: World) -> Iterator[Size]:
    tables, options = world.namesrv.namesrv.tables, world.namesrv_options
    yield from _access("name server", world.namesrv._access.hooks)
    yield "live brokers", len(tables.live), options.max_brokers
    yield "broker names", len(tables.brokers), options.max_brokers
    yield "clusters", len(tables.clusters), options.max_brokers
    addresses = sum(len(group.broker_addrs) for group in tables.brokers.values())
    yield "addresses of brokers", addresses, options.max_brokers
    yield "routes", len(tables.topic_queues), options.max_topics
    pairs = sum(map(len, tables.topic_queues.values()))
    yield "pairs of topic and broker", pairs, options.max_queue_data
    yield "mapped queues", tables._mapped, options.max_queue_data
    yield "kept route answers", len(tables.encoded), 2 * len(tables.topic_queues)
    entries = sum(map(len, world.namesrv.namesrv.kv._table.values()))
    yield "KV entries", entries, options.max_kv_entries
    kept = world.namesrv.namesrv.kv._table
    characters = sum(len(text) for values in kept.values() for pair in values.items() for text in pair)
    yield "KV characters", characters, options.max_kv_size


def _grpc(world: World) -> Iterator[Size]:
    """Yield zeros before the first gRPC client: its connection creates the service."""
    options, messaging = world.broker_options, world.grpc._messaging
    sessions, renewed, transactions = (
        (0, 0, 0)
        if messaging is None
        else (len(messaging.sessions), len(messaging.acknowledger.renewals), len(messaging.transactions))
    )
    yield "clients of gRPC", sessions, options.max_grpc_clients
    yield "messages that are renewed", renewed, options.max_renewed_messages
    yield "transactions that are remembered", transactions, options.max_remembered_transactions


def _connections(world: World) -> Iterator[Size]:
    options = world.remoting_options
    for port, server in ((BROKER_PORT, world.service.server), (NAMESRV_PORT, world.namesrv._server)):
        yield f"connections on {port}", server.connection_count, options.max_connections
    for port in (BROKER_PORT, NAMESRV_PORT):
        for connection in world.connections(port):
            yield from _connection(connection, world)


def _connection(connection: RemotingConnection, world: World) -> Iterator[Size]:
    options, of = world.remoting_options, f"of {connection.address}"
    yield f"requests held {of}", connection._exchange.holding, options.max_requests_in_flight
    yield f"replies owed {of}", len(connection._held), options.max_requests_in_flight
    yield f"requests asked {of}", connection._exchange.waiting, options.server_async_semaphore_value
    yield f"unread bytes {of}", connection._cutter.buffered, options.frame_max_length
    yield f"unsent bytes {of}", connection._unsent, options.max_unsent_bytes
    yield f"who is told of the end {of}", len(connection._lost_callbacks), 8


def _grpc_connections(world: World) -> Iterator[Size]:
    options = world.broker_options
    for connection in world.grpc._server._connections:
        calls, of = connection._conversation, f"of {connection.address}"
        if calls is not None:
            yield f"gRPC calls {of}", calls.open_calls, options.grpc_max_calls
            yield f"streams {of}", calls.http2.open_streams, options.grpc_max_calls
            yield f"bytes kept {of}", calls.kept, options.grpc_max_inbound_message_size
        yield f"unsent bytes {of}", connection._unsent, world.remoting_options.max_unsent_bytes
