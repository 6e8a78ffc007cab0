"""Processes killed by kill -9 during appends, on the real disk: acknowledged messages exist.

MQGATEWAY_KILLS is the number of kills.
"""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

from tests.support.engine.store.appender import body_of, open_store
from tests.support.engine.store.stores import drain

KILLS = int(os.environ.get("MQGATEWAY_KILLS", "4"))
PROJECT = Path(__file__).parents[3]


def append_until_killed(directory: Path, first: int, wanted: int) -> list[int]:
    """Start a process, kill it after this number of acknowledgements; return all that it acknowledged."""
    command = [sys.executable, "-m", "tests.support.engine.store.appender", str(directory), str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=PROJECT) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(wanted)]
        child.send_signal(signal.SIGKILL)
        lines += child.stdout.read().splitlines(keepends=True)
    return [int(line) for line in lines if line.endswith(b"\n")]


def test_acknowledged_messages_survive_kills(tmp_path: Path) -> None:
    choose = random.Random(KILLS)
    acknowledged: list[int] = []
    for _ in range(KILLS):
        first = acknowledged[-1] + 1000 if acknowledged else 0
        acknowledged += append_until_killed(tmp_path, first, choose.randint(1, 600))
    store = open_store(str(tmp_path))
    found: dict[int, bytes] = {}
    for queue_id in range(4):
        messages = drain(store, "kills", queue_id)
        assert [each.queue_offset for each in messages] == list(range(len(messages)))
        numbers = [int(each.body.split()[0]) for each in messages]
        assert numbers == sorted(numbers) and all(number % 4 == queue_id for number in numbers)
        found.update(zip(numbers, [each.body for each in messages], strict=True))
    assert set(acknowledged) <= set(found)
    assert all(body == body_of(number) for number, body in found.items())
    for number in choose.sample(acknowledged, 50):
        assert len(store.query("kills", f"k{number}", 9, 0, 1 << 60).records) == 1
    store.stop()
