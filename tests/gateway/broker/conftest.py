"""Fixtures for tests of whole brokers in memory."""

from functools import partial

import pytest

from mqgateway.engine.timers.timers import Timers


@pytest.fixture
def short_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour of slots for timers, where a broker has two weeks of them: disks are in memory here."""
    monkeypatch.setattr("mqgateway.gateway.broker.assembly.Timers", partial(Timers, slots=3600))
