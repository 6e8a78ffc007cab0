"""Worker processes of a run with `-n`: how scenarios are divided among them, and what they share.

RocketMQ's scenarios overlap in threads and share servers (`overlap`), so one process runs them all. Scenarios
of Kafka's clients wait as much, one after the other; a process runs those of one client.

Bookkeeping: no scenario depends on this module, so that a change here does not invalidate what was recorded.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from compat_tests.kafka.support.clients import CLIENTS
from compat_tests.support.containers import Engine, NoEngine, ensure_image
from compat_tests.support.record import file_of
from compat_tests.support.runtime import must_be_docker
from compat_tests.support.selection import Selection

OTHERS = "rocketmq"
"""The part that has the scenarios of RocketMQ's clients and tools."""

PARTS_OF_THEIR_OWN = frozenset({"test_examples"})
"""Files whose scenarios have servers of their own and take more than a minute, one after the other."""

SELECTION, LINES = "selection", "lines"
"""Keys of what a worker hands over at its end: its share of the records, and lines for the report."""


def part_of(name: str) -> str:
    """Return the part of a scenario, by its node id; one worker runs the scenarios of a part."""
    stem = file_of(name)
    if stem in PARTS_OF_THEIR_OWN:
        return stem
    if not stem.startswith("kafka."):
        return OTHERS
    parameters = name.partition("[")[2]
    return next((client for client in CLIENTS if client in parameters), stem)


class Parts(LoadScopeScheduling):
    """Gives each worker whole parts, those with most scenarios first."""

    def _split_scope(self, nodeid: str) -> str:
        return part_of(nodeid)


class Workers:
    """A plugin of the main process and of each worker.

    The main process starts one Docker engine for all workers, as two engines cannot use one folder of images.
    """

    def __init__(self, config: pytest.Config, selection: Selection) -> None:
        self._config = config
        self._selection = selection
        self._lines: list[str] = []
        self._engine: Engine | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def report(self, line: str) -> None:
        """Print a line in the middle of a run; lines of workers are printed when they end."""
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            terminal.write_line(line)
        else:
            self._lines.append(line)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self, config: pytest.Config, specs: Sequence[object]) -> None:
        """Start the engine before the workers, which take its address from the environment.

        Without one they run the clients on this machine. Raises `pytest.UsageError` if that is not allowed.
        """
        wish = config.getoption("--runtime")
        if wish == "local":
            return
        self._folder = tempfile.TemporaryDirectory(prefix="compat-docker-")
        try:
            self._engine = Engine(Path(self._folder.name))
            ensure_image(self._engine)
        except NoEngine as failure:
            if must_be_docker(wish):
                raise pytest.UsageError(f"no Docker: {failure}") from failure
            config.option.runtime = "local"  # workers begin with the options of this process
            return
        if self._engine.started_at:
            os.environ["DOCKER_HOST"] = self._engine.started_at

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Producer) -> Parts:
        """Divide the scenarios into parts."""
        return Parts(config, log)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: WorkerController, error: object) -> None:
        """Take over what a worker has kept; one that was killed has kept nothing."""
        output: dict[str, Any] = getattr(node, "workeroutput", {})
        if SELECTION in output:
            self._selection.merge(output[SELECTION])
        for line in output.get(LINES, ()):
            self.report(line)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the records down, or hand them over to the main process."""
        output: dict[str, Any] | None = getattr(self._config, "workeroutput", None)
        if output is None:
            self._selection.finish(session)
        else:
            output[SELECTION] = self._selection.kept()
            output[LINES] = self._lines

    def pytest_unconfigure(self) -> None:
        """End the engine that was started here."""
        if self._engine is not None:
            self._engine.close()
        if self._folder is not None:
            self._folder.cleanup()
