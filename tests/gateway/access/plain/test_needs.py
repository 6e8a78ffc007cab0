"""Permissions that each request code needs: 4.9.7's table, and stricter checks."""

from __future__ import annotations

import pytest

from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.steps import run
from mqgateway.gateway.access.plain.needs import needs_admin, needs_of_fields, readers
from mqgateway.gateway.access.plain.rules import PlainNeed, shown
from mqgateway.gateway.access.resources import BY_BODY, BY_HEADER
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.version_4 import AclRequestCode

FIELDS = {
    "topic": "t",
    "b": "t2",
    "group": "g",
    "a": "p",
    "consumerGroup": "cg",
    "groupName": "gn",
}


def words(needs: list[PlainNeed]) -> str:
    return " ".join(f"{shown(need.resource)}={need.permission.name}" for need in needs)


@pytest.mark.parametrize(
    ("code", "needs"),
    [
        (10, "topic:t=PUB"),
        (310, "topic:t2=PUB"),
        (36, "group:g=SUB"),
        (11, "topic:t=SUB group:cg=SUB"),
        (12, "topic:t=SUB"),
        (35, "group:cg=SUB"),
        (38, "group:cg=SUB"),
        (15, "group:cg=SUB topic:t=SUB"),
        *(
            (code, "")
            for code in (14, 17, 25, 26, 28, 33, 37, 39, 46, 200, 202, 208, 320, 324, 361, 200050, 200051)
        ),
    ],
)
def test_the_standards_table(code: int, needs: str) -> None:
    assert words(needs_of_fields(code, FIELDS, False)) == needs
    assert needs_admin(code, False) == (code in (17, 25, 200))


def test_the_standard_has_five_codes_of_admins() -> None:
    assert {code for code in range(400_000) if needs_admin(code, False)} == {17, 25, 200, 207, 215}


@pytest.mark.parametrize(
    ("code", "needs"),
    [
        (10, "topic:t=PUB"),
        (320, "topic:t2=PUB"),
        (324, "topic:t=PUB"),
        (325, "topic:t2=PUB"),
        (370, "topic:t=PUB"),
        (361, "topic:t=SUB group:cg=SUB"),
        (14, "topic:t=SUB group:cg=SUB"),
        (200050, "group:cg=SUB topic:t=SUB"),
        (200051, "group:cg=SUB topic:t=SUB"),
        (37, "topic:t=PUB"),
        *((code, "") for code in (26, 28, 29, 33, 46, 202, 203, 208, 222)),
    ],
)
def test_needs_stricter_than_4_9_7(code: int, needs: str) -> None:
    assert words(needs_of_fields(code, FIELDS, True)) == needs


def test_every_change_of_the_broker_needs_an_admin() -> None:
    admin = {code for code in {*BY_HEADER, *BY_BODY, *AclRequestCode} if needs_admin(code, True)}
    assert admin >= {17, 18, 25, 200, 207, 215, 225, 401, 513, 2001, 3001, 5001, *range(50, 55)}
    assert not admin & {10, 11, 26, 28, 34, 208, 222, 310, RequestCode.GET_ALL_CONSUMER_OFFSET}


def test_a_retry_topic_is_its_group_whatever_else_the_header_names() -> None:
    for is_strict in (True, False):
        send = {"topic": "%RETRY%other", "group": "mine", "b": "%RETRY%other", "a": "mine"}
        assert words(needs_of_fields(10, send, is_strict)) == "group:other=SUB"
        assert words(needs_of_fields(310, send, is_strict)) == "group:other=SUB"
        pull = {"topic": "%RETRY%other", "consumerGroup": "mine"}
        assert words(needs_of_fields(11, pull, is_strict)) == "group:other=SUB group:mine=SUB"


def test_fields_that_are_not_there_need_nothing() -> None:
    assert needs_of_fields(11, {}, False) == []


def test_a_heartbeat_needs_groups_and_topics() -> None:
    body = (
        b'{"clientID":"c","producerDataSet":[{"groupName":"p"}],"consumerDataSet":[{"groupName":"g",'
        b'"subscriptionDataSet":[{"topic":"t"},{"topic":"%RETRY%h"}]}]}'
    )
    for is_strict in (True, False):
        needs = run(readers(is_strict)[RequestCode.HEART_BEAT](body, BrokerOptions()))
        assert words(needs) == "group:g=SUB topic:t=SUB group:h=SUB"


def test_other_bodies_are_looked_at_beyond_the_standard() -> None:
    assert set(readers(False)) == {RequestCode.HEART_BEAT}
    assert set(readers(True)) == set(BY_BODY)
    body = b'{"consumerGroup":"g","clientId":"c","mqSet":[{"topic":"t","brokerName":"b","queueId":0}]}'
    needs = run(readers(True)[RequestCode.LOCK_BATCH_MQ](body, BrokerOptions()))
    assert words(needs) == "group:g=SUB topic:t=SUB"
