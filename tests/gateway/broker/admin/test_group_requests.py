"""Consumer groups as administration creates, changes, deletes and looks at them."""

import json
from typing import Any

import pytest

from mqgateway.gateway.codec.bodies import SubscriptionGroupList
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import (
    DeleteSubscriptionGroupRequestHeader,
    GetSubscriptionGroupConfigRequestHeader,
    UpdateGroupForbiddenRequestHeader,
)
from tests.support.gateway.broker.admin import AdminBroker

INVALID = ResponseCode.INVALID_PARAMETER


@pytest.fixture
def broker() -> AdminBroker:
    return AdminBroker(options={"auto_create_subscription_group": False})


def update(broker: AdminBroker, **value: Any) -> tuple[int, str | None]:
    answer = broker.ask(
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=json.dumps({"groupName": "g"} | value).encode()
    )
    return answer.code, answer.remark


def config(broker: AdminBroker, group: str) -> Any:
    header = GetSubscriptionGroupConfigRequestHeader(group=group)
    return broker.json(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, header)


@pytest.mark.parametrize("body", [b"", b"null", b'""'])
def test_group_update_whose_body_is_null_changes_nothing(broker: AdminBroker, body: bytes) -> None:
    answer = broker.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=body)
    assert (answer.code, answer.remark) == (0, None)
    assert "g" not in broker.broker.tables.groups


@pytest.mark.parametrize("body", [b"{}", b'{"groupName":null}', b'{"retryMaxTimes":3}'])
def test_group_update_without_a_name_is_an_invalid_parameter(broker: AdminBroker, body: bytes) -> None:
    answer = broker.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=body)
    assert (answer.code, answer.remark) == (INVALID, "The specified group is blank.")


def test_group_is_created_as_requested(broker: AdminBroker) -> None:
    assert update(broker, retryMaxTimes=3, consumeBroadcastEnable=False) == (0, None)
    assert config(broker, "g") == {
        "attributes": {},
        "brokerId": 0,
        "consumeBroadcastEnable": False,
        "consumeEnable": True,
        "consumeFromMinEnable": True,
        "consumeMessageOrderly": False,
        "consumeTimeoutMinute": 15,
        "groupName": "g",
        "groupRetryPolicy": {"type": "CUSTOMIZED"},
        "groupSysFlag": 0,
        "notifyConsumerIdsChangedEnable": True,
        "retryMaxTimes": 3,
        "retryQueueNums": 1,
        "whichBrokerWhenConsumeSlowly": 1,
    }


def test_attributes_are_changes(broker: AdminBroker) -> None:
    update(broker, attributes={"+priority.factor": "5", "+lite.bind.topic": "t"})
    update(broker, attributes={"-lite.bind.topic": ""})
    assert config(broker, "g")["attributes"] == {"priority.factor": "5"}


@pytest.mark.parametrize(
    ("value", "code", "remark"),
    [
        ({"groupName": " "}, INVALID, "The specified group is blank."),
        (
            {"groupName": "a!"},
            INVALID,
            "The specified group: a!, contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$",
        ),
        (
            {"groupName": "g" * 121},
            INVALID,
            f"The specified group: {'g' * 121}, is longer than group max length: 120",
        ),
        (
            {"attributes": {"+colour": "red"}},
            ResponseCode.SYSTEM_ERROR,
            "java.lang.RuntimeException: unsupported key: colour",
        ),
    ],
)
def test_invalid_group_is_refused(broker: AdminBroker, value: dict[str, Any], code: int, remark: str) -> None:
    assert update(broker, **value) == (code, remark)
    assert "g" not in broker.broker.tables.groups


def test_malformed_body_is_refused(broker: AdminBroker) -> None:
    code, _ = broker.refusal(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=b"{oh")
    assert code == ResponseCode.SYSTEM_ERROR


def test_no_more_groups_than_allowed(broker: AdminBroker) -> None:
    broker.options.max_groups = len(broker.broker.tables.groups) + 1
    assert update(broker) == (0, None)
    code, remark = update(broker, groupName="h")
    assert code == ResponseCode.SYSTEM_ERROR and "maxGroups" in str(remark)
    assert update(broker, retryMaxTimes=2) == (0, None)


def test_a_list_is_created_whole_or_not_at_all(broker: AdminBroker) -> None:
    code = RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST
    bad = SubscriptionGroupList(group_config_list=[{"groupName": "g"}, {"groupName": "h!"}])
    assert broker.refusal(code, body=bad.encode())[0] == INVALID
    assert "g" not in broker.broker.tables.groups
    good = SubscriptionGroupList(group_config_list=[{"groupName": "g"}, {"groupName": "h"}])
    assert broker.ask(code, body=good.encode()).code == 0
    assert "g" in broker.broker.tables.groups and "h" in broker.broker.tables.groups
    assert broker.broker.tables.groups.data_version.counter == 2


def test_a_bad_attribute_is_refused_in_a_list_too(broker: AdminBroker) -> None:
    body = SubscriptionGroupList(group_config_list=[{"groupName": "g", "attributes": {"+colour": "red"}}])
    refused = broker.refusal(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, body=body.encode())
    assert refused == (ResponseCode.SYSTEM_ERROR, "java.lang.RuntimeException: unsupported key: colour")


def test_an_unknown_group_cannot_be_shown(broker: AdminBroker) -> None:
    header = GetSubscriptionGroupConfigRequestHeader(group="g")
    assert broker.refusal(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, header) == (26, "No group in this broker")


@pytest.mark.parametrize(("clean", "left"), [(True, -1), (False, 7)])
def test_deleted_group_keeps_its_offsets_by_default(broker: AdminBroker, clean: bool, left: int) -> None:
    update(broker)
    broker.broker.tables.offsets.commit("g", "T", 0, 7)
    broker.broker.stats.got("g", "T", 1, 1)
    header = DeleteSubscriptionGroupRequestHeader(group_name="g", clean_offset=clean)
    assert broker.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, header).code == 0
    assert "g" not in broker.broker.tables.groups
    assert broker.broker.tables.offsets.query("g", "T", 0) == left
    assert broker.broker.stats.item("GROUP_GET_NUMS", "T@g") is None


def test_deletion_of_an_unknown_group_succeeds(broker: AdminBroker) -> None:
    header = DeleteSubscriptionGroupRequestHeader(group_name="g")
    assert broker.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, header).code == 0


def test_group_is_forbidden_a_topic_and_allowed_again(broker: AdminBroker) -> None:
    def readable(change: bool | None) -> bool:
        header = UpdateGroupForbiddenRequestHeader(group="g", topic="T", readable=change)
        found = broker.json(RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, header)
        assert (found["group"], found["topic"]) == ("g", "T")
        return bool(found["readable"])

    assert [readable(change) for change in (None, False, None, True, None)] == [
        True,
        False,
        False,
        True,
        True,
    ]
