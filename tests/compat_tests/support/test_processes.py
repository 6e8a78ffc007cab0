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
