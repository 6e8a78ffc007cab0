"""Lite topics: their parents, the groups that consume them, and the progress of these.

None of it shows a message, so it takes no permit. `Clients` changes subscriptions, `Pop` delivers messages.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from twisted.internet.defer import Deferred

from mqgateway.engine.lite.names import LITE_PREFIX, split_name
from mqgateway.engine.steps import Steps
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.lite.state import QUEUE_ID
from mqgateway.gateway.broker.operations.gate import Runner

LANE: Final = "lite topics"
QUEUES_A_STEP: Final = 64


class LiteFigures(NamedTuple):
    """Numbers of all subscriptions to lite topics, of the clients that have them, and of pops that wait."""

    subscriptions: int
    clients: int
    waiting_pops: int


class LiteParent(NamedTuple):
    """A topic that has lite topics, with its groups, sorted.

    `minutes_to_live` is how long a lite topic is kept after its last message, for ever if it is below 1.
    """

    topic: str
    minutes_to_live: int
    groups: list[str]


class LiteGroup(NamedTuple):
    """A group that consumes lite topics, with the ids of its clients.

    A wildcard group consumes every lite topic. In an exclusive group one client at most reads a lite topic.
    """

    clients: list[str]
    is_wildcard: bool
    is_exclusive: bool


class LiteReader(NamedTuple):
    """A client of lite topics: their number, None if it reads all, and its last pop (ms), -1 for none."""

    lite_topics: int | None
    last_pop: int


class LiteLag(NamedTuple):
    """The number of lite topics of a parent, and how many messages each group lags behind, by LMQ queue.

    Queues from which a group has never consumed are left out.
    """

    lite_topics: int
    by_group: dict[str, dict[str, int]]


class Lite:
    """Lite topics of one broker."""

    def __init__(self, broker: Broker, runner: Runner) -> None:
        self._broker = broker
        self._state = broker.lite
        self._runner = runner

    def figures(self) -> LiteFigures:
        """Return the figures of all lite topics."""
        state = self._state
        return LiteFigures(state.subscriptions.count, len(state.subscriptions), len(state.parked))

    def parents(self) -> list[str]:
        """Return the topics that have lite topics."""
        return self._state.rules.parents()

    def parent(self, topic: str) -> LiteParent | None:
        """Return a topic that has lite topics, None for another one."""
        rules = self._state.rules
        if not rules.is_parent(topic):
            return None
        return LiteParent(topic, rules.minutes_to_live(topic), sorted(rules.groups_of(topic)))

    def group(self, name: str) -> LiteGroup:
        """Return a group that consumes lite topics."""
        rules = self._state.rules
        clients = self._state.subscriptions.clients_of(name)
        return LiteGroup(clients, rules.is_wildcard(name), rules.is_exclusive(name))

    def reader(self, client_id: str) -> LiteReader:
        """Return a client of lite topics."""
        own = self._state.subscriptions.of(client_id)
        reads_all = own is None or self._state.rules.is_wildcard(own.group)
        last_pop = self._state.events.last_pop(client_id)
        return LiteReader(None if own is None or reads_all else len(own.queues), last_pop)

    def counts(self) -> Deferred[Counter[str]]:
        """Return the number of lite topics by parent."""
        return self._runner.run(LANE, self._counts())

    def _counts(self) -> Steps[Counter[str] | Deferred[Counter[str]]]:
        found: Counter[str] = Counter()
        for number, queue in enumerate(list(self._broker.store.queues())):
            if not number % QUEUES_A_STEP:
                yield
            names = split_name(queue) if queue.startswith(LITE_PREFIX) else None
            if names is not None:
                found[names[0]] += 1
        return found

    def lag(self, topic: str) -> Deferred[LiteLag]:
        """Return the lag of the groups of a parent."""
        return self._runner.run(LANE, self._lag(topic))

    def _lag(self, topic: str) -> Steps[LiteLag | Deferred[LiteLag]]:
        state, offsets = self._state, self._broker.tables.offsets
        queues = state.lifetimes.queues_of(topic)
        behind: dict[str, dict[str, int]] = {group: {} for group in state.rules.groups_of(topic)}
        for number, queue in enumerate(queues):
            if not number % QUEUES_A_STEP:
                yield
            end = state.max_offset(queue)
            for group, by_queue in behind.items():
                consumed = offsets.query(group, queue, QUEUE_ID)
                if 0 <= consumed < end:
                    by_queue[queue] = end - consumed
        return LiteLag(len(queues), behind)
