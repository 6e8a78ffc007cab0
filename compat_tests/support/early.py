"""Slow work of fixtures, started before its scenarios are due, so that it overlaps with other scenarios.

A test module declares the work of its fixtures as ``EARLY``, by the name of the fixture. When the first such
fixture is set up, the work of all fixtures that the run needs starts in threads, the longest first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest

from compat_tests.support.peers import KINDS, Peers, chosen_kinds

THREADS = 2
"""Work at a time: each has up to six JVMs, and other scenarios run beside it on two cores."""


class Work(NamedTuple):
    """A call whose result a fixture returns.

    Attributes:
        seconds: Duration on two idle cores.
        run: Called with the servers and clients of the run, and with `arguments`.
        arguments: Further arguments.
    """

    seconds: int
    run: Callable[..., Any]
    arguments: tuple[Hashable, ...] = ()


class Early:
    """The work of one run."""

    def __init__(self, peers: Peers, work: Sequence[Work] = ()) -> None:
        self._peers = peers
        self._threads = ThreadPoolExecutor(THREADS, "early")
        self._results = {one: self._submit(one) for one in sorted(work, key=lambda one: -one.seconds)}

    def result(self, work: Work) -> Any:
        """Return the result of work; starts it if it was not started.

        Raises:
            BaseException: What the work raised; the next call starts it again.
        """
        if work not in self._results:
            self._results[work] = self._submit(work)
        try:
            return self._results[work].result()
        except BaseException:
            del self._results[work]
            raise

    def close(self) -> None:
        """Wait for running work; cancel the rest."""
        self._threads.shutdown(cancel_futures=True)

    def _submit(self, work: Work) -> Future[Any]:
        return self._threads.submit(work.run, self._peers, *work.arguments)


EARLY = pytest.StashKey[Early]()


def declared(items: Sequence[pytest.Item]) -> list[Work]:
    """Return the work of all fixtures that these scenarios need."""
    found: dict[Work, None] = {}
    for item in items:
        by_fixture: Mapping[str, Sequence[Work]] = getattr(getattr(item, "module", None), "EARLY", {})
        for fixture, work in by_fixture.items():
            if fixture in getattr(item, "fixturenames", ()):
                found |= dict.fromkeys(work)
    return list(found)


def result(request: pytest.FixtureRequest, work: Work) -> Any:
    """Return the result of work for a fixture.

    The first call of a run starts all declared work, if the run is about both servers.
    """
    peers: Peers = request.getfixturevalue("peers")
    stash = request.config.stash
    if EARLY not in stash:
        is_whole = chosen_kinds(request.config) == KINDS
        early = stash[EARLY] = Early(peers, declared(request.session.items) if is_whole else ())
        # Before the servers and clients of the run end, as these were set up before.
        request.session.addfinalizer(early.close)
    return stash[EARLY].result(work)
