"""Profiles of hypothesis, and the marker `slow`, for all tests of this folder."""

from __future__ import annotations

import gc
import os
from importlib.util import find_spec

import pytest
from hypothesis import settings

from tests.support.durations import LOG, TABLE, Durations, is_slow, load

IS_CI = os.environ.get("CI") == "true"
"""CI tests each commit with the same examples, so that a change is not blamed for an old fault; new examples
are drawn in every other run."""

# An example's duration depends on the load of the machine, so there is no deadline.
settings.register_profile("full", deadline=None, derandomize=IS_CI)
settings.register_profile("quick", deadline=None, max_examples=25, derandomize=IS_CI)
settings.load_profile("full")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record-durations",
        action="store_true",
        help="write the tests above the limit to tests/durations.json",
    )
    parser.addoption(
        "--log-durations",
        action="store_true",
        help="keep the tests above the limit of the last two runs in .tox",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: in stage two of the test command; set by measured time")
    if os.environ.get("TESTS_ARE_COMPILED") and not is_compiled():
        raise pytest.UsageError("the modules that are tested are not the compiled ones")
    table = TABLE if config.getoption("--record-durations") else None
    runs = LOG if config.getoption("--log-durations") else None
    if table is not None or runs is not None:
        config.pluginmanager.register(Durations(config, table=table, runs=runs), "durations")


def is_compiled() -> bool:
    """Return True if the modules that setup.py compiles are loaded in that form."""
    found = find_spec("mqgateway.gateway.remoting.protocol")
    return found is not None and not str(found.origin).endswith(".py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark slow tests, before pytest selects by markers."""
    table = load()
    for item in items:
        if is_slow(item.nodeid, table):
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """Take what is loaded by now out of garbage collection.

    Many tests collect when they end, to find failures that no code has handled. Without this, each of them
    goes through every collected test and module.
    """
    gc.collect()
    gc.freeze()
