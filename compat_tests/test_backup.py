"""Backups taken under load: a restored store has all messages acknowledged before, and groups resume."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from compat_tests.support.artifacts import CURRENT
from compat_tests.support.driver import message
from compat_tests.support.offset_table import offsets_on_disk
from compat_tests.support.peers import Peer, Peers
from compat_tests.support.processes import free_ports, wait_until
from compat_tests.support.servers import HOST, ROOT, Server, our_serve

SETTINGS = {"mappedFileSizeCommitLog": str(1 << 20), "flushConsumerOffsetInterval": "200"}
MESSAGES = 500


def store_command(*arguments: str) -> dict[str, Any]:
    """Run a command of `mqgateway store` and return its JSON output."""
    command = [sys.executable, "-c", "from mqgateway.gateway.cli.main import main; main()", "store"]
    said = subprocess.run([*command, *arguments, "--json"], cwd=ROOT, capture_output=True, timeout=120)
    assert said.returncode == 0, said.stderr.decode()
    found: dict[str, Any] = json.loads(said.stdout)
    return found


class Home:
    """A name server and a broker in one process, on a folder."""

    def __init__(self, folder: Path) -> None:
        namesrv, broker = free_ports(), free_ports((-2, 0, 1))
        self.namesrv_address = f"{HOST}:{namesrv}"
        self._part = our_serve(folder, namesrv, broker, SETTINGS)

    def __enter__(self) -> Home:
        self._part.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._part.kill9()


def read_all(peer: Peer, topic: str) -> set[str]:
    """Return the bodies of a topic; fail if its offsets have gaps."""
    bodies: set[str] = set()
    with peer.pull(peer.name("auditors")) as consumer:
        for queue in consumer.queues(topic):
            offset, end = consumer.min_offset(queue), consumer.max_offset(queue)
            while offset < end:
                pulled = consumer.pull(queue, offset)
                assert [one.queue_offset for one in pulled.messages] == list(
                    range(offset, pulled.next_offset)
                )
                bodies |= {one.body for one in pulled.messages}
                offset = pulled.next_offset
    return bodies


@pytest.mark.overlap
@pytest.mark.both_servers
@pytest.mark.parametrize("writer", ["ours", pytest.param("apache", marks=pytest.mark.long)])
def test_backup_under_load_has_acknowledged_messages(writer: str, peers: Peers, tmp_path: Path) -> None:
    """Two backups, the second incremental; restored beside the store, whole and at a point in between."""
    backups = str(tmp_path / "backups")
    with Server(writer, tmp_path, SETTINGS) as home:
        peer = Peer(home.namesrv_address, peers.driver(CURRENT), CURRENT)
        topic, group = peer.topic("kept", 2), peer.name("readers")
        with peer.producer(retries=0) as producer:
            before = [f"before-{number}" for number in range(100)]
            producer.send([message(topic, body) for body in before], "async")
            with peer.push(group, {topic: "*"}) as consumer:
                consumer.collect(100)
            wait_until(lambda: has_committed(home.store_dir, topic, group, 100), 20, "offsets are on disk")
            first = store_command("backup", str(home.store_dir), backups)
            time.sleep(1)  # backups are named by seconds
            storm: Future[list[str]] = producer.begin_storm(topic, 4, 3_000)
            wait_until(lambda: producer.storm_count() >= MESSAGES, 60, "a storm", 0.02)
            # What is counted now was acknowledged before the backup began.
            acknowledged = producer.storm_count()
            second = store_command("backup", str(home.store_dir), backups)
            after_backup = set(storm.result(60))
        peer.close()
    restored = store_command("restore", backups, str(tmp_path / "second" / "store"))
    assert (restored["sound"], restored["logEnd"]) == (True, second["logEnd"])
    early = store_command(
        "restore", backups, str(tmp_path / "third" / "store"), "--until-offset", str(first["logEnd"])
    )
    assert (early["sound"], early["logEnd"]) == (True, first["logEnd"])
    counted = store_command("stats", str(tmp_path / "third" / "store"))["topics"]
    assert [one["messages"] for one in counted if one["topic"] == topic] == [len(before)]
    with Home(tmp_path / "second") as home:
        peer = Peer(home.namesrv_address, peers.driver(CURRENT), "restored")
        found = read_all(peer, topic)
        assert set(before) <= found <= set(before) | after_backup
        assert len(found) >= acknowledged + len(before)
        with peer.push(group, {topic: "*"}) as consumer:
            rest = consumer.collect(len(found) - len(before))
        assert {one.body for one in rest}.isdisjoint(before)
        peer.close()


def has_committed(store: Path, topic: str, group: str, count: int) -> bool:
    """Return True if the table on disk has the group's offsets after all messages."""
    path = store / "config" / "consumerOffset.json"
    queues = offsets_on_disk(path).get(f"{topic}@{group}", {})
    return int(sum(queues.values())) == count
