"""Names of lite topics, and where they are at home."""

import pytest

from mqgateway.engine.lite.names import bucket, home, lmq_name, split_name


def test_lmq_queue_names_parent_and_lite_topic() -> None:
    assert lmq_name("chat", "room-1") == "%LMQ%$chat$room-1"
    assert split_name("%LMQ%$chat$room-1") == ("chat", "room-1")


@pytest.mark.parametrize(
    "name", ["chat", "%LMQ%chat", "%LMQ%$chat", "%LMQ%$chat$", "%LMQ%$$x", "%LMQ%$a$b$c"]
)
def test_other_queues_are_of_no_lite_topic(name: str) -> None:
    assert split_name(name) is None


@pytest.mark.parametrize(
    ("name", "count", "expected"), [("abc", 8, 7), ("lite-1", 8, 6), ("polygenelubricants", 16, 2)]
)
def test_the_hash_is_the_standards(name: str, count: int, expected: int) -> None:
    assert bucket(name, count) == expected


def test_most_lite_topics_stay_where_a_queue_comes_to() -> None:
    names = [f"room-{number}" for number in range(300)]
    moved = [name for name in names if bucket(name, 9) != bucket(name, 8)]
    assert 0 < len(moved) < 60
    assert {bucket(name, 9) for name in moved} == {8}


def test_the_home_is_a_broker_of_the_parent_or_this_one() -> None:
    assert home("abc", [], "own") == "own"
    assert home("abc", ["a"] * 7 + ["b"], "own") == "b"
