"""Which brokers are there: who was heard of in time, and whose connection has not ended.

A broker is bound to the connection it was heard on last. With the standard it stays bound to the first one,
whose end, when it is noticed late, takes a broker away that has long come back; there too, what a broker says
of its log counts only while it grows, which is wrong once a log was cut.
Standard: `DefaultBrokerHeartbeatManager`, `BrokerLiveInfo`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

INT_MAX = 2**31 - 1
DEFAULT_TIMEOUT = 10_000
"""Milliseconds of silence after which a broker is gone that names no time."""
ENDED_MAX = 10_000
"""Brokers of which is kept that their connection has ended."""


class BrokerKey(NamedTuple):
    """A replica by cluster, broker name and the id that the controller gave it."""

    cluster: str
    name: str
    broker_id: int


@dataclass(frozen=True, slots=True)
class Beat:
    """What a broker says of itself; `timeout` in ms, offsets are physical, -1 where it does not know."""

    address: str = ""
    timeout: int = DEFAULT_TIMEOUT
    epoch: int = -1
    max_offset: int = -1
    confirm_offset: int = -1
    priority: int = INT_MAX


class TooManyBrokers(Exception):
    """As many brokers are heard of as may be; the text says how many."""


@dataclass(frozen=True, slots=True)
class _Heard:
    beat: Beat
    peer: object
    at: int


class Liveness:
    """Who was heard of. All times are monotonic ms; `peer` is whatever stands for a connection."""

    def __init__(self) -> None:
        self._heard: dict[BrokerKey, _Heard] = {}
        self._by_peer: dict[object, set[BrokerKey]] = {}
        self._ended: dict[BrokerKey, None] = {}

    def __len__(self) -> int:
        return len(self._heard)

    def __iter__(self) -> Iterator[BrokerKey]:
        return iter(self._heard)

    def hear(self, key: BrokerKey, beat: Beat, peer: object, now: int, most: int) -> None:
        """A broker was heard of. Raises `TooManyBrokers` for a new one beyond `most`."""
        before = self._heard.get(key)
        if before is None and len(self._heard) >= most:
            raise TooManyBrokers(f"{most} brokers are heard of, as many as maxBrokers allows")
        if before is not None and before.peer is not peer:
            self._unbind(key, before.peer)
        self._heard[key] = _Heard(beat, peer, now)
        self._by_peer.setdefault(peer, set()).add(key)
        self._ended.pop(key, None)

    def expect(self, keys: Iterable[BrokerKey], now: int) -> None:
        """Count brokers as heard of, for who has just begun, that somebody else may have heard of: not those
        whose connections have ended."""
        for key in keys:
            if key not in self._ended:
                self._heard.setdefault(key, _Heard(Beat(), None, now))

    def move_on(self, millis: int, now: int) -> None:
        """Let brokers have been heard of so much later, but not after now."""
        for key, heard in self._heard.items():
            self._heard[key] = replace(heard, at=min(heard.at + millis, now))

    def is_alive(self, key: BrokerKey, now: int) -> bool:
        """Whether a broker is there."""
        heard = self._heard.get(key)
        return heard is not None and now - heard.at <= heard.beat.timeout

    def said(self, key: BrokerKey) -> Beat:
        """What a broker said last; of one that was not heard of, that it knows nothing."""
        heard = self._heard.get(key)
        return Beat() if heard is None else heard.beat

    def lost(self, peer: object) -> list[BrokerKey]:
        """A connection has ended: the brokers that are gone with it."""
        keys = sorted(self._by_peer.pop(peer, ()))
        for key in keys:
            del self._heard[key]
            self._ended[key] = None
        while len(self._ended) > ENDED_MAX:
            del self._ended[next(iter(self._ended))]
        return keys

    def expire(self, now: int) -> list[tuple[BrokerKey, object]]:
        """Forget the brokers that have been silent too long; gives them with their connections."""
        silent = [(key, heard.peer) for key, heard in self._heard.items() if not self.is_alive(key, now)]
        for key, peer in silent:
            del self._heard[key]
            self._unbind(key, peer)
        return silent

    def next_end(self) -> int | None:
        """Until when nobody can be silent too long; None when nobody is heard of."""
        return min((heard.at + heard.beat.timeout for heard in self._heard.values()), default=None)

    def _unbind(self, key: BrokerKey, peer: object) -> None:
        keys = self._by_peer.get(peer)
        if keys is not None:
            keys.discard(key)
            if not keys:
                del self._by_peer[peer]
