"""Tables of topics of the name server: their queues by broker, mappings of static topics, encoded routes.

Encoded routes are cached in `encoded` until their content changes. Groups are checked by comparison, so that
a broker that comes or goes invalidates only the routes of its own topics. A mapping exists as long as its
topic has queues anywhere. RocketMQ: `RouteInfoManager`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import replace
from typing import Any

from mqgateway.engine.options import NamesrvOptions
from mqgateway.gateway.codec.bodies import BrokerData, QueueData
from mqgateway.gateway.namesrv.registration import Mappings, RegistrationRefused

log = logging.getLogger(__name__)


class TopicTables:
    """Tables, with limits from `options`, which may change at run time."""

    def __init__(self, options: NamesrvOptions) -> None:
        self.options = options
        self.topic_queues: dict[str, dict[str, QueueData]] = {}
        self.mappings: dict[str, dict[str, Any]] = {}
        self.encoded: dict[tuple[str, bool], tuple[bytes, tuple[BrokerData | None, ...]]] = {}
        """Route answers by (topic, quoted keys), with the groups they show; at most two per topic."""
        self._pairs = 0  # pairs of topic and broker in topic_queues
        self._mapped = 0  # total weight of all mappings

    @property
    def pairs(self) -> int:
        """Number of pairs of topic and broker with queues of it."""
        return self._pairs

    def check_topics(self, topics: Set[str], brokers: Collection[str]) -> None:
        """Check the limits for topics of brokers, exactly only near the limits. Raises Refused."""
        most, pairs_most = self.options.max_topics, self.options.max_queue_data
        known = self.topic_queues
        if len(known) + len(topics) > most and len(known) + len(topics - known.keys()) > most:
            raise RegistrationRefused(f"too many topics are registered, the limit is {most}")
        if self._pairs + len(topics) * len(brokers) > pairs_most:
            new = sum(broker not in known.get(topic, ()) for topic in topics for broker in brokers)
            if self._pairs + new > pairs_most:
                raise RegistrationRefused(f"too many queues are registered, the limit is {pairs_most}")

    def check_mappings(self, mappings: Mappings) -> None:
        """Check the limit for queues of static topics. Raises Refused."""
        most = self.options.max_queue_data
        if mappings and self._mapped + sum(map(_weight, mappings.values())) > most:
            raise RegistrationRefused(f"too many queues of static topics are registered, the limit is {most}")

    def put_queues(self, topic: str, queues: QueueData) -> None:
        """Put a topic's queues at a broker."""
        by_broker = self.topic_queues.get(topic)
        if by_broker is None:
            by_broker = self.topic_queues[topic] = {}
        old = by_broker.get(queues.broker_name)
        if old != queues:
            self._pairs += old is None
            log.debug("topic %s: %s", topic, queues)
            by_broker[queues.broker_name] = queues
            self.forget_route(topic)

    def drop_queues(self, topic: str, broker: str) -> None:
        """Remove a topic's queues at a broker, and with the last ones the topic."""
        by_broker = self.topic_queues[topic]
        del by_broker[broker]
        self._pairs -= 1
        if not by_broker:
            del self.topic_queues[topic]
            self._mapped -= sum(map(_weight, self.mappings.pop(topic, {}).values()))
        self.forget_route(topic)

    def put_mapping(self, broker: str, topic: str, mapping: dict[str, Any]) -> None:
        """Put the mapping of a static topic at a broker, if the topic has queues."""
        if topic in self.topic_queues:
            by_broker = self.mappings.setdefault(topic, {})
            self._mapped += _weight(mapping) - _weight(by_broker.get(broker))
            by_broker[broker] = mapping
            self.forget_route(topic)

    def change_perms(self, broker: str, change: Callable[[int], int]) -> int:
        """Change the queue permission of each of a broker's topics; return the number of topics."""
        count = 0
        for by_broker in self.topic_queues.values():
            queues = by_broker.get(broker)
            if queues is not None:
                by_broker[broker] = replace(queues, perm=change(queues.perm))
                count += 1
        self.encoded.clear()
        return count

    def forget_route(self, topic: str) -> None:
        """Forget the encoded routes of a topic."""
        self.encoded.pop((topic, True), None)
        self.encoded.pop((topic, False), None)


def _weight(mapping: Mapping[str, Any] | None) -> int:
    """Return the weight of a mapping in the limit: itself and its queues."""
    return 0 if mapping is None else 1 + len(mapping["currIdMap"])
