"""Connected clients: producers and consumers by group, subscriptions of consumers, pending notifications.

The tables do no IO. Heartbeats, unregistrations, lost channels and time are inputs; notifications to send and
connections to close are outputs. Operations on them are in `heartbeats.py`. Every pull calls `subscription`
and `consumer_group`, which are plain dict look-ups. RocketMQ: `ConsumerManager`, `ConsumerGroupInfo`,
`ProducerManager`.
"""

import logging
from collections.abc import Callable

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.broker.clients.locks import QueueLocks
from mqgateway.gateway.broker.clients.members import BROADCASTING, ConsumerGroup, GroupClient
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.codec.bodies.heartbeat import ConsumerData, SubscriptionData

log = logging.getLogger(__name__)

WARNING_INTERVAL_MILLIS = 60_000
"""Minimum interval of warnings about a group whose members disagree repeatedly."""


class TooManyClients(Exception):
    """A limit of the tables is reached; the text names it."""


class ClientTable:
    """All clients of a broker.

    `on_notice` is called when `take_notices` has something to return; the caller sends soon, and changes
    until then are notified once. `on_group_gone` is called with the name of a consumer group whose last
    member has left, `on_disagreement` with that of one whose members begin to subscribe differently. `locks`
    are the queue locks of ordered consumers.
    """

    def __init__(
        self,
        options: BrokerOptions,
        clock: Clock,
        *,
        on_group_gone: Callable[[str], None] | None = None,
        on_disagreement: Callable[[str], None] | None = None,
        on_notice: Callable[[], None] | None = None,
    ) -> None:
        self._options = options
        self._clock = clock
        self._on_group_gone = on_group_gone
        self._on_disagreement = on_disagreement
        self._on_notice = on_notice
        self.locks = QueueLocks(options)
        self.inconsistent_groups: set[str] = set()
        self.consumer_groups: dict[str, ConsumerGroup] = {}
        self.producer_groups: dict[str, dict[ClientConnection, GroupClient]] = {}
        self._producer_ids: dict[str, dict[GroupClient, None]] = {}
        self._changed: dict[str, None] = {}
        self._consumes: dict[ClientConnection, set[str]] = {}
        self._produces: dict[ClientConnection, set[str]] = {}

    # Queries

    def consumer_group(self, group: str) -> ConsumerGroup | None:
        """Return the group if it has a connected member."""
        return self.consumer_groups.get(group)

    def subscription(self, group: str, topic: str) -> SubscriptionData | None:
        """Return a connected group's subscription to a topic."""
        known = self.consumer_groups.get(group)
        return None if known is None else known.subscriptions.get(topic)

    def subscription_count(self, group: str) -> int:
        """Return the number of topics a connected group subscribes to."""
        known = self.consumer_groups.get(group)
        return 0 if known is None else len(known.subscriptions)

    def consumer_ids(self, group: str) -> list[str]:
        """Return the client ids of the members, one for each channel."""
        known = self.consumer_groups.get(group)
        return [] if known is None else [client.client_id for client in known.clients.values()]

    def consumer(self, group: str, client_id: str) -> GroupClient | None:
        """Return a member of a consumer group by its client id."""
        known = self.consumer_groups.get(group)
        return None if known is None else known.client(client_id)

    def producer(self, client_id: str) -> GroupClient | None:
        """Return the latest producer with this client id, in any group. RocketMQ: `findChannel`."""
        return next(reversed(self._producer_ids.get(client_id, {})), None)

    def groups_subscribed_to(self, topic: str) -> set[str]:
        """Return the connected groups that subscribe to a topic."""
        return {name for name, group in self.consumer_groups.items() if topic in group.subscriptions}

    # Changes

    def register_consumer(
        self,
        data: ConsumerData,
        client: GroupClient,
        *,
        fingerprint: int = 0,
        subscriptions_left_out: bool = False,
        notify: bool = True,
    ) -> bool:
        """Register a client's heartbeat for one consumer group; return True if its last one is outdated.

        `notify` is True if the group is to be notified of changes. With `subscriptions_left_out` (heartbeat
        V2) the known ones stay; if there are none, return True, so that the client sends them. Raises
        `TooManyClients`. RocketMQ: `ConsumerManager.registerConsumer`, `registerConsumerWithoutSub`.
        """
        group = self.consumer_groups.get(data.group_name)
        if group is None:
            self._check_new_group()
            group = ConsumerGroup(data.group_name)
        client, changed = self._seen(group.clients, self._consumes, group.name, client)
        self.consumer_groups[group.name] = group
        group.consume_type = data.consume_type or ""
        group.message_model = data.message_model or ""
        group.consume_from_where = data.consume_from_where or ""
        group.notify = notify
        outdated = group.fingerprint is not None and group.fingerprint != fingerprint
        group.fingerprint = fingerprint
        if subscriptions_left_out:
            outdated = outdated or not group.subscriptions
        else:
            changed = group.update_subscriptions(data.subscription_data_set) or changed
            subscribed = frozenset(
                (one.topic, one.expression_type or "", one.sub_string or "")
                for one in data.subscription_data_set
            )
            if subscribed != client.subscribed:
                group.note_subscription(client, subscribed)
                self._watch_agreement(group, client)
        if changed:
            log.info("Consumer group %s: %s, %d members", group.name, client, len(group.clients))
            self._note_change(group)
        return outdated

    def register_producer(self, group: str, client: GroupClient) -> None:
        """Register a client's heartbeat for one producer group. Raises `TooManyClients`.

        RocketMQ: `ProducerManager.registerProducer`.
        """
        clients = self.producer_groups.get(group)
        if clients is None:
            self._check_new_group()
            clients = {}
        before = clients.get(client.peer)
        now, _ = self._seen(clients, self._produces, group, client)
        self.producer_groups[group] = clients
        if now is not before:
            self._forget_producer_id(before)
            self._producer_ids.setdefault(now.client_id, {})[now] = None

    def unregister_consumer(self, group: str, peer: ClientConnection) -> bool:
        """Remove a client from a consumer group; return False if it was not a member."""
        known = self.consumer_groups.get(group)
        client = None if known is None else known.clients.pop(peer, None)
        if known is None or client is None:
            return False
        _forget(self._consumes, peer, group)
        known.note_subscription(client, None)
        self._watch_agreement(known, client)
        if not known.clients:
            del self.consumer_groups[group]
            self._changed.pop(group, None)
            if self._on_group_gone is not None:
                self._on_group_gone(group)
        else:
            self._note_change(known)
        return True

    def unregister_producer(self, group: str, peer: ClientConnection) -> bool:
        """Remove a client from a producer group; return False if it was not a member."""
        clients = self.producer_groups.get(group)
        client = None if clients is None else clients.pop(peer, None)
        if clients is None or client is None:
            return False
        self._forget_producer_id(client)
        _forget(self._produces, peer, group)
        if not clients:
            del self.producer_groups[group]
        return True

    def lost(self, peer: ClientConnection) -> None:
        """Remove all memberships of a lost channel. RocketMQ: `doChannelCloseEvent`."""
        for group in list(self._consumes.get(peer, ())):
            client_id = self.consumer_groups[group].clients[peer].client_id
            self.unregister_consumer(group, peer)
            self.locks.orphan(group, client_id)
        for group in list(self._produces.get(peer, ())):
            self.unregister_producer(group, peer)

    def expire(self) -> list[ClientConnection]:
        """Remove clients without a heartbeat for `channelExpiredTimeout`; return the channels to close.

        RocketMQ: `scanNotActiveChannel`.
        """
        oldest = elapsed_millis(self._clock) - self._options.channel_expired_timeout
        silent: dict[ClientConnection, None] = {}
        tables = [group.clients for group in self.consumer_groups.values()]
        tables.extend(self.producer_groups.values())
        for clients in tables:
            for client in clients.values():
                if client.heard_at < oldest:
                    silent[client.peer] = None
        for peer in silent:
            log.warning("No heartbeat from %s for too long, its channel is closed", peer.address)
            self.lost(peer)
        return list(silent)

    def note_succession(self) -> None:
        """Notify all members that their group changed, as this broker has become master in place of another.

        They then query the master of their route for the members. A frozen master does not answer in time, so
        they close the connection on which they would wait half a minute more for its messages.
        """
        for group in self.consumer_groups.values():
            self._note_change(group)

    def take_notices(self) -> list[tuple[GroupClient, str]]:
        """Return the clients to notify, each with its changed group; each change is returned once.

        RocketMQ: `DefaultConsumerIdsChangeListener`.
        """
        changed, self._changed = self._changed, {}
        if not self._options.notify_consumer_ids_changed_enable:
            return []
        groups = [self.consumer_groups[name] for name in changed if name in self.consumer_groups]
        return [(client, group.name) for group in groups for client in group.clients.values()]

    def _check_new_group(self) -> None:
        most = self._options.max_groups_online
        if len(self.consumer_groups) + len(self.producer_groups) >= most:
            raise TooManyClients(f"{most} groups are online, no more are allowed (maxGroupsOnline)")

    def _seen(
        self,
        clients: dict[ClientConnection, GroupClient],
        memberships: dict[ClientConnection, set[str]],
        group: str,
        client: GroupClient,
    ) -> tuple[GroupClient, bool]:
        known = clients.get(client.peer)
        is_new = known is None
        if known is None:
            most = self._options.max_clients_per_group
            if len(clients) >= most:
                raise TooManyClients(
                    f"group {group} has {most} clients, no more are allowed (maxClientsPerGroup)"
                )
            self._check_memberships(client.peer)
            clients[client.peer] = known = client
            memberships.setdefault(client.peer, set()).add(group)
        elif known.client_id != client.client_id:
            log.error(
                "The channel of %s in group %s has changed its client id to %s",
                known,
                group,
                client.client_id,
            )
            client.subscribed = known.subscribed
            clients[client.peer] = known = client
        known.may_use = client.may_use
        known.last_update, known.heard_at = self._clock.millis(), elapsed_millis(self._clock)
        return known, is_new

    def _check_memberships(self, peer: ClientConnection) -> None:
        most = self._options.max_groups_per_client
        if len(self._consumes.get(peer, ())) + len(self._produces.get(peer, ())) >= most:
            raise TooManyClients(
                f"the client at {peer.address} is in {most} groups, no more are allowed (maxGroupsPerClient)"
            )

    def _forget_producer_id(self, client: GroupClient | None) -> None:
        if client is None:
            return
        same = self._producer_ids[client.client_id]
        del same[client]
        if not same:
            del self._producer_ids[client.client_id]

    def _note_change(self, group: ConsumerGroup) -> None:
        if not group.notify or group.message_model == BROADCASTING:
            return
        first = not self._changed
        self._changed[group.name] = None
        if first and self._on_notice is not None:
            self._on_notice()

    def _watch_agreement(self, group: ConsumerGroup, client: GroupClient) -> None:
        """Report once that members begin to subscribe differently, and once that they agree again."""
        name = group.name
        if group.is_inconsistent == (name in self.inconsistent_groups):
            return
        if not group.is_inconsistent:
            self.inconsistent_groups.discard(name)
            log.info("The members of consumer group %s have equal subscriptions again", name)
            return
        self.inconsistent_groups.add(name)
        if self._on_disagreement is not None:
            self._on_disagreement(name)
        now = elapsed_millis(self._clock)
        if group.warned_at is not None and now - group.warned_at < WARNING_INTERVAL_MILLIS:
            return
        group.warned_at = now
        other = next(one for one in group.clients.values() if one.subscribed not in (None, client.subscribed))
        log.warning(
            "Consumer group %s is inconsistent: %s subscribes to %s, %s to %s; the newer applies",
            name,
            client,
            sorted(client.subscribed or ()),
            other,
            sorted(other.subscribed or ()),
        )


def _forget(memberships: dict[ClientConnection, set[str]], peer: ClientConnection, group: str) -> None:
    groups = memberships[peer]
    groups.discard(group)
    if not groups:
        del memberships[peer]
