"""Who was master in which epoch, as the controllers said while a scenario ran; and of a message that is lost
what is known of it: who acknowledged it, in which epoch, where it lay, and whether its successor ever had it.

Apache's master takes a slave whose connection has ended out of its own set in sync at once, before the
controller has agreed, and so acknowledges alone what is cut away when it follows its successor
(`AutoSwitchHAService.removeConnection`). That is told apart by proof: the message lies behind the place where
the successor's epoch begins, which is where the successor's log ended when it became master.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from compat_tests.support.background import Background

WATCH_SECONDS = 0.1


class Acknowledged(NamedTuple):
    """The offset in the queue that was told, when, by which broker, and where in its log the message lies."""

    offset: int
    at: float
    by: str
    place: int


class Reign(NamedTuple):
    """An epoch and the address of its master; somebody else was said to be master before `since`."""

    epoch: int
    master: str
    since: float


class Loss(NamedTuple):
    """What is known of a message that was acknowledged and is in no log. `epoch` is that of the one who
    acknowledged it, `began` where the next epoch of another master begins; None where nobody knows."""

    body: str
    kind: str
    told: Acknowledged
    epoch: int | None
    successor: Reign | None
    began: int | None

    @property
    def is_apaches_alone(self) -> bool:
        """Whether it is proved that Apache's master acknowledged it without the one who succeeded it."""
        return self.kind == "apache" and self.began is not None and self.told.place >= self.began

    def __str__(self) -> str:
        told, after = self.told, self.successor
        text = f"{self.body[:8]} acknowledged by {self.kind} {told.by} in epoch {self.epoch}, queue offset "
        text += f"{told.offset}, at {told.place} of its log"
        if after is None:
            return f"{text}; nobody succeeded it"
        return (
            f"{text}, {told.at - after.since:+.3f} s after {after.master} may have been master in epoch "
            f"{after.epoch}, which begins at {self.began}"
        )


class Reigns(Background):
    """Asks who is master; `state` is the set as the controller has it, empty where there is no answer."""

    def __init__(self, state: Callable[[], Mapping[str, Any]]) -> None:
        super().__init__()
        self._state = state
        self._seen = 0.0
        self.all: list[Reign] = []

    def _run(self) -> None:
        while not self._is_over(WATCH_SECONDS):
            asked = time.monotonic()
            try:
                state = self._state()
            except OSError:
                continue
            if state.get("masterAddress"):
                self.saw(int(state["masterEpoch"]), str(state["masterAddress"]), asked)

    def saw(self, epoch: int, master: str, asked: float) -> None:
        """What was answered to a question of then."""
        if not self.all or self.all[-1].epoch != epoch:
            self.all.append(Reign(epoch, master, self._seen))
        self._seen = asked

    def loss(self, body: str, kind: str, told: Acknowledged, epochs: Sequence[tuple[int, int]]) -> Loss:
        """What is known of a message that is lost, where the logs have these epochs and beginnings."""
        reigned = [one for one in self.all if one.master == told.by and one.since <= told.at]
        if not reigned:
            return Loss(body, kind, told, None, None, None)
        epoch = reigned[-1].epoch
        after = next((one for one in self.all if one.epoch > epoch and one.master != told.by), None)
        # An epoch without a message is in no list: the next one begins where it did.
        began = next((start for number, start in epochs if after and number >= after.epoch), None)
        return Loss(body, kind, told, epoch, after, began)
