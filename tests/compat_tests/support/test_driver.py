"""A client program that has ended: no request waits for it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from typing import Any

import pytest

from compat_tests.support.driver import Driver
from compat_tests.support.processes import LocalProcess, Process


class ShortDriver(Driver):
    """A program that ends at once, without an answer."""

    def _start(self, runtime: Any, properties: Mapping[str, str]) -> Process:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        return LocalProcess(subprocess.Popen(["true"], **pipes))


def test_requests_to_an_ended_program_fail() -> None:
    driver: Any = ShortDriver(None, "1")  # type: ignore[arg-type]
    for _ in range(2):
        with pytest.raises(RuntimeError, match="the driver of client 1 has ended"):
            driver.ask("send", timeout=20)
    driver._reader.join(20)
    assert driver.has_ended
    driver.close()
