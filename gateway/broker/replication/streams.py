"""Streams between master and slave: the plain one, or with a controller the one whose logs have epochs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from mqgateway.engine.ha.agreed_replicas import AgreedReplicas
from mqgateway.engine.ha.epoch_feed import EpochFeed
from mqgateway.engine.ha.epoch_follow import EpochFollow
from mqgateway.engine.ha.epoch_frames import Hello
from mqgateway.engine.ha.epochs import Epochs
from mqgateway.engine.ha.feed import Feed
from mqgateway.engine.ha.flow import Flow
from mqgateway.engine.ha.follow import Follow
from mqgateway.engine.ha.role import ReplicationRole
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.message_store import MessageStore

RETRY_MILLIS = 5000
"""Milliseconds after a lost or failed connection until the next attempt."""
SOON_MILLIS = 1000
"""Interval of attempts with a controller, which notifies slaves of a new master."""


class Following(Protocol):
    """A slave's side of one connection."""

    flow: Flow
    last_read: int
    last_write: int

    def receive(self, data: bytes, now: int) -> int:
        """Take data of the master; return the number of bytes of the log in it."""
        ...

    def report(self, acknowledged: int, now: int) -> bytes:
        """Return the bytes to send now; everything before `acknowledged` is safe."""
        ...

    def is_expired(self, now: int) -> bool:
        """Return True if the master was silent for too long."""
        ...


class ReplicationStream(Protocol):
    """Interface of a stream."""

    retry_millis: int

    @property
    def is_open(self) -> bool:
        """True if slaves are served."""
        ...

    @property
    def compares(self) -> bool:
        """True if master and slave compare their logs themselves."""
        ...

    def feed(self, address: str, now: int) -> Feed:
        """Return the feed of a slave that has connected."""
        ...

    def follow(self, now: int, begin: int) -> Following:
        """Return the slave's side; an empty log begins at `begin`, 0 leaves that to the master."""
        ...


class PlainStream:
    """RocketMQ's stream of master and slave without a controller."""

    retry_millis = RETRY_MILLIS
    is_open = True
    compares = False

    def __init__(self, options: StoreOptions, store: MessageStore) -> None:
        self._options = options
        self._store = store

    def feed(self, address: str, now: int) -> Feed:
        """Return the feed of a slave that has connected."""
        return Feed(self._options, self._store.raw, address, now)

    def follow(self, now: int, begin: int) -> Follow:
        """Return the slave's side of a new connection."""
        return Follow(self._options, self._store.raw, now, begin)


class EpochStream:
    """The stream with a controller. Only a master whose epoch is on disk serves slaves.

    `on_cut` is called when the end of a slave's log was truncated.
    """

    retry_millis = SOON_MILLIS

    def __init__(
        self,
        options: StoreOptions,
        store: MessageStore,
        role: ReplicationRole,
        replicas: AgreedReplicas,
        epochs: Epochs,
        on_cut: Callable[[], None],
    ) -> None:
        self._options = options
        self._store = store
        self._role = role
        self._replicas = replicas
        self._epochs = epochs
        self._on_cut = on_cut

    @property
    def is_open(self) -> bool:
        """True if slaves are served."""
        return self._role.is_master and self._store.gate is None

    @property
    def compares(self) -> bool:
        """True if the log has epochs; a log without a controller has none, and nothing to compare."""
        return bool(self._epochs.entries)

    def feed(self, address: str, now: int) -> EpochFeed:
        """Return the feed of a slave that has connected."""
        replicas = self._replicas
        return EpochFeed(
            self._options,
            self._store.raw,
            address,
            now,
            self._epochs,
            replicas.in_sync_set,
            lambda: replicas.confirmed,
        )

    def follow(self, now: int, begin: int) -> EpochFollow:
        """Return the slave's side of a new connection."""
        options = self._options
        return EpochFollow(
            options,
            self._store.raw,
            now,
            hello=Hello(self._role.state.broker_id, options.sync_from_last_file, options.async_learner),
            epochs=self._epochs,
            cut=self._cut,
            confirm=self._confirm,
        )

    def _cut(self, offset: int) -> bool:
        if offset >= self._store.max_physical_offset:
            return True
        if not self._store.cut(offset):
            return False
        self._on_cut()
        return True

    def _confirm(self, offset: int) -> None:
        self._replicas.agreement.limit = offset
