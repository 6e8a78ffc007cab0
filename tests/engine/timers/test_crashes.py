"""Crash of the process, and power cut, at every step of a life with timers.

One life (timers set in bursts, some deleted, one beyond the window, some shorter than a step) is ended at
each change of the disk in turn. After a crash of the process each acknowledged timer is delivered exactly
once. After a power cut so is each whose message had reached the disk; no other is delivered twice.
"""

import os

import pytest

from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.testing.disk_faults import PowerCut
from tests.support.engine.timers.bench import Bench

EVERY = int(os.environ.get("TIMER_CRASHES_EVERY", "29"))
"""One in this many steps is tried; 1 tries all."""
SETTINGS = {
    "timer_precision_ms": 100,
    "timer_roll_window_slot": 20,
    "timer_flush_interval_ms": 200,
    "flush_interval_commit_log": 100,
    "max_timers_per_tick": 6,
}


class Life:
    """Timers that were set: due times by body, and those whose message is known to be on disk."""

    def __init__(self, cut_at: int | None = None) -> None:
        self.bench = Bench(**SETTINGS)
        self.disk: CrashDisk = self.bench.disk
        self.disk.cut_at = cut_at
        self.due: dict[bytes, int] = {}
        self.ends: dict[bytes, int] = {}
        self.durable: set[bytes] = set()
        self.doomed: set[bytes] = set()

    def add(self, delay: int) -> None:
        bench, body = self.bench, b"%d" % len(self.due)
        time = bench.now + delay
        bench.set_at(body, time, body.decode())
        self.due[body] = time
        self.ends[body] = bench.store.max_physical_offset

    def delete(self, body: bytes) -> None:
        self.doomed.add(body)  # even if the power is cut before that is acknowledged
        assert self.bench.delete(body.decode(), self.due[body]) is None

    def tick(self) -> None:
        self.bench.clock.advance(70)
        self.bench.tick()
        flushed = self.bench.store.flushed_offset
        self.durable |= {body for body, end in self.ends.items() if end <= flushed}

    def live(self) -> None:
        for burst in range(6):
            for delay in (30, 450, 450, 450, 460, 900, 1300):
                self.add(delay)
            if burst == 1:
                self.add(5200)
                self.tick()
                self.delete(b"5")
            self.tick()
        for _ in range(8):
            self.tick()

    def check(self, again: Bench, expected: set[bytes]) -> None:
        """Advance the clock to the end; each of the expected is delivered once, none early."""
        again.tick()
        seen: list[bytes] = again.bodies()
        for _ in range(100):
            again.pass_time(100)
            now = again.now
            for body in again.bodies()[len(seen) :]:
                assert self.due.get(body, now) <= now, f"{body!r} came early"
                seen.append(body)
        assert len(set(seen)) == len(seen), sorted(seen)
        assert expected - self.doomed <= set(seen)
        assert again.timers.pending == 0


def operations() -> int:
    life = Life()
    before = life.disk.operations
    life.live()
    life.check(life.bench, set(life.due))
    assert not life.doomed & set(life.bench.bodies())
    assert before < 100
    return life.disk.operations


TOTAL = operations()


@pytest.mark.parametrize("first", range(2))
def test_the_process_dies_at_any_step(first: int) -> None:
    for cut_at in range(40 + first * EVERY, TOTAL, 2 * EVERY):
        life = Life(cut_at)
        with pytest.raises(PowerCut):
            life.live()
            life.check(life.bench, set())
        life.disk.cut_at = None
        life.disk._dead = False
        life.check(life.bench.kill(), set(life.due))


@pytest.mark.parametrize("seed", range(3))
def test_the_power_goes_at_any_step(seed: int) -> None:
    for cut_at in range(40 + seed * EVERY, TOTAL, 3 * EVERY):
        life = Life(cut_at)
        with pytest.raises(PowerCut):
            life.live()
            life.check(life.bench, set())
        life.check(life.bench.crash(seed * 1000 + cut_at), life.durable)
