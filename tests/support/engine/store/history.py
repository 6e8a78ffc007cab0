"""One scripted life of a store, and what its files hold afterwards.

Everything that goes into the files is given here: times, hosts, keys. So two versions of the store that are
one on disk leave the same bytes. `python -m tests.support.engine.store.history` prints a line for each file;
run it in two checkouts and compare.
"""

from __future__ import annotations

import hashlib
import os
from unittest.mock import patch

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.message import Message, SysFlag
from mqgateway.engine.testing.crash_disk import CrashDisk
from tests.support.engine.store.stores import HOST_V6, ROOT, Bench, batch, message

PROCESS = 4711
MINUTE, DAY = 60_000, 86_400_000
SETTINGS = {
    "enable_lmq": True,
    "enable_multi_dispatch": True,
    "file_reserved_time": 48,
    "mapper_file_size_batch_consume_queue": 460,
    "queue_table_from": 1,
}


def digests(disk: CrashDisk) -> dict[str, str]:
    """By path below the store's folder: how many bytes a file has, and what it says in short."""
    found = {}
    for path in sorted(disk.files(ROOT)):
        data = disk.read_bytes(path)
        said = hashlib.sha256(path.encode() + b"\0" + data).hexdigest()
        found[path.removeprefix(f"{ROOT}/")] = f"{len(data)} {said[:16]}"
    return found


def live() -> dict[str, dict[str, str]]:
    """The files after the first stop, and after deletions, a death, a power cut and a last stop."""
    with patch.object(os, "getpid", lambda: PROCESS):
        bench = Bench(clock=ManualClock(), **SETTINGS)
        _put_every_kind(bench)
        bench.store.stop()
        begun = digests(bench.disk)
        bench = bench.again()
        _put_many(bench, 40)
        bench = bench.kill()
        bench.store.admin.delete_topics(["bills", "unknown"])
        _put_every_kind(bench)
        bench = bench.crash(7)
        _put_many(bench, 25)
        bench.clock.advance(3 * DAY)
        bench.store.admin.delete_expired_files()
        for _ in range(20):
            bench.clock.advance(MINUTE)
            bench.store.tick()
        _put_every_kind(bench)
        bench.store.stop()
        return {"begun": begun, "ended": digests(bench.disk)}


def _put_every_kind(bench: Bench) -> None:
    store = bench.store
    bench.put(
        message(),
        message("bills", 3, b"", {"TAGS": "b", "KEYS": "k1 k2", "UNIQ_KEY": "U1"}),
        message("letters", body=b"\xff" * 900, flag=-1, sys_flag=SysFlag.COMPRESSED, reconsume_times=2),
        message("t" * 130, body="Grüße".encode(), properties={}),
        message("SCHEDULE_TOPIC_XXXX", 2, properties={"DELAY": "3", "REAL_TOPIC": "orders", "REAL_QID": "0"}),
        message(properties={"INNER_MULTI_DISPATCH": "%LMQ%one,%LMQ%two"}),
        message(
            "RMQ_SYS_TRANS_HALF_TOPIC", sys_flag=SysFlag.TRANSACTION_PREPARED, properties={"TRAN_MSG": "true"}
        ),
        message("orders", 1, sys_flag=SysFlag.TRANSACTION_COMMIT, prepared_transaction_offset=12),
    )
    bench.clock.advance(1234)
    bench.put(Message("orders", 0, b"6", {}, 5, HOST_V6, HOST_V6))
    whole = message("letters", 1, properties={}, sys_flag=0)
    assert store.put_batch(whole, batch(b"one", b"two", b"three")).status.name == "PUT_OK"
    inner = message("batched", body=batch(b"1", b"2"), properties={"UNIQ_KEY": "B"})
    assert store.put_inner_batch(inner).status.name == "PUT_OK"
    store.dispatch()
    bench.clock.advance(10_000)
    store.tick()


def _put_many(bench: Bench, count: int) -> None:
    for number in range(count):
        properties = {"KEYS": f"key{number}", "TAGS": "ab"[number % 2]}
        bench.put(message("orders", number % 4, b"%d" % number * 20, properties))
        bench.clock.advance(700)
        bench.store.tick()


def lines(moments: dict[str, dict[str, str]]) -> list[str]:
    """A line for each file at each moment."""
    return [f"{moment} {path} {said}" for moment, files in moments.items() for path, said in files.items()]


if __name__ == "__main__":
    print("\n".join(lines(live())))
