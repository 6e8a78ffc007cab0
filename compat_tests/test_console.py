"""The console of our broker in a cluster with a broker of Apache's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.request import HTTPCookieProcessor, OpenerDirector, Request, build_opener

import pytest

from compat_tests.support.peers import Peers
from compat_tests.support.processes import free_ports
from compat_tests.support.servers import HOST, apache_broker, our_serve, wait_until_registered

pytestmark = [pytest.mark.overlap, pytest.mark.both_servers]

NAMES = {"broker-ours", "broker-apache"}
READ_SECONDS = 30


class ConsoleClient:
    """A caller of the API, logged in with the link in the log of the server."""

    def __init__(self, port: int, log: Path) -> None:
        self._base = f"http://{HOST}:{port}/api/v1"
        self._opener: OpenerDirector = build_opener(HTTPCookieProcessor(CookieJar()))
        self._headers = {"Content-Type": "application/json"}
        found = re.search(r"#token=(\S+)", log.read_text())
        assert found is not None, log
        self.ask("/session", {"token": found[1]})
        self._headers["x-console-token"] = self.ask("/session")["csrf"]

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Return the answer to a GET, with a body to a POST."""
        data = None if body is None else json.dumps(body).encode()
        with self._opener.open(
            Request(self._base + path, data, self._headers), timeout=READ_SECONDS
        ) as answer:
            return json.loads(answer.read())


@contextmanager
def both_brokers(work: Path) -> Iterator[ConsoleClient]:
    """Start our name server, our broker with a console, and Apache's broker."""
    namesrv, console = free_ports(), free_ports()
    folder, address = work / "console", f"{HOST}:{namesrv}"
    ours = {"brokerName": "broker-ours", "consolePort": str(console)}
    parts = [
        our_serve(folder / "ours", namesrv, free_ports((-2, 0, 1)), ours),
        apache_broker(folder / "apache", free_ports((-2, 0, 1)), address, {"brokerName": "broker-apache"}),
    ]
    try:
        for part in parts:
            part.start()
        wait_until_registered(address, NAMES)
        yield ConsoleClient(console, folder / "ours" / "serve.log")
    finally:
        for part in parts:
            part.kill9()


def test_topics_groups_and_replicas_of_apaches_broker_are_in_the_lists(peers: Peers) -> None:
    with both_brokers(peers.work) as console:
        console.ask("/topics", {"topic": "OfBoth", "readQueues": 3, "writeQueues": 2})
        page = console.ask("/cluster/topics?search=OfBoth")
        [row] = page["rows"]
        assert page["unanswered"] == []
        assert {one["broker"]: (one["readQueues"], one["error"]) for one in row["brokers"]} == dict.fromkeys(
            NAMES, (3, "")
        )
        queues = console.ask("/cluster/topics/OfBoth")["rows"]
        assert sorted({(one["broker"], one["queueId"]) for one in queues}) == [
            (name, queue) for name in sorted(NAMES) for queue in range(3)
        ]
        groups = console.ask("/cluster/groups?system=true&limit=500")
        shared = [one for one in groups["rows"] if len(one["brokers"]) == 2]
        assert groups["unanswered"] == [] and shared
        assert not [place["error"] for one in shared for place in one["brokers"] if place["error"]]
        by_lag = console.ask("/cluster/groups?system=true&limit=500&sort=behind&descending=true")
        assert by_lag["unsorted"] == ["broker-apache"] and by_lag["total"] == groups["total"]
        replicas = console.ask("/cluster/replication")
        assert {row["broker"] for row in replicas["rows"]} == NAMES and not replicas["unanswered"]
