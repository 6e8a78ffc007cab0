"""Ports of the processes of the suite."""

from __future__ import annotations

import pytest

from compat_tests.support import processes


def test_a_port_is_given_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that was given a port may not listen on it yet. A port in use is not given either."""
    monkeypatch.setattr(processes, "PORTS", (20_000, 20_003))
    monkeypatch.setattr(processes, "_GIVEN", set())
    monkeypatch.setattr(processes, "_is_free", lambda port: port != 20_002)
    assert processes.free_ports((0, 1)) == 20_000
    with pytest.raises(RuntimeError, match="no free ports"):
        processes.free_ports()


def test_limits_are_longer_on_a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds pass more slowly the more work waits for each core, up to a bound."""
    monkeypatch.setattr(processes.os, "cpu_count", lambda: 2)
    for load, expected in ((0.1, 1.0), (2.0, 1.0), (6.0, 3.0), (90.0, processes.SLOWEST)):
        monkeypatch.setattr(processes.os, "getloadavg", lambda load=load: (load, 0.0, 0.0))
        assert processes.slowness() == expected


@pytest.mark.parametrize(("slowness", "seconds"), [(1.0, 10), (3.0, 30)])
def test_a_wait_ends_after_its_limit(monkeypatch: pytest.MonkeyPatch, slowness: float, seconds: int) -> None:
    """The limit counts seconds of idle cores."""
    now = 0.0

    def sleep(interval: float) -> None:
        nonlocal now
        now += interval

    monkeypatch.setattr(processes, "slowness", lambda: slowness)
    monkeypatch.setattr(processes.time, "monotonic", lambda: now)
    monkeypatch.setattr(processes.time, "sleep", sleep)
    with pytest.raises(TimeoutError, match="not within 10 s: nothing"):
        processes.wait_until(lambda: False, 10, "nothing", 0.5)
    assert seconds < now <= seconds + 1
