"""Workers of Kafka Connect in distributed mode, driven by their REST interface."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from compat_tests.kafka.support.frameworks import Framework, class_path
from compat_tests.support.processes import free_ports, stop, wait_until
from compat_tests.support.servers import HOST

START_SECONDS = 240.0
ANSWER_SECONDS = 90.0
TASK_SECONDS = 90.0
STRINGS = "org.apache.kafka.connect.storage.StringConverter"


class Worker:
    """A worker, which keeps connectors, offsets and states in three topics of the cluster.

    Args:
        name: Prefix of the three topics; also the worker's group.
        settings: Settings besides those that every worker needs.
    """

    def __init__(
        self, work: Path, address: str, name: str, folder: Path, settings: Mapping[str, str]
    ) -> None:
        self._work = work
        self._url = f"http://{HOST}:{free_ports()}"
        self._config = folder / f"{name}.properties"
        stores = {f"{what}.storage.topic": f"{name}-{what}" for what in ("config", "offset", "status")}
        replication = {f"{what}.storage.replication.factor": "1" for what in ("config", "offset", "status")}
        chosen = {
            "bootstrap.servers": address,
            "group.id": name,
            "listeners": self._url,
            "key.converter": STRINGS,
            "value.converter": STRINGS,
            "offset.flush.interval.ms": "1000",
            "offset.storage.partitions": "2",
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "2000",
            "scheduled.rebalance.max.delay.ms": "1000",
            **stores,
            **replication,
            **settings,
        }
        self._config.write_text("".join(f"{key}={value}\n" for key, value in chosen.items()))
        self._process: Framework | None = None

    def start(self) -> Self:
        """Start the worker, and wait until it answers; returns itself."""
        main = "org.apache.kafka.connect.cli.ConnectDistributed"
        self._process = Framework(self._work, class_path("connect"), main, [str(self._config)])
        self._process.wait_for(lambda lines: self._answers(), START_SECONDS, "the worker answers")
        return self

    def stop(self) -> None:
        """Stop the worker cleanly."""
        assert self._process is not None
        stop(self._process.popen, ANSWER_SECONDS)
        self._process = None

    def kill(self) -> None:
        """Kill the worker; do nothing if it does not run."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *failure: object) -> None:
        self.kill()

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request and return its answer; a rebalance is waited for."""
        end = time.monotonic() + ANSWER_SECONDS
        while True:
            try:
                return self._ask(method, path, body)
            except urllib.error.HTTPError as failure:
                text = failure.read().decode()
                if failure.code not in (409, 500) or time.monotonic() > end:
                    raise RuntimeError(f"{method} {path}: {failure.code} {text}") from failure
                time.sleep(0.5)

    def configure(self, connector: str, **config: str) -> None:
        """Create or change a connector, and wait until it and its task run; `_` stands for `.`."""
        chosen = {key.replace("_", "."): value for key, value in config.items()}
        self.ask("PUT", f"/connectors/{connector}/config", chosen)
        self.wait_for_tasks(connector)

    def wait_for_tasks(self, connector: str, state: str = "RUNNING") -> None:
        """Wait until a connector and its tasks have a state."""

        def have_it() -> bool:
            status = self.ask("GET", f"/connectors/{connector}/status")
            states = {one["state"] for one in (status["connector"], *status["tasks"])}
            assert "FAILED" not in states, status
            return states == {state} and bool(status["tasks"])

        self._wait(have_it, f"{connector} is {state}")

    def offsets(self, connector: str) -> list[dict[str, Any]]:
        """Return the offsets of a connector."""
        found: list[dict[str, Any]] = self.ask("GET", f"/connectors/{connector}/offsets")["offsets"]
        return found

    def _wait(self, met: Callable[[], bool], what: str) -> None:
        def is_met() -> bool:
            try:
                return met()
            except RuntimeError as failure:
                if " 404 " in str(failure):  # its status is not stored yet
                    return False
                raise

        wait_until(is_met, TASK_SECONDS, what, 0.3)

    def _ask(self, method: str, path: str, body: Any) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self._url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as answer:
            return json.loads(answer.read() or b"null")

    def _answers(self) -> bool:
        try:
            self._ask("GET", "/connectors", None)
        except OSError:
            return False
        return True
