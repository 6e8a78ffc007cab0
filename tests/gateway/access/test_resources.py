"""Needs of requests, code by code; every code of the broker has them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.steps import run
from mqgateway.gateway.access.needs import FREE, Need
from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.access.resources import (
    BY_BODY,
    BY_HEADER,
    UNCHECKED_BY_STANDARD,
    needs_of_header,
    needs_of_record,
    standard_needs_of_header,
)
from mqgateway.gateway.broker.requests import REQUESTS
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.fields import request_header


def texts(needs: list[Need]) -> list[str]:
    return [f"{need.resource} {'|'.join(need.actions)}" for need in needs]


def of_body(code: int, body: Any) -> list[str]:
    return texts(run(BY_BODY[code](json.dumps(body).encode(), BrokerOptions())))


def test_every_broker_code_has_needs() -> None:
    assert not BY_HEADER.keys() & BY_BODY.keys()
    assert BY_HEADER.keys() | BY_BODY.keys() == set(REQUESTS)
    assert {code for code, row in BY_HEADER.items() if row is FREE} == {RequestCode.CHECK_CLIENT_CONFIG}


def test_needs_read_fields_of_header() -> None:
    """With every field of the header set, each need names one of them, or the cluster."""
    wrong = {}
    for code in sorted(BY_HEADER):
        header = request_header(code)
        names = [] if header is None else [field.wire_name for field in header.__fields__]
        needs = needs_of_header(code, {name: f"<{name}>" for name in names}, "c")
        shown = {str(need.resource).partition(":")[2] for need in needs}
        others = shown - {"c", *(f"<{name}>" for name in names)}
        if others or bool(needs) is (BY_HEADER[code] is FREE):
            wrong[RequestCode(code).name] = shown
    assert BY_HEADER and not wrong


@pytest.mark.parametrize(
    ("code", "fields", "needs"),
    [
        (10, {"topic": "t"}, ["Topic:t Pub"]),
        (310, {"b": "t", "a": "g", "topic": "other"}, ["Topic:t Pub"]),
        (310, {"b": "%RETRY%g", "a": "mine"}, ["Group:g Sub"]),
        (320, {"b": "t"}, ["Topic:t Pub"]),
        (310, {}, ["Topic: Pub"]),
        (370, {"topic": "t"}, ["Topic:t Pub"]),
        (37, {"topic": "t"}, ["Topic:t Pub"]),
        (37, {"topic": " "}, []),
        (36, {"group": "g"}, ["Group:g Sub"]),
        (11, {"topic": "t", "consumerGroup": "g"}, ["Topic:t Sub", "Group:g Sub"]),
        (11, {"topic": "%RETRY%g", "consumerGroup": "g"}, ["Group:g Sub"]),
        (12, {"topic": "t"}, ["Topic:t Sub|Get"]),
        (33, {"topic": "t"}, ["Topic:t Get"]),
        (33, {}, []),
        (35, {"consumerGroup": "g"}, ["Group:g Sub"]),
        (35, {"producerGroup": "g"}, []),
        (38, {"consumerGroup": "g"}, ["Group:g Sub|Get"]),
        (14, {"topic": "t", "consumerGroup": "g"}, ["Topic:t Sub|Get", "Group:g Sub|Get"]),
        (15, {"topic": "%RETRY%g", "consumerGroup": "g"}, ["Group:g Sub|Update"]),
        (17, {"topic": "t"}, ["Topic:t Create"]),
        (215, {"topic": "t"}, ["Topic:t Delete"]),
        (207, {"groupName": "g"}, ["Group:g Delete"]),
        (29, {"topic": "%RETRY%g"}, ["Group:g Get"]),
        (
            208,
            {"consumerGroup": "g", "topicList": "a;b;"},
            ["Group:g Get", "Topic:a Get", "Topic:b Get"],
        ),
        (
            308,
            {"filterGroups": "a,b", "compareGroup": "c", "topic": "t"},
            ["Group:a Get", "Group:b Get", "Group:c Get", "Topic:t Get"],
        ),
        (314, {"srcGroup": "s", "destGroup": "d", "topic": "t"}, ["Group:d Update", "Topic:t Update"]),
        (200050, {"topic": "t", "consumerGroup": "g"}, ["Group:g Sub", "Topic:t Sub"]),
        (200051, {"topic": "%RETRY%g_t", "consumerGroup": "g"}, ["Group:g Sub", "Topic:t Sub"]),
        (200053, {"topic": "%RETRY%g+t", "consumerGroup": "g"}, ["Group:g Sub", "Topic:t Sub"]),
        (200051, {"topic": "%RETRY%h_t", "consumerGroup": "g"}, ["Group:g Sub", "Group:h_t Sub"]),
        (200050, {"topic": "%RETRY%g_t", "consumerGroup": "g"}, ["Group:g Sub", "Group:g_t Sub"]),
        (25, {}, ["Cluster:c Update"]),
        (3004, {"username": "u"}, ["Cluster:c Get"]),
    ],
)
def test_needs_of_headers(code: int, fields: dict[str, str], needs: list[str]) -> None:
    assert texts(needs_of_header(code, fields, "c")) == needs


def test_heartbeat_needs_consumed_groups_and_topics() -> None:
    body = {
        "clientID": "c",
        "producerDataSet": [{"groupName": "p"}],
        "consumerDataSet": [
            {"groupName": "g", "subscriptionDataSet": [{"topic": "t"}, {"topic": "%RETRY%g"}]},
            {"groupName": "h", "subscriptionDataSet": []},
        ],
    }
    assert of_body(34, body) == ["Group:g Sub", "Topic:t Sub", "Group:h Sub"]
    assert of_body(34, {"clientID": "c", "producerDataSet": [{"groupName": "p"}]}) == []


def test_duplicate_members_of_heartbeat_are_all_needed() -> None:
    """Checking one list and using the other would admit every caller."""
    group = '{"groupName":"%s","subscriptionDataSet":[]}'
    body = '{"clientID":"c","consumerDataSet":[' + group % "a" + '],"consumerDataSet":[' + group % "b" + "]}"
    needs = run(BY_BODY[RequestCode.HEART_BEAT](body.encode(), BrokerOptions()))
    assert texts(needs) == ["Group:a Sub", "Group:b Sub"]


def test_needs_of_bodies() -> None:
    queues = [{"topic": name, "brokerName": "b", "queueId": 0} for name in ("t", "%RETRY%g", "s")]
    lock = {"consumerGroup": "g", "clientId": "c", "mqSet": queues}
    for code in (41, 42):
        assert of_body(code, lock) == ["Group:g Sub", "Topic:s Sub", "Topic:t Sub"]
    assigned = {"topic": "t", "consumerGroup": "g", "clientId": "c"}
    assert of_body(400, assigned) == ["Group:g Sub", "Topic:t Sub"]
    topics = {"topicConfigList": [{"topicName": "t"}, {"topicName": "s"}]}
    assert of_body(18, topics) == ["Topic:t Create", "Topic:s Create"]
    assert of_body(200, {"groupName": "g"}) == ["Group:g Create"]
    groups = {"groupConfigList": [{"groupName": "g"}, {"groupName": "h"}]}
    assert of_body(225, groups) == ["Group:g Create", "Group:h Create"]
    lite = {"subscriptionSet": [{"action": "PARTIAL_ADD", "clientId": "c", "group": "g", "topic": "t"}]}
    assert of_body(200071, lite) == ["Group:g Sub", "Topic:t Sub"]


def test_batch_ack_needs_each_group_and_topic_once() -> None:
    ack = {"c": "g", "t": "t", "r": "0", "so": 0, "q": 0, "rq": 0, "pt": 1, "it": 1, "b": "AQ=="}
    acks = {"brokerName": "b", "acks": [ack, ack, ack | {"t": "%RETRY%g_t"}]}
    assert of_body(200151, acks) == ["Group:g Sub", "Topic:t Sub", "Group:g Sub", "Topic:t Sub"]


def test_malformed_body_has_no_needs() -> None:
    read = {}
    for code in BY_BODY:
        for body in (b"", b"{", b"[]", b'{"topicConfigList":[1],"groupConfigList":[1]}'):
            try:
                needs = run(BY_BODY[code](body, BrokerOptions()))
            except Exception:
                continue
            if needs:
                read[RequestCode(code).name, body] = needs
    assert BY_BODY and not read


def test_standard_profile_has_no_needs_for_unchecked_codes() -> None:
    assert set(REQUESTS) > UNCHECKED_BY_STANDARD
    assert standard_needs_of_header(25, {}, "c") == []
    assert standard_needs_of_header(33, {}, "c") == []
    assert texts(standard_needs_of_header(33, {"topic": "t"}, "c")) == ["Topic:t Get"]
    assert standard_needs_of_header(361, {"topic": "t", "consumerGroup": "g"}, "c") == []
    assert texts(standard_needs_of_header(17, {"topic": "t"}, "c")) == [f"Topic:t {Action.CREATE}"]


@pytest.mark.parametrize(
    ("topic", "group", "needs"),
    [
        ("t", "", ["Topic:t Sub"]),
        ("t", "g", ["Topic:t Sub"]),
        ("%DLQ%g", "g", ["Topic:%DLQ%g Sub"]),
        ("%RETRY%g", "", ["Group:g Sub"]),
        ("%RETRY%g", "g", ["Group:g Sub"]),
        ("%RETRY%other", "g", ["Group:g Sub", "Group:other Sub"]),
        ("%RETRY%g_t", "g", ["Group:g Sub", "Topic:t Sub"]),
        ("%RETRY%g+t", "", ["Group:g Sub", "Topic:t Sub"]),
        ("%RETRY%g_t", "", ["Group:g_t Sub"]),
    ],
)
def test_record_needs_own_topic_or_group_of_retry_topic(topic: str, group: str, needs: list[str]) -> None:
    assert texts(needs_of_record(topic, (Action.SUB,), group)) == needs
