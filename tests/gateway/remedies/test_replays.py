import pytest

from mqgateway.engine.message import SYSTEM_PROPERTIES
from mqgateway.gateway.remedies.replays import (
    DELIVERY_PROPERTIES,
    ReplayRefused,
    check_target,
    copied_properties,
    origin_of,
)

LETTER = {
    "KEYS": "k",
    "own": "1",
    "RETRY_TOPIC": "Orders",
    "ORIGIN_MESSAGE_ID": "A",
    "POP_CK": "1 2 3",
    "DELAY": "3",
    "UNIQ_KEY": "U",
    "TRAN_MSG": "true",
    "TIMER_DELAY_SEC": "3600",
    "TIMER_OUT_MS": "1",
}


def test_delivery_properties_are_system_properties_that_users_do_not_set() -> None:
    assert DELIVERY_PROPERTIES <= SYSTEM_PROPERTIES
    assert not DELIVERY_PROPERTIES & {"KEYS", "TAGS", "__SHARDINGKEY", "_SYS_MSG_PRIORITY_"}


@pytest.mark.parametrize(
    ("properties", "origin"),
    [
        ({"RETRY_TOPIC": "T", "DLQ_ORIGIN_TOPIC": "O"}, "T"),
        ({"DLQ_ORIGIN_TOPIC": "O"}, "O"),
        ({"RETRY_TOPIC": ""}, None),
        ({}, None),
    ],
)
def test_origin_is_named_by_either_property(properties: dict[str, str], origin: str | None) -> None:
    assert origin_of(properties) == origin


@pytest.mark.parametrize("target", ["Orders", "Other"])
def test_copy_for_a_topic_names_its_dead_letter_and_has_no_property_of_a_delivery(target: str) -> None:
    assert copied_properties(LETTER, target, "ID") == {"KEYS": "k", "own": "1", "REPLAY_OF": "ID"}


def test_copy_of_a_copy_names_its_own_dead_letter() -> None:
    assert copied_properties({"REPLAY_OF": "OLD"}, "Orders", "NEW") == {"REPLAY_OF": "NEW"}


@pytest.mark.parametrize(
    ("properties", "copied"),
    [
        (LETTER, {"KEYS": "k", "own": "1", "RETRY_TOPIC": "Orders"}),
        ({"DLQ_ORIGIN_TOPIC": "O"}, {"RETRY_TOPIC": "O"}),
        ({"own": "1"}, {"own": "1"}),
    ],
)
def test_copy_for_a_retry_topic_names_its_origin(properties: dict[str, str], copied: dict[str, str]) -> None:
    assert copied_properties(properties, "%RETRY%G", "ID") == {**copied, "REPLAY_OF": "ID"}


def test_retry_topic_of_an_ordered_group_is_refused() -> None:
    with pytest.raises(ReplayRefused, match="G consumes in order, without retries"):
        check_target("%RETRY%G", "G", {"G"}.__contains__)
    check_target("%RETRY%G", "G", set().__contains__)


@pytest.mark.parametrize("target", ["Orders", "%RETRY%Other"])
def test_other_targets_are_accepted_without_a_query(target: str) -> None:
    def query(group: str) -> bool:
        raise AssertionError

    check_target(target, "G", query)
