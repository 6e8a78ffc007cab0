"""A topic and a group of it; a plugin of the modules whose scenarios have members."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from compat_tests.kafka.support.clients import KafkaClient
from compat_tests.kafka.support.groups import PARTITIONS, Group
from compat_tests.kafka.support.wire import create_topic


@pytest.fixture
def topic(client: KafkaClient, name: str) -> str:
    """A topic of six partitions."""
    create_topic(client.address, name, PARTITIONS)
    return name


@pytest.fixture
def group(client: KafkaClient, topic: str) -> Iterator[Group]:
    """A group of that topic, whose members leave at the end."""
    with ExitStack() as members:
        yield Group(client, topic, members)
