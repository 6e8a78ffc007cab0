"""The fixtures of the pytest plugin; compat_tests show that they are found without an import."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mqgateway.gateway import pytest_plugin as plugin
from mqgateway.gateway.testing import server

ENTRY_POINT = "mqgateway = mqgateway.gateway.pytest_plugin"


class Fake:
    made: list[Fake] = []

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.is_open = False
        self.made.append(self)

    def __enter__(self) -> Fake:
        self.is_open = True
        return self

    def __exit__(self, *_: object) -> None:
        self.is_open = False

    def create_topic(self) -> str:
        return "a topic"

    def create_group(self) -> str:
        return "a group"


def called(fixture: Any, *args: Any) -> Any:
    """Return the result of the function of a fixture."""
    return fixture.__wrapped__(*args)


def test_each_test_has_a_server_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "Server", Fake)
    given: Iterator[Any] = called(plugin.rocketmq_server, {"speed": 10})
    fake = next(given)
    assert fake.is_open and fake.settings == {"speed": 10}
    assert called(plugin.rocketmq_topic, fake) == "a topic"
    assert called(plugin.rocketmq_group, fake) == "a group"
    assert next(given, None) is None and not fake.is_open


def test_there_are_no_settings_unless_overridden() -> None:
    assert called(plugin.rocketmq_settings) == {}


def test_setup_declares_the_plugin() -> None:
    assert ENTRY_POINT in (Path(__file__).parents[2] / "setup.cfg").read_text()
