"""Changes of attributes: parsing, refusals with RocketMQ's texts, and results."""

import pytest

from mqgateway.engine.tables.attributes import (
    GROUP_ATTRIBUTES,
    TOPIC_ATTRIBUTES,
    AttributeRefused,
    altered,
    parse_changes,
)


def test_changes_are_read_from_their_text() -> None:
    assert parse_changes("+a=1,-b,+c=x") == {"+a": "1", "-b": "", "+c": "x"}


@pytest.mark.parametrize("text", [None, "", ","])
def test_no_text_is_no_change(text: str | None) -> None:
    assert parse_changes(text) == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a=1", "add/alter attribute format is wrong: a"),
        ("a", "delete attribute format is wrong: a"),
        ("+a=1,+a=2", "key duplication: +a"),
    ],
)
def test_a_text_of_another_form_is_refused(text: str, words: str) -> None:
    with pytest.raises(AttributeRefused) as refusal:
        parse_changes(text)
    assert str(refusal.value) == words


def test_a_new_topic_has_what_was_added() -> None:
    assert altered(TOPIC_ATTRIBUTES, None, {"+message.type": "FIFO"}) == {"message.type": "FIFO"}


def test_attributes_are_added_altered_and_removed_and_the_others_stay() -> None:
    current = {"message.type": "NORMAL", "queue.type": "SimpleCQ", "reserve.time": "5"}
    changes = {"+message.type": "DELAY", "-reserve.time": "", "+lite.topic.expiration": "10"}
    assert altered(TOPIC_ATTRIBUTES, current, changes) == {
        "message.type": "DELAY",
        "queue.type": "SimpleCQ",
        "lite.topic.expiration": "10",
    }
    assert current["reserve.time"] == "5", "the state before is not touched"


@pytest.mark.parametrize(
    ("current", "changes", "words"),
    [
        (None, {"+": "x"}, "kv string format wrong."),
        (None, {"+a-b": "x"}, "kv string format wrong."),
        (
            None,
            {"-message.type": ""},
            "only add attribute is supported while creating topic. key: message.type",
        ),
        ({}, {"xmessage.type": "x"}, "wrong format key: message.type"),
        ({}, {"-message.type": ""}, "attempt to delete a nonexistent key: message.type"),
        (
            {"reserve.time": "1"},
            {"+reserve.time": "2", "-reserve.time": ""},
            "alter duplication key. key: reserve.time",
        ),
        ({}, {"+colour": "red"}, "unsupported key: colour"),
        ({}, {"+queue.type": "BatchCQ"}, "attempt to update an unchangeable attribute. key: queue.type"),
        (None, {"+queue.type": "odd"}, "value is not in set: [BatchCQ, SimpleCQ]"),
        (None, {"+lite.topic.expiration": "43201"}, "value is not in range(-1, 43200)"),
        (None, {"+lite.topic.expiration": "-2"}, "value is not in range(-1, 43200)"),
        (None, {"+reserve.time": "long"}, 'For input string: "long"'),
    ],
)
def test_invalid_change_is_refused_with_rocketmqs_text(
    current: dict[str, str] | None, changes: dict[str, str], words: str
) -> None:
    with pytest.raises(AttributeRefused) as refusal:
        altered(TOPIC_ATTRIBUTES, current, changes)
    assert str(refusal.value) == words


def test_a_group_has_attributes_of_its_own() -> None:
    assert altered(GROUP_ATTRIBUTES, None, {"+lite.bind.topic": "any text"}) == {
        "lite.bind.topic": "any text"
    }
    with pytest.raises(AttributeRefused):
        altered(GROUP_ATTRIBUTES, None, {"+message.type": "FIFO"})
