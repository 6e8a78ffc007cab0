"""The whole server, as a process, on a real folder: a lost log file, an emptied table."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mqgateway.engine.options import StoreOptions
from mqgateway.engine.real_disk import ReadOnlyDisk
from mqgateway.engine.upkeep.check import check_store
from mqgateway.gateway.client.blocking import Producer, PullConsumer
from mqgateway.gateway.client.message import Message

ROOT = Path(__file__).parents[3]
COUNT = 120
SIZE = 2000
FILE = 1 << 16
START_SECONDS = 60


def command(folder: Path, *more: str) -> list[str]:
    serve = [
        sys.executable,
        "-m",
        "mqgateway.gateway.cli.main",
        "serve",
        "--data-dir",
        str(folder),
        "--output",
        "json",
    ]
    ports = ["--broker-port", "0", "--namesrv-port", "0", "--bind", "127.0.0.1", "--advertise", "127.0.0.1"]
    return [*serve, *ports, "--set", f"mappedFileSizeCommitLog={FILE}", *more]


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Run a server, yield the address of its name server, and stop it cleanly."""
    with (
        (folder / "log").open("ab") as log_file,
        subprocess.Popen(
            command(folder / "data"), cwd=ROOT, env=dict(os.environ), stdout=subprocess.PIPE, stderr=log_file
        ) as popen,
    ):
        assert popen.stdout is not None
        try:
            ready = json.loads(popen.stdout.readline() or "{}")
            yield str(ready["nameServer"])
            popen.terminate()
            assert popen.wait(START_SECONDS) == 0
        finally:
            popen.kill()


def fill(folder: Path) -> None:
    with serving(folder) as namesrv, Producer("filling", namesrv) as producer:
        for number in range(COUNT):
            producer.send(Message("orders", b"%d " % number + bytes(SIZE)))


def numbers(folder: Path) -> list[int]:
    """Return the numbers of the messages that a consumer can read."""
    found = []
    with serving(folder) as namesrv, PullConsumer("reading", namesrv) as consumer:
        for queue in consumer.queues("orders"):
            offset = consumer.min_offset(queue)
            while offset < consumer.max_offset(queue):
                pulled = consumer.pull(queue, offset)
                found += [int(message.body.split()[0]) for message in pulled.messages]
                offset = pulled.next_offset
    return sorted(found)


def content(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return the content and the modification time (ns) of every file."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def test_a_log_file_that_is_missing_stops_the_start_and_costs_no_other_file(tmp_path: Path) -> None:
    fill(tmp_path)
    store = tmp_path / "data" / "store"
    logs = sorted((store / "commitlog").iterdir())
    assert len(logs) == 5
    kept = logs[2].read_bytes()
    logs[2].unlink()
    before = content(store)
    start = subprocess.run(
        command(tmp_path / "data"),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
        check=False,
    )
    assert start.returncode == 1
    for words in (f"{logs[2]} is missing", f"between {2 * FILE} and {3 * FILE}", "nothing was changed"):
        assert words in start.stderr
    assert content(store) == before
    report = check_store(ReadOnlyDisk(), StoreOptions(store_path_root_dir=str(store)))
    assert any(
        finding.path == str(logs[2]) and "is missing" in finding.what for finding in report.findings.kept
    )
    logs[2].write_bytes(kept)
    assert numbers(tmp_path) == list(range(COUNT))


def test_an_emptied_table_of_topics_hides_no_message(tmp_path: Path) -> None:
    fill(tmp_path)
    topics = tmp_path / "data" / "store" / "config" / "topics.json"
    topics.write_bytes(b"")
    topics.with_name("topics.json.bak").write_bytes(b"{}")
    assert numbers(tmp_path) == list(range(COUNT))
    log = (tmp_path / "log").read_text()
    assert "1 topics have messages and were in no table: repaired from the log: orders" in log
