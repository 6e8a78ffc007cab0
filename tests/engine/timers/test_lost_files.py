"""Wheel and timer log lost, truncated or corrupted: every timer is delivered once, and the start reports the
damage.
"""

from collections.abc import Callable

import pytest

from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.timers.wheel import SLOT_SIZE
from tests.support.engine.timers.bench import START, Bench

COUNT = 200
WHEEL = "/store/timerwheel"
LOG = "/store/timerlog"


def waiting() -> Bench:
    """Return a bench with timers in three files of the timer log, a third of them delivered already."""
    bench = Bench()
    for number in range(COUNT):
        bench.set_at(b"%d" % number, START + 2500 + 1000 * (number % 30), f"k{number}")
    bench.pass_time(12_000)
    return bench


def left(bench: Bench) -> list[bytes]:
    """Return the deliveries from now to the end."""
    bench.pass_time(60_000)
    assert bench.timers.pending == 0
    return sorted(bench.bodies())


def whole() -> list[bytes]:
    return sorted(b"%d" % number for number in range(COUNT))


def flip_wheel(disk: CrashDisk) -> None:
    step = (START + 20_000) // 1000
    slot = step % (disk.size(WHEEL) // SLOT_SIZE)
    disk.flip(WHEEL, slot * SLOT_SIZE + 7, 3)


DAMAGE: dict[str, tuple[Callable[[CrashDisk], None], str]] = {
    "wheel flipped": (flip_wheel, "timerwheel is not as the last stop left it: its slots are rebuilt"),
    "wheel lost": (lambda disk: disk.lose(WHEEL), "timerwheel is missing: its slots are rebuilt"),
    "wheel cut": (lambda disk: disk.open(WHEEL).truncate(1000), "timerwheel has 1000 bytes"),
    "checkpoint lost": (lambda disk: disk.lose("/store/config/timercheck"), ""),
    **{
        f"log {start} lost": (
            lambda disk, start=start: disk.lose(f"{LOG}/{start:020d}"),  # type: ignore[misc]
            "timers are rebuilt from their topic",
        )
        for start in (0, 4096, 8192)
    },
    "log cut": (lambda disk: disk.open(f"{LOG}/{4096:020d}").truncate(99), "99 bytes"),
}


@pytest.mark.parametrize(("damage", "line"), DAMAGE.values(), ids=DAMAGE.keys())
def test_after_a_clean_stop_every_timer_is_delivered_once(
    damage: Callable[[CrashDisk], None], line: str, caplog: pytest.LogCaptureFixture
) -> None:
    bench = waiting()
    assert len(bench.disk.listdir(LOG)) == 3
    bench.stop()
    damage(bench.disk)
    again = bench.again(bench.disk)
    assert left(again) == whole()
    assert line in caplog.text


@pytest.mark.parametrize("start", [0, 4096, 8192])
def test_after_a_killed_process_every_timer_is_delivered_once(start: int) -> None:
    bench = waiting()
    bench.disk.lose(f"{LOG}/{start:020d}")
    assert left(bench.kill()) == whole()


def test_nothing_is_said_of_files_that_are_whole(caplog: pytest.LogCaptureFixture) -> None:
    bench = waiting()
    bench.stop()
    again = bench.again(bench.disk)
    assert "timerwheel" not in caplog.text and "rebuilt" not in caplog.text
    assert left(again) == whole()


def test_a_timer_log_whose_first_files_were_cleaned_is_whole(caplog: pytest.LogCaptureFixture) -> None:
    bench = waiting()
    bench.pass_time(60_000)
    bench.timers.log.files.drop_before(4096)
    bench.set_at(b"last", START + 90_000, "last")
    bench.pass_time(1000)
    bench.stop()
    again = bench.again(bench.disk)
    assert "rebuilt" not in caplog.text
    again.pass_time(60_000)
    assert b"last" in again.bodies()
