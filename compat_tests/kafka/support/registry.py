"""Apicurio Registry, which keeps its schemas in a topic, as a process with an interface of HTTP.

Its distribution for Java 17 is the newest of line 3.0: later lines need Java 21.
"""

from __future__ import annotations

import json
import tarfile
import urllib.request
from pathlib import Path
from typing import Any, Self

from compat_tests.kafka.support.builds import digest
from compat_tests.kafka.support.frameworks import FRAMEWORKS, Framework, jars
from compat_tests.support.artifacts import cache_folder, made
from compat_tests.support.processes import free_ports
from compat_tests.support.servers import HOST

START_SECONDS = 240.0
ANSWER_SECONDS = 120.0
MAIN = "io.quarkus.runner.GeneratedMain"
CONFLUENT = "/apis/ccompat/v7"
"""Path of the interface that Confluent's clients speak."""


def distribution() -> Path:
    """Return the folder of the unpacked distribution."""

    def unpack(aside: Path) -> None:
        (archive,) = jars("registry").glob("*.tar.gz")
        with tarfile.open(archive) as packed:
            packed.extractall(aside, filter="data")

    return made(cache_folder() / f"kafka-registry-{digest([FRAMEWORKS / 'registry.pom.xml'])}", unpack)


class Registry:
    """A registry with its journal in topics of one server."""

    def __init__(self, address: str, name: str, work: Path) -> None:
        self._work = work
        port = free_ports()
        self._ready = f"http://{HOST}:{port}/health/ready"
        self._url = f"http://{HOST}:{port}{CONFLUENT}"
        self._env = {
            "QUARKUS_HTTP_HOST": HOST,
            "QUARKUS_HTTP_PORT": str(port),
            "APICURIO_STORAGE_KIND": "kafkasql",
            "APICURIO_KAFKASQL_BOOTSTRAP_SERVERS": address,
            "APICURIO_KAFKASQL_TOPIC": f"{name}-journal",
            "APICURIO_KAFKASQL_SNAPSHOTS_TOPIC": f"{name}-snapshots",
        }
        self._process: Framework | None = None

    def start(self) -> Self:
        """Start the registry, and wait until it has read its journal; returns itself."""
        (runner,) = distribution().glob("*-runner.jar")
        self._process = Framework(self._work, str(runner), MAIN, [], self._env)
        self._process.wait_for(lambda lines: self._answers(), START_SECONDS, "the registry is ready")
        return self

    def kill(self) -> None:
        """Kill the registry; do nothing if it does not run."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *failure: object) -> None:
        self.kill()

    def register(self, subject: str, schema: dict[str, Any]) -> int:
        """Register a version of an Avro schema; return its id."""
        return int(self.ask("POST", f"/subjects/{subject}/versions", {"schema": json.dumps(schema)})["id"])

    def schema(self, identifier: int) -> dict[str, Any]:
        """Return the schema of an id."""
        found: dict[str, Any] = json.loads(self.ask("GET", f"/schemas/ids/{identifier}")["schema"])
        return found

    def versions(self, subject: str) -> list[int]:
        """Return the versions of a subject."""
        found: list[int] = self.ask("GET", f"/subjects/{subject}/versions")
        return found

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request and return its answer; raises `HTTPError` if it is refused."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
        request = urllib.request.Request(self._url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as answer:
            return json.loads(answer.read() or b"null")

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(self._ready, timeout=ANSWER_SECONDS).close()
        except OSError:
            return False
        return True
