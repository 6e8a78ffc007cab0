"""Selectors choose the queue that the official client chooses."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.gateway.client.errors import BadArgument
from mqgateway.gateway.client.message import Message
from mqgateway.gateway.client.selectors import by_hash, by_random
from tests.gateway.client.test_allocation import queues_of
from tests.support.gateway.client.answers import JAVA

MESSAGE = Message("Topic", b"x")
ARGUMENTS: dict[str, Any] = {
    name: text if kind == "String" else text == "true" if kind == "Boolean" else int(text)
    for name in JAVA["hashes"]
    for kind, _, text in [name.partition(" ")]
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_the_official_clients_choice(name: str) -> None:
    queues = queues_of(10)
    assert queues.index(by_hash(queues, MESSAGE, ARGUMENTS[name])) == JAVA["hashes"][name]


def test_only_texts_and_whole_numbers_choose() -> None:
    with pytest.raises(BadArgument):
        by_hash(queues_of(2), MESSAGE, 1.5)


def test_any_queue_may_be_chosen() -> None:
    assert {by_random(queues_of(3), MESSAGE, None) for _ in range(100)} == set(queues_of(3))
