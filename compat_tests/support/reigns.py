"""Masters by epoch, as the controllers reported them in a scenario; and the facts about a lost message.

The facts are the master that acknowledged it, the epoch, its offset in the log, and whether its successor
ever had it. Apache's master removes a slave whose connection has ended from its own in-sync set at once,
before the controller has agreed. So it acknowledges alone messages that are truncated when it follows its
successor (`AutoSwitchHAService.removeConnection`). The proof of that case is the message's offset: it is at
or after the start of the successor's epoch, which is where the successor's log ended when it became master.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from compat_tests.support.background import Background

WATCH_SECONDS = 0.1


class Acknowledged(NamedTuple):
    """Acknowledgement of a message: queue offset, time, broker, and offset in that broker's log."""

    offset: int
    at: float
    by: str
    place: int


class Reign(NamedTuple):
    """An epoch and the address of its master; the last report of the master before it is from `since`."""

    epoch: int
    master: str
    since: float


class Loss(NamedTuple):
    """The facts about a message that was acknowledged and is in no log.

    `epoch` is that of the acknowledging master, `began` the start offset of the next epoch of another master;
    None if unknown.
    """

    body: str
    kind: str
    ack: Acknowledged
    epoch: int | None
    successor: Reign | None
    began: int | None

    @property
    def is_apaches_alone(self) -> bool:
        """True if it is proved that Apache's master acknowledged it without its successor."""
        return self.kind == "apache" and self.began is not None and self.ack.place >= self.began

    def __str__(self) -> str:
        ack, after = self.ack, self.successor
        text = f"{self.body[:8]} acknowledged by {self.kind} {ack.by} in epoch {self.epoch}, queue offset "
        text += f"{ack.offset}, at {ack.place} of its log"
        if after is None:
            return f"{text}; nobody succeeded it"
        return (
            f"{text}, {ack.at - after.since:+.3f} s after {after.master} may have been master in epoch "
            f"{after.epoch}, which begins at {self.began}"
        )


class Reigns(Background):
    """Polls the master; `state` returns the set's state from the controller, empty without a response."""

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
        """Note the response to a query that was sent at `asked`."""
        if not self.all or self.all[-1].epoch != epoch:
            self.all.append(Reign(epoch, master, self._seen))
        self._seen = asked

    def loss(self, body: str, kind: str, ack: Acknowledged, epochs: Sequence[tuple[int, int]]) -> Loss:
        """Return the facts about a lost message; `epochs` are the logs' epochs with their start offsets."""
        reigned = [one for one in self.all if one.master == ack.by and one.since <= ack.at]
        if not reigned:
            return Loss(body, kind, ack, None, None, None)
        epoch = reigned[-1].epoch
        after = next((one for one in self.all if one.epoch > epoch and one.master != ack.by), None)
        # An epoch without a message is in no list: the next epoch begins at the same offset.
        began = next((start for number, start in epochs if after and number >= after.epoch), None)
        return Loss(body, kind, ack, epoch, after, began)
