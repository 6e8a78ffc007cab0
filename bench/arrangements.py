"""How servers and load share the cores: on few of them it decides as much as the servers do."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

SERVERS_CORE, LOADS_CORE = 0, 1


class Arrangement(StrEnum):
    """Where the processes of a run are."""

    APART = "apart"
    """The load has a session of its own: Linux shares the cores out between sessions first, as between
    services."""
    TOGETHER = "together"
    """All are of one session, whose threads the cores are shared out between."""
    PINNED = "pinned"
    """The servers have one core, the load another."""


TITLES = {
    Arrangement.TOGETHER: "one session",
    Arrangement.APART: "sessions of their own",
    Arrangement.PINNED: "a core each",
}


@contextmanager
def on_core(core: int, arrangement: Arrangement) -> Iterator[None]:
    """What is started here runs on this core alone, if each is to have one."""
    before = os.sched_getaffinity(0)
    if arrangement is Arrangement.PINNED:
        os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
