"""Outcome cache of a stateful strategy by connection: refusals and successes, for a limited time.

RocketMQ: `StatefulAuthenticationStrategy`, `StatefulAuthorizationStrategy`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from mqgateway.engine.clock import Clock
from mqgateway.gateway.access.settings import Memory
from mqgateway.gateway.remoting.call import Peer


class Outcomes:
    """Refusals by connection and question; an empty one is a success."""

    def __init__(self, memory: Memory, clock: Clock) -> None:
        self._memory = memory
        self._clock = clock
        self._known: dict[Peer, dict[Hashable, tuple[float, str]]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def get(self, peer: Peer, question: Hashable, find: Callable[[], str]) -> str:
        """Return the cached outcome of a connection's question, else that of `find`."""
        now = self._clock.monotonic()
        known = self._known.get(peer)
        found = None if known is None else known.get(question)
        if found is not None and now < found[0]:
            return found[1]
        refusal = find()
        if found is None:
            self._make_room()
            self._count += 1
        is_new = peer not in self._known
        self._known.setdefault(peer, {})[question] = (now + self._memory.seconds, refusal)
        if is_new:
            peer.on_lost(self._forget)
        return refusal

    def _make_room(self) -> None:
        """Evict the oldest connections until one more outcome fits."""
        while self._count >= self._memory.most:
            self._forget(next(iter(self._known)))

    def _forget(self, peer: Peer) -> None:
        self._count -= len(self._known.pop(peer, ()))
