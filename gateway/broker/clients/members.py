"""Members of groups: producers and consumers, each on one channel, and the state of a consumer group.

RocketMQ: `ClientChannelInfo`, `ConsumerGroupInfo`.
"""

from collections import Counter
from collections.abc import Iterable

from mqgateway.gateway.broker.clients.outgoing import UNREACHABLE, Outgoing
from mqgateway.gateway.broker.connection import ClientConnection, MayUse
from mqgateway.gateway.codec.bodies.heartbeat import SubscriptionData

BROADCASTING = "BROADCASTING"
CLUSTERING = "CLUSTERING"
CONSUME_PASSIVELY = "CONSUME_PASSIVELY"
CONSUME_ACTIVELY = "CONSUME_ACTIVELY"
REMOTING, GRPC = "remoting", "grpc"
"""Protocols of clients."""
Subscribed = frozenset[tuple[str, str, str]]
"""Subscriptions of one client: topics with the type and text of their expressions."""


class GroupClient:
    """One client of one group, on one channel.

    `last_update` is the wall time of its last heartbeat, `heard_at` that of the monotonic clock; both in ms.
    `outgoing` is the channel for notifications and requests of the broker. `release` is the version that it
    reports, as `v5_2_0`, where `version` is of another kind. `may_use` decides of which topics a producer
    receives half messages in transaction checks.
    """

    __slots__ = (
        "client_id",
        "heard_at",
        "language",
        "last_update",
        "may_use",
        "outgoing",
        "peer",
        "protocol",
        "release",
        "subscribed",
        "version",
    )

    def __init__(
        self,
        peer: ClientConnection,
        client_id: str,
        language: str,
        version: int,
        outgoing: Outgoing = UNREACHABLE,
        protocol: str = REMOTING,
        release: str = "",
        may_use: MayUse | None = None,
    ) -> None:
        self.peer = peer
        self.protocol = protocol
        self.release = release
        self.outgoing = outgoing
        self.may_use = may_use
        self.client_id = client_id
        self.language = language
        self.version = version
        self.last_update = 0
        self.heard_at = 0
        # The client's own subscriptions, to detect disagreement between the members of a group.
        self.subscribed: Subscribed | None = None

    def __repr__(self) -> str:
        return f"client {self.client_id} at {self.peer.address}"


class ConsumerGroup:
    """Members of a consumer group, with the subscriptions of the latest heartbeat."""

    __slots__ = (
        "clients",
        "consume_from_where",
        "consume_type",
        "fingerprint",
        "message_model",
        "name",
        "notify",
        "subscription_counts",
        "subscriptions",
        "warned_at",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.consume_type = ""
        self.message_model = ""
        self.consume_from_where = ""
        self.notify = True
        self.fingerprint: int | None = None
        self.warned_at: int | None = None
        self.clients: dict[ClientConnection, GroupClient] = {}
        self.subscriptions: dict[str, SubscriptionData] = {}
        self.subscription_counts: Counter[Subscribed] = Counter()

    @property
    def is_inconsistent(self) -> bool:
        """True if members subscribe differently: messages are then lost without any error."""
        return len(self.subscription_counts) > 1

    def note_subscription(self, client: GroupClient, subscribed: Subscribed | None) -> None:
        """Note a member's own subscriptions; None for a member that leaves."""
        if client.subscribed is not None:
            self.subscription_counts[client.subscribed] -= 1
            if not self.subscription_counts[client.subscribed]:
                del self.subscription_counts[client.subscribed]
        client.subscribed = subscribed
        if subscribed is not None:
            self.subscription_counts[subscribed] += 1

    def client(self, client_id: str) -> GroupClient | None:
        """Return the member with this id."""
        for client in self.clients.values():
            if client.client_id == client_id:
                return client
        return None

    def update_subscriptions(self, reported: Iterable[SubscriptionData]) -> bool:
        """Merge a member's subscriptions; return True if topics were added or removed.

        A known topic is replaced only by a newer version: members of different age then settle on the newest.
        RocketMQ: `ConsumerGroupInfo.updateSubscription`.
        """
        changed = False
        known = self.subscriptions
        topics = set()
        for subscription in reported:
            topic = subscription.topic
            topics.add(topic)
            old = known.get(topic)
            if old is None:
                changed = True
            if old is None or subscription.sub_version > old.sub_version:
                known[topic] = subscription
        if len(topics) != len(known):
            for topic in [topic for topic in known if topic not in topics]:
                del known[topic]
            changed = True
        return changed
