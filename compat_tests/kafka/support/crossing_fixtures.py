"""Fixtures of the scenarios with clients of both protocols.

A plugin of the modules with these scenarios, which load it: in the folder's `conftest` a change would
invalidate what was recorded of Apache Kafka, which has no part in them.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compat_tests.kafka.support.clients import Programs
from compat_tests.kafka.support.crossing import Crossing, crossing, mqadmin_at
from compat_tests.support.peers import Peers
from compat_tests.test_resets import Tool


@pytest.fixture(scope="module")
def both(peers: Peers, programs: Programs) -> Crossing:
    """The clients of both protocols at one server."""
    return crossing(peers, programs)


@pytest.fixture(scope="module")
def admin(both: Crossing) -> Iterator[Tool]:
    """The official mqadmin."""
    with mqadmin_at(both) as admin:
        yield admin
