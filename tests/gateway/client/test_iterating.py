"""Messages that a loop goes through, and how many of them it has handled."""

from __future__ import annotations

from typing import Any

from mqgateway.gateway.client.iterating import Hand


def hand(count: int = 4, is_current: bool = True) -> Any:
    messages: Any = list(range(count))
    return Hand(messages, lambda: is_current)


def test_message_is_handled_when_the_next_one_is_asked_for() -> None:
    held = hand()
    loop = iter(held)
    assert [next(loop), next(loop)] == [0, 1]
    assert list(held.newly_done()) == [0] and list(held.newly_done()) == []
    next(loop)
    assert list(held.newly_done()) == [1]


def test_loop_that_was_left_is_taken_up_at_the_next_message() -> None:
    held = hand()
    for message in held:
        if message == 1:
            break
    held.settle()
    assert list(held.newly_done()) == [0, 1] and not held.is_empty
    assert list(held) == [2, 3] and held.is_empty
    assert list(held.newly_done()) == [2, 3]


def test_loop_ends_after_the_message_that_it_is_at() -> None:
    held = hand()
    seen = []
    for message in held:
        seen.append(message)
        held.is_ended = True
    assert seen == [0] == list(held.newly_done())


def test_messages_that_are_not_current_are_left_out() -> None:
    assert list(hand(is_current=False)) == []
