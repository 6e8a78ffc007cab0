"""Parsing of registrations, and refusals."""

from typing import Any

import pytest

from mqgateway.engine.steps import run
from mqgateway.gateway.codec.bodies import QueueData
from mqgateway.gateway.namesrv.registration import (
    RegistrationRefused,
    check_texts,
    read_mappings,
    read_queues,
)
from tests.support.gateway.namesrv.brokers import mapping, says, topic


def test_queues_are_read_from_topic_configuration() -> None:
    assert read_queues("b1", "T1", topic("T1", perm=7, queues=3, flag=1)) == QueueData("b1", 3, 3, 7, 1)


def test_missing_members_have_defaults_of_rocketmq() -> None:
    assert read_queues("b1", "T1", {}) == QueueData("b1", 16, 16, 6, 0)


@pytest.mark.parametrize("value", ["6", None, 6.0, True, [6], 2**31, -(2**31) - 1])
@pytest.mark.parametrize("member", ["perm", "readQueueNums", "writeQueueNums", "topicSysFlag"])
def test_topic_with_wrong_number_is_refused(member: str, value: object) -> None:
    with pytest.raises(RegistrationRefused, match="topic T1 cannot be read"):
        read_queues("b1", "T1", topic("T1") | {member: value})


def test_mappings_drop_unknown_members_and_convert_numbers() -> None:
    said = says(mappings={"T1": mapping("b1", "T1") | {"currIdMap": {"0": 3}, "unknown": "x" * 100}})
    assert run(read_mappings(said)) == {"T1": mapping("b1", "T1") | {"currIdMap": {0: 3}}}


def test_mapping_of_other_broker_is_skipped() -> None:
    assert run(read_mappings(says(mappings={"T1": mapping("b2", "T1")}))) == {}


@pytest.mark.parametrize(
    "wrong",
    [
        7,
        None,
        [],
        {},
        {"bname": None},
        {"bname": "b1", "currIdMap": []},
        {"bname": "b1", "currIdMap": {"x": 0}},
    ],
)
def test_malformed_mapping_is_refused(wrong: Any) -> None:
    with pytest.raises(RegistrationRefused):
        run(read_mappings(says(mappings={"T1": wrong})))


@pytest.mark.parametrize("member", ["name", "cluster", "address", "ha_address", "zone_name"])
def test_length_of_names_and_addresses_is_limited(member: str) -> None:
    said = says()
    setattr(said, member, "n" * 1024)
    check_texts(said, ["T1"])
    setattr(said, member, "n" * 1025)
    with pytest.raises(RegistrationRefused, match="1024 characters"):
        check_texts(said, ["T1"])


def test_length_of_topics_and_filter_servers_is_limited() -> None:
    with pytest.raises(RegistrationRefused, match="1024 characters"):
        check_texts(says(), ["n" * 1025])
    with pytest.raises(RegistrationRefused, match="1024 characters"):
        check_texts(says(filter_servers=["n" * 1025]), [])
    with pytest.raises(RegistrationRefused, match="100 filter servers"):
        check_texts(says(filter_servers=["f"] * 101), [])
