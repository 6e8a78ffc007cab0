"""Distribution of the cores between servers and load: on few cores it matters as much as the servers."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

SERVERS_CORE, LOADS_CORE = 0, 1


class Arrangement(StrEnum):
    """Placement of the processes of a run."""

    APART = "apart"
    """The load has its own session: Linux divides CPU time between sessions first, as between services."""
    TOGETHER = "together"
    """All processes are in one session, and CPU time is divided between their threads."""
    PINNED = "pinned"
    """The servers have one core and the load has another."""


TITLES = {
    Arrangement.TOGETHER: "one session",
    Arrangement.APART: "sessions of their own",
    Arrangement.PINNED: "a core each",
}


@contextmanager
def on_core(core: int, arrangement: Arrangement) -> Iterator[None]:
    """Confine processes started in this context to `core` if the arrangement is `PINNED`."""
    before = os.sched_getaffinity(0)
    if arrangement is Arrangement.PINNED:
        os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
