"""Scenarios that mostly wait, waiting at the same time.

A scenario marked ``overlap`` takes the fixtures ``peer`` or ``peers`` and ``tmp_path``, plain parameters, and
nothing else. When the first of them is due for a server, all of them for that server start in threads; each
test then takes its own result.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from compat_tests.support.peers import Peers

THREADS = 8
"""Scenarios about one server share it, and wait nearly all the time."""
GROUPS = 4
"""Scenarios about both start servers of their own: more of them at a time are too much for two cores."""
SETTLE_SECONDS = 20


class Overlap:
    """Starts the marked scenarios of a run, a server at a time."""

    def __init__(self, items: list[pytest.Item], peers: Peers) -> None:
        self._items = [item for item in items if item.get_closest_marker("overlap")]
        self._peers = peers
        self._threads = ThreadPoolExecutor(THREADS, "scenario")
        self._groups = ThreadPoolExecutor(GROUPS, "group")
        self._started: set[str | None] = set()
        self._results: dict[str, Future[Any]] = {}

    def result(self, item: pytest.Item) -> Any:
        """Run the scenario of an item to its end; raises what it raised. A second time it runs alone."""
        kind = kind_of(item)
        if kind not in self._started:
            self._started.add(kind)
            for other in self._items:
                if kind_of(other) == kind:
                    self._results[other.nodeid] = self._submit(other)
        result = self._results.pop(item.nodeid, None) or self._submit(item)
        limit = item.get_closest_marker("timeout")
        assert limit is not None
        return result.result(limit.args[0] - SETTLE_SECONDS)

    def close(self) -> None:
        """Wait for what still runs, start nothing more."""
        self._threads.shutdown(cancel_futures=True)
        self._groups.shutdown(cancel_futures=True)

    def _submit(self, item: pytest.Item) -> Future[Any]:
        return (self._groups if kind_of(item) is None else self._threads).submit(self._run, item)

    def _run(self, item: Any) -> None:
        arguments = dict(item.callspec.params) if hasattr(item, "callspec") else {}
        if "peer" in arguments:
            arguments["peer"] = self._peers.peer(*arguments["peer"])
        elif "peers" in item.fixturenames:
            arguments["peers"] = self._peers
        if "tmp_path" in item.fixturenames:
            arguments["tmp_path"] = Path(mkdtemp(prefix="scenario-", dir=self._peers.work))
        item.obj(**arguments)


def kind_of(item: Any) -> str | None:
    """The server that a test is about; None when it is about more than one."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    if "peer" in parameters:
        return str(parameters["peer"][0])
    return parameters.get("kind")
