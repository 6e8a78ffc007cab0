"""Timers' files that were damaged are found, and sound ones pass."""

from collections.abc import Callable

import pytest

from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.timers.wheel import SLOT_SIZE
from mqgateway.engine.upkeep.findings import Findings, Severity, StoreFinding
from mqgateway.engine.upkeep.layout import Layout
from mqgateway.engine.upkeep.timer_check import TimerCheck
from tests.engine.timers.test_lost_files import DAMAGE, WHEEL, waiting
from tests.support.engine.timers.bench import SLOTS, START, Bench


def errors(bench: Bench) -> list[StoreFinding]:
    findings = Findings()
    TimerCheck(Layout(bench.disk, bench.options), findings, SLOTS).run()
    return [finding for finding in findings.kept if finding.severity is Severity.ERROR]


def test_sound_timers_pass_running_or_stopped() -> None:
    bench = waiting()
    assert errors(bench) == []
    bench.stop()
    assert errors(bench) == []
    assert errors(Bench()) == []


@pytest.mark.parametrize("name", [name for name in DAMAGE if name not in ("checkpoint lost", "log 0 lost")])
def test_each_damage_is_found(name: str) -> None:
    bench = waiting()
    bench.stop()
    damage: Callable[[CrashDisk], None] = DAMAGE[name][0]
    damage(bench.disk)
    found = errors(bench)
    assert found
    assert all("timerwheel" in each.path or "timerlog" in each.path for each in found)


def test_any_bit_of_a_wheel_is_found_by_its_checksum_and_named_where_it_can_be() -> None:
    bench = waiting()
    bench.stop()
    step = (START + 20_000) // 1000
    at = step % (2 * SLOTS) * SLOT_SIZE
    for byte in (7, 12, 20, 27):
        bench.disk.flip(WHEEL, at + byte)
        found = errors(bench)
        assert "not as the last stop left it" in found[0].what
        if byte != 27:  # the count of timers
            assert found[1].offset == at, byte
        bench.disk.flip(WHEEL, at + byte)
    assert errors(bench) == []
