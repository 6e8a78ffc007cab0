"""Errors for users leave a process that shows no way they came; faults do not."""

from __future__ import annotations

import os

import pytest

from mqgateway.gateway.client.errors import Unreachable
from mqgateway.pipeline.errors import BadOption
from mqgateway.pipeline.plain import HIDE_TRACEBACK, plainly


@pytest.mark.parametrize(
    ("error", "is_hidden"),
    [(BadOption("a", "b", "c"), True), (Unreachable("x"), True), (KeyError("x"), False)],
)
def test_tracebacks_of_user_errors_are_hidden(
    monkeypatch: pytest.MonkeyPatch, error: Exception, is_hidden: bool
) -> None:
    # Set and removed, so that what the test leaves is taken away again.
    monkeypatch.setenv(HIDE_TRACEBACK, "")
    monkeypatch.delenv(HIDE_TRACEBACK)

    @plainly()
    def failing() -> None:
        raise error

    with pytest.raises(type(error)):
        failing()
    assert (HIDE_TRACEBACK in os.environ) is is_hidden
