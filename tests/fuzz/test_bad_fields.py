"""Answers to requests with a spoiled field: their code and remark. Such a request changes nothing.

A generated table of every declared field of every code that is served: missing, no number, too large for its
type. If the field is required, the request is refused before it is processed; the remark names the field.
Other fields that cannot be read count as missing, as in RocketMQ: `TAKEN`. Numbers out of range and names
that do not exist are refused with RocketMQ's code, by which clients choose what to do next: `MEANT`.
`test_hostile_requests` shows that whole servers survive all of it.
"""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.lenient_json import dumps
from mqgateway.gateway.broker.requests import REQUESTS
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.fields import HeaderField, request_header
from tests.fuzz.test_hostile_requests import VICTIM, good_fields
from tests.support.gateway.broker.admin import AdminBroker
from tests.support.gateway.broker.helpers import pull_header, send_header

NO_NUMBERS = ("", " 1", "0x1", "1.5", "one", "\u0661\u0662x")
TOO_LARGE = {"int": str(2**31), "long": str(2**63)}

CODES = pytest.mark.parametrize(
    "code", [code for code in REQUESTS if request_header(code)], ids=lambda code: f"{int(code)}"
)


@pytest.fixture
def broker() -> AdminBroker:
    """Return a broker with the topic and the group that requests are about."""
    broker = AdminBroker()
    broker.add_topic(VICTIM)
    broker.add_topic(f"%RETRY%{VICTIM}")
    broker.fill(VICTIM, 3)
    broker.subscribe(VICTIM, VICTIM)
    broker.broker.tables.groups.find(VICTIM)
    return broker


def state(broker: AdminBroker) -> bytes:
    """Return every table that a request can change."""
    parts = broker.broker
    tables: list[Any] = [
        parts.tables.topics.to_json(),
        parts.tables.groups.to_json(),
        parts.tables.offsets.to_json(),
        parts.tables.request_modes.to_json(),
        parts.consume.cold_reads.to_json(),
        sorted(parts.clients.consumer_groups),
        sorted(parts.clients.producer_groups),
        parts.store.max_physical_offset,
        parts.configuration.as_properties(),
    ]
    return dumps({f"{number}": table for number, table in enumerate(tables)})


def fields_of(code: int) -> tuple[HeaderField, ...]:
    """Return the declared fields."""
    header = request_header(code)
    assert header is not None
    return header.__fields__


@CODES
def test_a_field_that_must_be_there(broker: AdminBroker, code: int) -> None:
    good, before = good_fields(code), state(broker)
    for field in fields_of(code):
        if field.required:
            ext = {name: value for name, value in good.items() if name != field.wire_name}
            answer = broker.ask(code, ext=ext, body=b"{}")
            assert (answer.code, answer.remark) == (
                ResponseCode.SYSTEM_ERROR,
                f"the custom field <{field.wire_name}> is null",
            )
    assert state(broker) == before


@CODES
def test_a_number_that_is_none(broker: AdminBroker, code: int) -> None:
    """Numbers too large for their type are no numbers either."""
    good, before, header = good_fields(code), state(broker), request_header(code)
    assert header is not None
    for field in fields_of(code):
        kind, name = field.type.name, field.wire_name
        if kind not in TOO_LARGE:
            continue
        for bad in (*NO_NUMBERS, TOO_LARGE[kind], "-" + TOO_LARGE[kind] + "0"):
            if field.required or header.__is_strict__:
                answer = broker.ask(code, ext={**good, name: bad}, body=b"{}")
                assert answer.code == ResponseCode.SYSTEM_ERROR
                assert f"the custom field <{name}> is not of type {kind}" in str(answer.remark)
            else:
                rest = {key: value for key, value in good.items() if key != name}
                assert header.decode({**good, name: bad}) == header.decode(rest)
    assert state(broker) == before


SEND, PULL = RequestCode.SEND_MESSAGE_V2, RequestCode.PULL_MESSAGE
OFFSET, RESET = RequestCode.UPDATE_CONSUMER_OFFSET, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET
STATS, SPANS = RequestCode.GET_TOPIC_STATS_INFO, RequestCode.QUERY_CONSUME_TIME_SPAN
CREATE = RequestCode.UPDATE_AND_CREATE_TOPIC

UNKNOWN_TOPIC, UNKNOWN_GROUP = ResponseCode.TOPIC_NOT_EXIST, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
WRONG, FAILED = ResponseCode.INVALID_PARAMETER, ResponseCode.SYSTEM_ERROR
MOVED, NOTHING = ResponseCode.PULL_OFFSET_MOVED, ResponseCode.QUERY_NOT_FOUND

SENT = send_header(VICTIM).encode()
PULLED = pull_header(VICTIM, group=VICTIM, sys_flag=0).encode()

MEANT: list[tuple[int, dict[str, str], int, str]] = [
    (SEND, SENT | {"b": "", "c": ""}, WRONG, "The specified topic is blank."),
    (SEND, SENT | {"b": "a b"}, WRONG, "illegal characters"),
    (SEND, SENT | {"b": "t" * 200}, WRONG, "longer than topic max length"),
    (SEND, SENT | {"b": "new", "c": "no model"}, UNKNOWN_TOPIC, "not exist, apply first please!"),
    (SEND, SENT | {"b": "SCHEDULE_TOPIC_XXXX"}, ResponseCode.NO_PERMISSION, "is forbidden"),
    (SEND, SENT | {"e": "4"}, WRONG, "request queueId[4] is illegal"),
    (SEND, SENT | {"b": "%RETRY%bad group"}, WRONG, "illegal characters"),
    (
        SEND,
        SENT | {"b": f"%RETRY%{VICTIM}", "m": "true"},
        ResponseCode.MESSAGE_ILLEGAL,
        "does not support retry",
    ),
    (PULL, PULLED | {"topic": "unknown"}, UNKNOWN_TOPIC, "not exist, apply first please!"),
    (
        PULL,
        PULLED | {"consumerGroup": "bad group"},
        UNKNOWN_GROUP,
        "subscription group [bad group] does not exist",
    ),
    (PULL, PULLED | {"queueId": "4"}, WRONG, "queueId[4] is illegal"),
    (PULL, PULLED | {"queueId": "-1"}, WRONG, "queueId[-1] is illegal"),
    (PULL, PULLED | {"queueOffset": "-1"}, MOVED, "OFFSET_TOO_SMALL"),
    (PULL, PULLED | {"queueOffset": str(2**63 - 1)}, MOVED, "OFFSET_OVERFLOW_BADLY"),
    (PULL, PULLED | {"consumerGroup": "nobody"}, ResponseCode.SUBSCRIPTION_NOT_EXIST, "group info not exist"),
    (PULL, PULLED | {"subVersion": "9"}, ResponseCode.SUBSCRIPTION_NOT_LATEST, "not latest"),
    (OFFSET, {"consumerGroup": "nobody"}, UNKNOWN_GROUP, "Group nobody not exist!"),
    (OFFSET, {"topic": "unknown"}, UNKNOWN_TOPIC, "Topic unknown not exist!"),
    (
        RequestCode.QUERY_CONSUMER_OFFSET,
        {"queueId": "3", "setZeroIfNotFound": "true"},
        NOTHING,
        "maybe this group consumer boot first",
    ),
    (RequestCode.QUERY_MESSAGE, {"key": "none", "endTimestamp": "0"}, NOTHING, "can not find message"),
    (RequestCode.VIEW_MESSAGE_BY_ID, {"offset": "7"}, FAILED, "can not find message by the offset, 7"),
    (STATS, {"topic": "unknown"}, UNKNOWN_TOPIC, "topic[unknown] not exist"),
    (SPANS, {"topic": "unknown"}, UNKNOWN_TOPIC, "topic[unknown] not exist"),
    (
        RequestCode.GET_TOPIC_CONFIG,
        {"topic": "unknown"},
        UNKNOWN_TOPIC,
        "No topic in this broker. topic: unknown",
    ),
    (
        RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG,
        {"group": "bad group"},
        UNKNOWN_GROUP,
        "No group in this broker",
    ),
    (
        RequestCode.GET_CONSUMER_CONNECTION_LIST,
        {"consumerGroup": "nobody"},
        ResponseCode.CONSUMER_NOT_ONLINE,
        "not online",
    ),
    (
        RequestCode.GET_CONSUMER_LIST_BY_GROUP,
        {"consumerGroup": "nobody"},
        FAILED,
        "no consumer for this group",
    ),
    (RequestCode.GET_PRODUCER_CONNECTION_LIST, {"producerGroup": "nobody"}, FAILED, "not exist"),
    (RequestCode.VIEW_BROKER_STATS_DATA, {"statsName": "none"}, FAILED, "The stats <none>"),
    (RESET, {"topic": "unknown"}, UNKNOWN_TOPIC, "Topic unknown does not exist"),
    (RESET, {"group": "nobody"}, UNKNOWN_GROUP, "Group nobody does not exist"),
    (RESET, {"queueId": "0", "offset": "99"}, FAILED, "Target offset 99 not in consume queue range [0-3]"),
    (CREATE, {"topic": "a b"}, WRONG, "illegal characters"),
    (CREATE, {"topic": "TBW102"}, WRONG, "is conflict with system topic."),
    (RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": " "}, WRONG, "The specified topic is blank."),
    (RequestCode.GET_CONSUMER_RUNNING_INFO, {"clientId": "nobody"}, FAILED, "not online"),
    (RequestCode.END_TRANSACTION, {"commitOrRollback": "7"}, FAILED, "commitOrRollback field wrong"),
    (RequestCode.QUERY_CONSUME_QUEUE, {"queueId": "99"}, FAILED, "99@Victim is not exist!"),
]


TAKEN = [
    *((SEND, name, ResponseCode.SUCCESS) for name in "acd"),
    *((CREATE, name, ResponseCode.SUCCESS) for name in ("defaultTopic", "order")),
    (OFFSET, "consumerGroup", UNKNOWN_GROUP),
    (OFFSET, "queueId", WRONG),
    (OFFSET, "commitOffset", WRONG),
    (RESET, "group", UNKNOWN_GROUP),
    (RESET, "isForce", ResponseCode.SUCCESS),
    (SPANS, "group", ResponseCode.SUCCESS),
    (RequestCode.QUERY_MESSAGE, "key", NOTHING),
    (RequestCode.QUERY_MESSAGE, "topic", NOTHING),
    (RequestCode.UNREGISTER_CLIENT, "clientID", ResponseCode.SUCCESS),
    (RequestCode.DELETE_TOPIC_IN_BROKER, "topic", WRONG),
    (RequestCode.GET_BROKER_CONSUME_STATS, "isOrder", ResponseCode.SUCCESS),
    (RequestCode.QUERY_CORRECTION_OFFSET, "compareGroup", ResponseCode.SUCCESS),
    (RequestCode.RESET_MASTER_FLUSH_OFFSET, "masterFlushOffset", ResponseCode.SUCCESS),
]
"""Fields that RocketMQ calls required and then does without, and the code of its answer."""


@pytest.mark.parametrize(
    ("code", "missing", "expected"), TAKEN, ids=[f"{int(code)}-{missing}" for code, missing, _ in TAKEN]
)
def test_request_without_a_field_that_is_not_required_is_answered_as_rocketmq_answers_it(
    broker: AdminBroker, code: int, missing: str, expected: int
) -> None:
    good = SENT if code == SEND else good_fields(code)
    answer = broker.ask(code, ext={name: value for name, value in good.items() if name != missing}, body=b"x")
    assert answer.code == expected, answer.remark


@pytest.mark.parametrize(
    ("code", "changes", "expected", "words"),
    MEANT,
    ids=[f"{int(code)}-{expected}-{words[:20]}" for code, _, expected, words in MEANT],
)
def test_value_out_of_range_is_refused(
    broker: AdminBroker, code: int, changes: dict[str, str], expected: int, words: str
) -> None:
    before = state(broker)
    answer = broker.ask(
        code,
        ext=changes if code in (SEND, PULL) else good_fields(code) | changes,
        body=b"body",
        peer=broker.consumer,
    )
    assert answer.code == expected
    assert words in str(answer.remark)
    if code != PULL:  # whose group may be made by asking
        assert state(broker) == before
