"""Commands change how the process logs; each test leaves it as it was."""

import logging
from collections.abc import Iterator

import pytest

from mqgateway.gateway.cli import logs


@pytest.fixture(autouse=True)
def _restore_logging(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(logs, "route_twisted", lambda: None)
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield
    root.handlers[:] = before
    root.setLevel(level)
