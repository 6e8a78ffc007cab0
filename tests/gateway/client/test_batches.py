"""Batches: what goes together, and where one is full."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqgateway.engine.message import parse_properties
from mqgateway.engine.store.client_elements import split_batch
from mqgateway.gateway.client.batches import (
    BATCH_MESSAGES_MAX,
    check_batch,
    element_size,
    encode_element,
    split_by_size,
)
from mqgateway.gateway.client.errors import BadArgument
from mqgateway.gateway.client.message import Message


@given(sizes=st.lists(st.integers(1, 900), max_size=30), limit=st.integers(100, 2000))
@settings(max_examples=50, deadline=None)
def test_splitting_keeps_order_and_size(sizes: list[int], limit: int) -> None:
    messages = [Message("T", bytes(size)) for size in sizes]
    parts = list(split_by_size(messages, limit))
    assert [message for part, _ in parts for message in part] == messages
    for part, body in parts:
        assert len(part) == 1 or len(body) <= limit
        assert [len(one) for _, one, _ in split_batch(body)] == [len(message.body) for message in part]
    for (_, body), (following, _) in pairwise(parts):
        assert len(body) + len(encode_element(following[0])) > limit


def test_a_batch_has_no_more_messages_than_brokers_take() -> None:
    counts = [len(part) for part, _ in split_by_size([Message("T", b"")] * 70_000, 1 << 30)]
    assert counts == [BATCH_MESSAGES_MAX, BATCH_MESSAGES_MAX, 6000]


def test_body_is_split_by_brokers() -> None:
    messages = [Message("T", f"body {n}", tags="A", flag=n) for n in range(3)]
    ((_, body),) = split_by_size(messages, 1000)
    elements = split_batch(body)
    assert [(body, flag) for flag, body, _ in elements] == [(f"body {n}".encode(), n) for n in range(3)]
    assert parse_properties(elements[0][2][2:].decode()) == messages[0].properties


def test_a_size_leaves_room_for_the_key() -> None:
    message = Message("T", b"x")
    guessed = element_size(message)
    message.put("UNIQ_KEY", "F" * 56)
    assert guessed >= len(encode_element(message)) == element_size(message)


@pytest.mark.parametrize(
    ("messages", "what"),
    [
        ([], "without messages"),
        ([Message("T", b"x", delay_level=1)], "delay level"),
        ([Message("%RETRY%G", b"x")], "retry topic"),
        ([Message("T", b"x"), Message("U", b"x")], "one topic"),
        ([Message("T", b"x"), Message("T", b"x", wait_store=False)], "wait for the store"),
    ],
)
def test_incompatible_messages_are_refused(messages: list[Message], what: str) -> None:
    with pytest.raises(BadArgument, match=what):
        check_batch(messages)


def test_properties_have_a_limit() -> None:
    with pytest.raises(BadArgument, match="32767"):
        encode_element(Message("T", b"x", properties={"p": "v" * 40_000}))
