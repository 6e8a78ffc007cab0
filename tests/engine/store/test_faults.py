"""A disk that is full, read-only or faulty at any call: reported, nothing corrupted, service resumes when it
can.

Every fourth call fails in its own run; with MQGATEWAY_FAULTS=all every one does.
"""

import errno
import os
from itertools import count
from typing import Any

import pytest

from mqgateway.engine.options import FlushDiskType
from mqgateway.engine.overlay import Overlay
from mqgateway.engine.store.message_store import MessageStore, PutStatus
from mqgateway.engine.testing.disk_faults import PowerCut
from mqgateway.engine.worker import InlineWorker
from tests.support.engine.store.stores import HOST, Bench, drain, message, options

EVERY = 1 if os.environ.get("MQGATEWAY_FAULTS") == "all" else 4
REFUSED = PutStatus.SERVICE_NOT_AVAILABLE
PUTS = 28
CHANGES: dict[str, Any] = {"flush_consume_queue_thorough_interval": 2000}


class Run:
    """Puts with flushes and rounds between them; `taken` are the messages reported as stored, `durable` those
    reported as flushed.
    """

    def __init__(self, **changes: Any) -> None:
        self.bench = Bench(**CHANGES, **changes)
        self.taken: list[bytes] = []
        self.durable: list[bytes] = []
        self.remarks: list[str] = []

    def go(self) -> None:
        for i in range(PUTS):
            self.put(b"%d " % i + b"x" * (i % 5 * 90))
            if i % 4 == 3:
                self.bench.clock.advance(600)
                self.bench.store.tick()

    def put(self, body: bytes) -> None:
        store = self.bench.store
        result = store.put(message(body=body, properties={"KEYS": "k"}))
        if result.status is PutStatus.PUT_OK:
            self.taken.append(body)
            store.when_flushed(result.end_offset, lambda status: self._said(status, body))
        else:
            assert result.status is REFUSED
            self.remarks.append(result.remark)
        store.dispatch()

    def _said(self, status: PutStatus, body: bytes) -> None:
        if status is PutStatus.PUT_OK:
            self.durable.append(body)

    def found(self, bench: Bench | None = None) -> list[bytes]:
        return [m.body for m in drain((bench or self.bench).store)]


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("call", ["write", "truncate", "open", "window"])
def test_failed_write_is_refused_and_service_resumes(call: str, error: int) -> None:
    refused = 0
    for nth in count(0, EVERY):
        run = Run()
        fault = run.bench.disk.fail_next(call, "/store/", error, times=2, skip=nth)
        run.go()
        if not fault.has_hit:
            break
        refused += len(run.remarks)
        assert all("/store/" in remark for remark in run.remarks)
        run.bench.disk.heal()
        run.bench.clock.advance(2000)
        run.bench.store.tick()
        run.put(b"after")
        assert run.durable[-1] == b"after" and run.durable == run.taken, nth
        assert run.found() == run.taken
        again = run.bench.crash(nth)
        assert run.found(again) == run.taken, nth
        assert len(again.store.query("orders", "k", 64, 0, 1 << 60).records) == len(run.taken)
    assert nth and (refused > 3 or call != "write")


def test_a_full_disk_refuses_all_until_there_is_room(caplog: pytest.LogCaptureFixture) -> None:
    run = Run()
    run.put(b"before")
    for call in ("write", "truncate", "open"):
        run.bench.disk.fail_next(call, "/store/", errno.ENOSPC, times=1000)
    caplog.clear()
    run.go()
    assert run.taken == [b"before"]
    assert len(run.remarks) == PUTS
    assert all("No space left" in remark and "/store/" in remark for remark in run.remarks)
    said = [record for record in caplog.records if "commit log cannot be written" in record.message]
    assert len(said) == 1
    assert run.found() == [b"before"]
    run.bench.disk.heal()
    run.bench.clock.advance(2000)
    run.bench.store.tick()
    run.go()
    assert run.found() == run.taken and len(run.taken) == PUTS + 1


@pytest.mark.parametrize("kind", list(FlushDiskType))
def test_a_sync_that_failed_is_never_trusted(kind: FlushDiskType) -> None:
    stopped = 0
    for nth in count(0, EVERY):
        run = Run(flush_disk_type=kind)
        fault = run.bench.disk.fail_next("sync", "/store/", errno.EIO, skip=nth)
        run.go()
        if not fault.has_hit:
            break
        stopped += bool(run.remarks)
        assert all("could not be written to disk" in remark for remark in run.remarks)
        for seed in range(3):
            left = run.found(run.bench.crash(seed))
            assert left[: len(run.durable)] == run.durable, (nth, seed)
            assert left == run.taken[: len(left)]
        again = run.bench.restart()
        assert run.found(again) == run.taken
        assert again.put(message(body=b"after")) == [len(run.taken)]
    assert stopped > 3


def test_a_failed_sync_of_a_folder_counts_as_well() -> None:
    run = Run()
    run.bench.disk.fail_next("sync_dir", "/store/commitlog", errno.EIO)
    run.go()
    assert run.remarks
    assert run.durable == []


def test_tail_of_failed_write_never_mixes_with_later_record() -> None:
    """The tail is zeroed, on the disk too, before another record is written there."""
    properties = {"KEYS": "k", "filler": "a" * 1400}
    for seed in range(80):
        bench = Bench()
        bench.put(message(body=b"first"))
        bench.disk.fail_next("write", "/commitlog", errno.ENOSPC, part=0.9)
        refused = bench.store.put(message(body=b"x" * 300, properties={"KEYS": "k", "filler": "b" * 1400}))
        assert refused.status is REFUSED
        bench.put(message(body=b"x" * 300, properties=properties))
        for left in drain(bench.crash(seed).store)[1:]:
            assert left.properties == properties, seed


def test_a_store_that_cannot_be_read_says_so_and_recovers() -> None:
    run = Run()
    run.go()
    run.bench.disk.fail_next("read", "/commitlog", errno.EIO)
    assert run.bench.store.get("orders", 0, 0, 32).status.name == "OFFSET_FOUND_NULL"
    assert run.found() == run.taken


@pytest.mark.parametrize("call", ["read", "write", "sync", "sync_dir", "open", "truncate", "unlink"])
def test_a_start_that_fails_spoils_nothing_for_the_next(call: str) -> None:
    failed = 0
    for nth in count(0, EVERY):
        run = Run()
        run.go()
        disk = run.bench.disk.kill()
        fault = disk.fail_next(call, "/store/", errno.EIO, skip=nth)
        store = MessageStore(
            options(**CHANGES), disk=disk, clock=run.bench.clock, worker=InlineWorker(), store_host=HOST
        )
        try:
            store.start()
        except OSError as error:
            failed += 1
            assert "/store/" in str(error)
            store.stop()
        if not fault.has_hit:
            break
        disk.heal()
        disk.kill()
        again = run.bench.again()
        assert run.found(again) == run.taken
        assert not again.report.clean
    assert failed or call == "unlink"


WRITING = {
    errno.ENOSPC: ("write", "open", "truncate", "window", "makedirs", "rename"),
    errno.EROFS: ("write", "open", "truncate", "window", "makedirs", "rename", "unlink"),
}
"""Calls that such a disk refuses."""


class Held:
    """A start on a disk that refuses writes from the nth call of a kind on."""

    def __init__(self, bench: Bench, call: str, error: int, nth: int) -> None:
        self.bench = bench
        self.fault = bench.disk.fail_next(call, "/store", error, times=1, skip=nth)
        self.overlay = Overlay(bench.disk)
        self.overlay.begin()
        bench.disk.watch = lambda _operation: self._all_fail(error)
        self.store = MessageStore(
            options(**CHANGES), disk=self.overlay, clock=bench.clock, worker=InlineWorker(), store_host=HOST
        )
        self.store.start()
        self.overlay.end()
        self.store.disk_settled(self.overlay.refusal)
        if self.fault.has_hit:
            self._fail_all(error)

    def _all_fail(self, error: int) -> None:
        if self.fault.has_hit:
            self.bench.disk.watch = None
            self._fail_all(error)

    def _fail_all(self, error: int) -> None:
        for call in WRITING[error]:
            self.bench.disk.fail_next(call, "/store", error, times=1 << 30)

    def found(self) -> list[bytes]:
        return [m.body for m in drain(self.store)]

    def heal(self) -> None:
        self.bench.disk.heal()
        self.bench.disk.watch = None

    def settle(self) -> None:
        assert self.overlay.carry_out()
        self.overlay.settle()
        self.store.disk_settled("")


def run_that_ended(*, cleanly: bool) -> Run:
    run = Run()
    run.go()
    if cleanly:
        run.bench.store.stop()
    run.bench.disk.kill()
    return run


@pytest.mark.parametrize("cleanly", [True, False])
@pytest.mark.parametrize(
    ("call", "error"), [(call, error) for error in (errno.ENOSPC, errno.EROFS) for call in WRITING[error]]
)
def test_a_start_serves_what_is_stored_whatever_cannot_be_written(
    call: str, error: int, cleanly: bool
) -> None:
    held = 0
    for nth in count(0, EVERY):
        run = run_that_ended(cleanly=cleanly)
        start = Held(run.bench, call, error, nth)
        if not start.fault.has_hit or not start.overlay.refusal:
            break
        held += 1
        assert start.found() == run.taken, nth
        refused = start.store.put(message(body=b"refused"))
        assert refused.status is REFUSED
        assert os.strerror(error) in refused.remark and "/store" in refused.remark
        assert start.store.admin.runtime_info()["writesRefused"] == refused.remark
        for _ in range(5):
            run.bench.clock.advance(700)
            start.store.tick()
        assert not start.overlay.carry_out()
        assert len(start.store.query("orders", "k", 64, 0, 1 << 60).records) == len(run.taken)
        left = run.bench.disk.crash(nth)
        assert run.found(run.bench.again(left)) == run.taken, nth
        start.heal()
        start.settle()
        run.bench.clock.advance(1000)
        start.store.tick()
        assert start.store.put(message(body=b"after", properties={"KEYS": "k"})).status is PutStatus.PUT_OK
        start.store.dispatch()
        for _ in range(20):
            run.bench.clock.advance(700)
            start.store.tick()
        assert start.found() == [*run.taken, b"after"], nth
        again = run.bench.crash(nth)
        assert run.found(again) == [*run.taken, b"after"], nth
        assert len(again.store.query("orders", "k", 64, 0, 1 << 60).records) == len(run.taken) + 1
    assert held or call in ("rename", "makedirs", "window", "unlink", "truncate")


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS])
@pytest.mark.parametrize("cleanly", [True, False])
def test_a_power_cut_while_held_changes_are_carried_out_spoils_nothing(cleanly: bool, error: int) -> None:
    for number in count(1, EVERY):
        run = run_that_ended(cleanly=cleanly)
        disk = run.bench.disk
        start = Held(run.bench, "open" if error == errno.EROFS else "write", error, 0)
        start.heal()
        disk.cut_at = disk.operations + number
        try:
            start.settle()
        except PowerCut:
            for seed in range(3):
                assert run.found(run.bench.again(disk.crash(seed))) == run.taken, (number, seed)
        else:
            break
    assert number > 1


def test_a_store_stopped_while_its_disk_takes_nothing_is_as_it_was() -> None:
    run = run_that_ended(cleanly=True)
    start = Held(run.bench, "open", errno.EROFS, 0)
    start.store.tick()
    start.store.stop()
    start.heal()
    again = run.bench.again()
    assert again.report.clean and run.found(again) == run.taken
