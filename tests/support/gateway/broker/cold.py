"""A store whose messages are not in memory at first."""

from collections.abc import Callable
from typing import Any

import pytest

from mqgateway.engine.store.message_store import ColdRead, MessageStore


class ColdStore:
    """Lets `times` reads of a store that may not wait for the disk find nothing in memory, `after` some.

    `waiting` is what to call once a worker has brought it there; `waits` counts reads that may wait.
    """

    def __init__(
        self,
        store: MessageStore,
        monkeypatch: pytest.MonkeyPatch,
        times: int,
        *,
        after: int = 0,
        names: tuple[str, ...] = ("get",),
    ) -> None:
        self.times = times
        self.after = after
        self.waits = 0
        self.waiting: list[Callable[[], None]] = []
        for name in names:
            monkeypatch.setattr(store, name, self._reluctant(getattr(store, name)))
        monkeypatch.setattr(store, "bring", lambda _cold, done: self.waiting.append(done))

    def _reluctant(self, read: Callable[..., Any]) -> Callable[..., Any]:
        def reluctant(*args: Any, may_wait: bool = True, **more: Any) -> Any:
            self.waits += may_wait
            if self.after:
                self.after -= 1
            elif self.times and not may_wait:
                self.times -= 1
                raise ColdRead(0, [])
            return read(*args, may_wait=may_wait, **more)

        return reluctant

    def bring(self) -> int:
        """Bring all that is waited for into memory; gives how often a worker was asked."""
        rounds = 0
        while self.waiting:
            self.waiting.pop(0)()
            rounds += 1
        return rounds
