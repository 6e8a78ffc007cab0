"""Live brokers: heard from within their timeout, and with an open connection.

A broker is bound to the connection of its last heartbeat. In RocketMQ it stays bound to the first one, whose
end, if noticed late, removes a broker that has long reconnected. Also there, a broker's reported offsets
count only while they grow, which is wrong after its log was truncated.

RocketMQ: `DefaultBrokerHeartbeatManager`, `BrokerLiveInfo`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

INT_MAX = 2**31 - 1
DEFAULT_TIMEOUT = 10_000
"""Timeout in ms of a broker that reports none."""
ENDED_MAX = 10_000
"""Maximum of remembered brokers whose connection has ended."""


class ReplicaKey(NamedTuple):
    """A replica by cluster, broker name and its id at the controller."""

    cluster: str
    name: str
    broker_id: int


@dataclass(frozen=True, slots=True)
class ReplicaHeartbeat:
    """A heartbeat; `timeout` in ms, offsets are physical, -1 for unknown."""

    address: str = ""
    timeout: int = DEFAULT_TIMEOUT
    epoch: int = -1
    max_offset: int = -1
    confirm_offset: int = -1
    priority: int = INT_MAX


class TooManyBrokers(Exception):
    """The maximum of brokers is reached; the text has it."""


@dataclass(frozen=True, slots=True)
class _Heard:
    heartbeat: ReplicaHeartbeat
    peer: object
    at: int


class Liveness:
    """Heartbeats of brokers.

    All times are monotonic ms; `peer` is any object that stands for a connection.
    """

    def __init__(self) -> None:
        self._heard: dict[ReplicaKey, _Heard] = {}
        self._by_peer: dict[object, set[ReplicaKey]] = {}
        self._ended: dict[ReplicaKey, None] = {}

    def __len__(self) -> int:
        return len(self._heard)

    def __iter__(self) -> Iterator[ReplicaKey]:
        return iter(self._heard)

    def hear(self, key: ReplicaKey, heartbeat: ReplicaHeartbeat, peer: object, now: int, most: int) -> None:
        """Record a heartbeat. Raises `TooManyBrokers` for a new broker beyond `most`."""
        before = self._heard.get(key)
        if before is None and len(self._heard) >= most:
            raise TooManyBrokers(f"{most} brokers are heard of, as many as maxBrokers allows")
        if before is not None and before.peer is not peer:
            self._unbind(key, before.peer)
        self._heard[key] = _Heard(heartbeat, peer, now)
        self._by_peer.setdefault(peer, set()).add(key)
        self._ended.pop(key, None)

    def expect(self, keys: Iterable[ReplicaKey], now: int) -> None:
        """Count brokers as heard from by the previous leader, except those with an ended connection."""
        for key in keys:
            if key not in self._ended:
                self._heard.setdefault(key, _Heard(ReplicaHeartbeat(), None, now))

    def move_on(self, millis: int, now: int) -> None:
        """Move the time of all heartbeats forward, but not beyond now."""
        for key, heard in self._heard.items():
            self._heard[key] = replace(heard, at=min(heard.at + millis, now))

    def is_alive(self, key: ReplicaKey, now: int) -> bool:
        """Return True if a broker is live."""
        heard = self._heard.get(key)
        return heard is not None and now - heard.at <= heard.heartbeat.timeout

    def said(self, key: ReplicaKey) -> ReplicaHeartbeat:
        """Return the last heartbeat of a broker; an empty one if there is none."""
        heard = self._heard.get(key)
        return ReplicaHeartbeat() if heard is None else heard.heartbeat

    def lost(self, peer: object) -> list[ReplicaKey]:
        """Remove and return the brokers of a connection that has ended."""
        keys = sorted(self._by_peer.pop(peer, ()))
        for key in keys:
            del self._heard[key]
            self._ended[key] = None
        while len(self._ended) > ENDED_MAX:
            del self._ended[next(iter(self._ended))]
        return keys

    def expire(self, now: int) -> list[tuple[ReplicaKey, object]]:
        """Remove brokers whose timeout has passed; return them with their connections."""
        silent = [(key, heard.peer) for key, heard in self._heard.items() if not self.is_alive(key, now)]
        for key, peer in silent:
            del self._heard[key]
            self._unbind(key, peer)
        return silent

    def next_end(self) -> int | None:
        """Return the earliest timeout; None if there are no brokers."""
        return min((heard.at + heard.heartbeat.timeout for heard in self._heard.values()), default=None)

    def _unbind(self, key: ReplicaKey, peer: object) -> None:
        keys = self._by_peer.get(peer)
        if keys is not None:
            keys.discard(key)
            if not keys:
                del self._by_peer[peer]
