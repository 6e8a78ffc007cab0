"""What master and slave speak: the plain stream, or under a controller the one whose logs have epochs."""

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
from mqgateway.engine.ha.role import Role
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.message_store import MessageStore

RETRY_MILLIS = 5000
"""How long after a connection was lost, or could not be made, the next is tried."""
SOON_MILLIS = 1000
"""The same under a controller, who says when another master is to be followed."""


class Following(Protocol):
    """A slave's side of one connection."""

    flow: Flow
    last_read: int
    last_write: int

    def receive(self, data: bytes, now: int) -> int:
        """Take what the master sent; how many bytes of the log that was."""
        ...

    def report(self, acknowledged: int, now: int) -> bytes:
        """What to send now, where everything before `acknowledged` is safe."""
        ...

    def is_expired(self, now: int) -> bool:
        """Whether the master was silent for too long."""
        ...


class Stream(Protocol):
    """One of the two."""

    retry_millis: int

    @property
    def is_open(self) -> bool:
        """Whether slaves are served."""
        ...

    @property
    def compares(self) -> bool:
        """Whether master and slave find out by themselves how far their logs are one."""
        ...

    def feed(self, address: str, now: int) -> Feed:
        """A slave has connected."""
        ...

    def follow(self, now: int, begin: int) -> Following:
        """The master is about to be connected; an empty log begins at `begin`, 0 to leave that to it."""
        ...


class PlainStream:
    """The standard's stream of master and slave without a controller."""

    retry_millis = RETRY_MILLIS
    is_open = True
    compares = False

    def __init__(self, options: StoreOptions, store: MessageStore) -> None:
        self._options = options
        self._store = store

    def feed(self, address: str, now: int) -> Feed:
        """A slave has connected."""
        return Feed(self._options, self._store.raw, address, now)

    def follow(self, now: int, begin: int) -> Follow:
        """The master is about to be connected."""
        return Follow(self._options, self._store.raw, now, begin)


class EpochStream:
    """The stream under a controller. Only a master whose epoch is written down serves slaves; `on_cut` is
    told when the end of a slave's log was cut."""

    retry_millis = SOON_MILLIS

    def __init__(
        self,
        options: StoreOptions,
        store: MessageStore,
        role: Role,
        replicas: AgreedReplicas,
        epochs: Epochs,
    ) -> None:
        self._options = options
        self._store = store
        self._role = role
        self._replicas = replicas
        self._epochs = epochs
        self.on_cut: Callable[[], None] = lambda: None

    @property
    def is_open(self) -> bool:
        """Whether slaves are served."""
        return self._role.is_master and self._store.gate is None

    @property
    def compares(self) -> bool:
        """A log that had no controller has no epochs, and nothing to compare."""
        return bool(self._epochs.entries)

    def feed(self, address: str, now: int) -> EpochFeed:
        """A slave has connected."""
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
        """The master is about to be connected."""
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
        self.on_cut()
        return True

    def _confirm(self, offset: int) -> None:
        self._replicas.agreement.limit = offset
