"""The saver of a broker: a process of its own beside one that runs, and none without an object store."""

from types import SimpleNamespace
from typing import Any

from mqgateway.gateway.cli.settings import BrokerSettings
from mqgateway.gateway.cli.tier_start import start_saver


def test_no_process_without_an_object_store() -> None:
    anything: Any = SimpleNamespace()
    assert start_saver(anything, BrokerSettings(), anything, anything) is None
