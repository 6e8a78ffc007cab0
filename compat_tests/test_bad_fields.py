"""Requests of which one field is missing or wrong: both servers answer with the same code and remark.

Every code our broker serves, every field of its declared header, a few values each, and no field at all. The
requests are about a topic and a group that exist, with a few messages in the topic and a member in the group,
so that everything else about them is right. Apache's broker is the judge: it requires no field, whatever its
classes declare, and treats a field that it cannot parse as missing. Where our answer has another code on
purpose, `DEPARTURES` has the reason.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pytest

from compat_tests.support import early
from compat_tests.support.early import Work
from compat_tests.support.peers import Peers
from compat_tests.support.raw import RawConnection
from mqgateway.gateway.broker.requests import REQUESTS
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.fields import camel_case, request_header
from mqgateway.gateway.codec.headers import SendMessageRequestHeaderV2

pytestmark = [pytest.mark.both_servers, pytest.mark.timeout(900)]

CLIENT_ID = "spoiler@1"
NO_ANSWER_SECONDS = 3.0
LOCKED_SECONDS, LOCKED_TRIES = 0.2, 5
MESSAGES = 3

SPOILED = {
    "int": ("", "x", "1.5", "true", "-1", "1000", str(2**31)),
    "long": ("", "x", "1.5", "true", "-1", "1000", str(2**63)),
    "String": ("", "5", "NoSuchThing", "bad name!", "n" * 300),
    "boolean": ("", "x", "1", "abc"),
    "BoundaryType": ("", "x"),
}

FOR_OTHERS = frozenset({"lo", "ns", "nsd", "bname", "oway", "brokerName", "n", "liteTopic", "force"})
"""Fields that have a meaning for proxies, static topics and the like only."""

LEFT_OUT = {
    RequestCode.GET_ALL_TOPIC_CONFIG: "every field is optional",
    RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: "every field is optional",
    RequestCode.SEND_BATCH_MESSAGE: "as a send",
    RequestCode.SEND_REPLY_MESSAGE: "as a send; answered by another client",
    RequestCode.SEND_REPLY_MESSAGE_V2: "as a send; answered by another client",
    RequestCode.RESUME_CHECK_HALF_MESSAGE: "there is no half message",
    RequestCode.CONSUME_MESSAGE_DIRECTLY: "answered by another client",
    **dict.fromkeys(
        (code for code in RequestCode if code.name.startswith("AUTH_")),
        "refused whatever they say, as long as nobody is asked who they are",
    ),
    **dict.fromkeys(
        (RequestCode.CHECK_ROCKSDB_CQ_WRITE_PROGRESS, RequestCode.EXPORT_ROCKSDB_CONFIG_TO_JSON),
        "there is no RocksDB, whatever they say",
    ),
    RequestCode.NOTIFY_BROKER_ROLE_CHANGED: "no controller decides over this broker",
    **dict.fromkeys(
        (
            RequestCode.HEART_BEAT,
            RequestCode.LOCK_BATCH_MQ,
            RequestCode.UNLOCK_BATCH_MQ,
            RequestCode.UPDATE_AND_CREATE_TOPIC_LIST,
            RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC,
            RequestCode.LITE_SUBSCRIPTION_CTL,
        ),
        "what it says is in its body",
    ),
}

JAVAS_OWN = re.compile(r"Exception|^Cannot invoke|not set any response code")
"""Remarks about Apache's implementation: exceptions, unset response codes. No client can depend on them."""

NAMED = "the custom field <"
"""Prefix of our refusal of a request without a required field; Apache's remark names the consequence."""

PLACES = re.compile(r"/?(?:\d+\.){3}\d+:\d+")
"""Addresses of clients, which Java writes with a slash before them."""

Fields = dict[str, str]


class Spoiled(NamedTuple):
    """A request with one wrong field; a `value` of None is a missing one."""

    code: RequestCode
    field: str
    value: str | None


ALL = "all"
"""Marks a request without any field, in place of the name of one."""

DEPARTURES = {
    (
        RequestCode.CHANGE_MESSAGE_INVISIBLETIME,
        "invisibleTime",
    ): "the receipt was replaced by an earlier request",
    (RequestCode.CHANGE_MESSAGE_INVISIBLETIME, "suspend"): "the receipt was replaced by an earlier request",
    (RequestCode.CLONE_GROUP_OFFSET, "destGroup"): "Apache's notes the progress of a group without a name",
    (
        RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN,
        "topic",
    ): "Apache's notes what is forbidden of a topic 'null'",
    (RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, "queueId"): "Apache's then resets all queues",
    (RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, "offset"): "Apache's then resets to the time",
    (RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, "timestamp"): "Apache's then resets to the beginning",
    (RequestCode.ACK_MESSAGE, "consumerGroup"): "Apache's acknowledges for a group without a name",
    (
        RequestCode.CHANGE_MESSAGE_INVISIBLETIME,
        "consumerGroup",
    ): "Apache's does it for a group without a name",
    (RequestCode.POP_LITE_MESSAGE, "clientId"): "refused before the topic is looked at, not after",
    (RequestCode.POP_LITE_MESSAGE, "consumerGroup"): "refused before the topic is looked at, not after",
    (RequestCode.SEND_MESSAGE, "batch"): "code 13 says what is wrong; Apache's broker fails",
    (RequestCode.SEND_MESSAGE_V2, "m"): "code 13 says what is wrong; Apache's broker fails",
    (RequestCode.GET_LITE_TOPIC_INFO, ALL): "no topic is one that is not there; Apache's broker fails",
    (RequestCode.GET_LITE_CLIENT_INFO, ALL): "no topic is one that is not there; Apache's broker fails",
    (RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE, ALL): "tells nothing; Apache's broker fails",
    (RequestCode.POP_MESSAGE, "maxMsgNums"): "less than no messages are none; Apache's broker fails",
    (
        RequestCode.POP_MESSAGE,
        "bornTime",
    ): "a client's clock that is behind refuses one pop, not each of them",
    (RequestCode.POP_LITE_MESSAGE, "bornTime"): "a client's clock that is behind refuses one pop, not each",
    (RequestCode.PEEK_MESSAGE, "maxMsgNums"): "less than no messages are none; Apache's broker fails",
    (RequestCode.QUERY_MESSAGE, "maxNum"): "less than no messages are none; Apache's broker fails",
    (
        RequestCode.VIEW_MESSAGE_BY_ID,
        "offset",
    ): "no message begins there; Apache's broker gives what is there",
    (RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER, "topic"): "no topic has no subscription; Apache's fails",
    (
        RequestCode.GET_LITE_TOPIC_INFO,
        "parentTopic",
    ): "no topic is one that is not there; Apache's broker fails",
    (RequestCode.GET_LITE_CLIENT_INFO, "parentTopic"): "no topic is one that is not there; Apache's fails",
    (RequestCode.GET_LITE_CLIENT_INFO, "maxCount"): "it does not matter before the topic; Apache's fails",
    (RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE, "minBrokerId"): "tells nothing; Apache's broker fails",
    (RequestCode.UPDATE_AND_CREATE_TOPIC, "readQueueNums"): "a topic cannot have less than no queues",
    (RequestCode.UPDATE_AND_CREATE_TOPIC, "writeQueueNums"): "a topic cannot have less than no queues",
    (RequestCode.UPDATE_AND_CREATE_TOPIC, "topicFilterType"): "refused as other wrong parameters are",
}
"""Intended differences of our answer, by code and field, with the reason."""


def good_fields(topic: str, group: str) -> dict[RequestCode, Fields]:
    """Return the fields of a valid request, by code; codes without fields are left out."""
    send = {
        "producerGroup": "SpoilingProducers",
        "topic": topic,
        "defaultTopic": "TBW102",
        "defaultTopicQueueNums": "4",
        "queueId": "0",
        "sysFlag": "0",
        "bornTimestamp": "1700000000000",
        "flag": "0",
        "properties": "KEYS\x01k\x02UNIQ_KEY\x01U\x02",
        "reconsumeTimes": "0",
        "unitMode": "false",
        "batch": "false",
        "maxReconsumeTimes": "3",
    }
    letters = {camel_case(one.name): one.wire_name for one in SendMessageRequestHeaderV2.__fields__}
    send_v2 = {letters[name]: value for name, value in send.items()}
    queue = {"topic": topic, "queueId": "0"}
    member = {"consumerGroup": group, "topic": topic}
    pull = {
        **queue,
        "consumerGroup": group,
        "queueOffset": "0",
        "maxMsgNums": "8",
        "sysFlag": "4",
        "commitOffset": "0",
        "suspendTimeoutMillis": "100",
        "subscription": "*",
        "subVersion": "1",
        "expressionType": "TAG",
    }
    handle = "0 1700000000000 60000 0 0 broker-a 0 0"
    popped = {**queue, "consumerGroup": group, "extraInfo": handle, "offset": "0"}
    return {
        RequestCode.SEND_MESSAGE: send,
        RequestCode.SEND_MESSAGE_V2: send_v2,
        RequestCode.CONSUMER_SEND_MSG_BACK: {
            "offset": "0",
            "group": group,
            "delayLevel": "0",
            "originTopic": topic,
        },
        RequestCode.RECALL_MESSAGE: {"topic": topic, "recallHandle": "none"},
        RequestCode.END_TRANSACTION: {
            "producerGroup": "SpoilingProducers",
            "tranStateTableOffset": "0",
            "commitLogOffset": "0",
            "commitOrRollback": "8",
            "msgId": "U",
        },
        RequestCode.PULL_MESSAGE: pull,
        RequestCode.LITE_PULL_MESSAGE: pull,
        RequestCode.QUERY_MESSAGE: {
            "topic": topic,
            "key": "k",
            "maxNum": "8",
            "beginTimestamp": "0",
            "endTimestamp": "9000000000000",
        },
        RequestCode.VIEW_MESSAGE_BY_ID: {"offset": "0"},
        RequestCode.QUERY_CONSUME_QUEUE: {**queue, "index": "0", "count": "2"},
        RequestCode.QUERY_CONSUMER_OFFSET: {**queue, **member},
        RequestCode.UPDATE_CONSUMER_OFFSET: {**queue, **member, "commitOffset": "0"},
        RequestCode.CLONE_GROUP_OFFSET: {"srcGroup": group, "destGroup": group + "2", "topic": topic},
        RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: {**queue, "timestamp": "1", "boundaryType": "lower"},
        RequestCode.GET_MAX_OFFSET: queue,
        RequestCode.GET_MIN_OFFSET: queue,
        RequestCode.GET_EARLIEST_MSG_STORETIME: queue,
        RequestCode.UNREGISTER_CLIENT: {"clientID": CLIENT_ID, "consumerGroup": "SpoiledNobody"},
        RequestCode.GET_CONSUMER_LIST_BY_GROUP: {"consumerGroup": group},
        RequestCode.UPDATE_AND_CREATE_TOPIC: {
            "topic": topic,
            "defaultTopic": "TBW102",
            "readQueueNums": "2",
            "writeQueueNums": "2",
            "perm": "6",
            "topicFilterType": "SINGLE_TAG",
            "topicSysFlag": "0",
            "order": "false",
        },
        RequestCode.DELETE_TOPIC_IN_BROKER: {"topic": topic + "2"},
        RequestCode.GET_TOPIC_CONFIG: {"topic": topic},
        RequestCode.GET_TOPIC_STATS_INFO: {"topic": topic},
        RequestCode.QUERY_TOPIC_CONSUME_BY_WHO: {"topic": topic},
        RequestCode.QUERY_CONSUME_TIME_SPAN: {"topic": topic, "group": group},
        RequestCode.DELETE_SUBSCRIPTIONGROUP: {"groupName": group + "2"},
        RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG: {"group": group},
        RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN: {"group": group, "topic": topic},
        RequestCode.GET_CONSUMER_CONNECTION_LIST: {"consumerGroup": group},
        RequestCode.GET_PRODUCER_CONNECTION_LIST: {"producerGroup": "SpoilingProducers"},
        RequestCode.QUERY_TOPICS_BY_CONSUMER: {"group": group},
        RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER: {"group": group, "topic": topic},
        RequestCode.GET_CONSUME_STATS: {"consumerGroup": group, "topic": topic},
        RequestCode.GET_BROKER_CONSUME_STATS: {"isOrder": "false"},
        RequestCode.QUERY_CORRECTION_OFFSET: {"compareGroup": group, "topic": topic},
        RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: {
            "group": group,
            "topic": topic,
            "queueId": "0",
            "offset": "0",
            "timestamp": "1",
            "isForce": "true",
        },
        RequestCode.POP_MESSAGE: {
            **queue,
            "consumerGroup": group,
            "maxMsgNums": "1",
            "invisibleTime": "60000",
            "pollTime": "0",
            "initMode": "0",
            "order": "false",
        },
        RequestCode.ACK_MESSAGE: popped,
        RequestCode.CHANGE_MESSAGE_INVISIBLETIME: {**popped, "invisibleTime": "60000"},
        RequestCode.PEEK_MESSAGE: {**queue, "consumerGroup": group, "maxMsgNums": "1"},
        RequestCode.NOTIFICATION: {**queue, "consumerGroup": group, "pollTime": "0"},
        RequestCode.POLLING_INFO: {**queue, "consumerGroup": group},
        RequestCode.POP_LITE_MESSAGE: {
            "clientId": CLIENT_ID,
            "consumerGroup": group,
            "topic": topic,
            "maxMsgNum": "1",
            "invisibleTime": "60000",
            "pollTime": "0",
        },
        RequestCode.GET_PARENT_TOPIC_INFO: {"topic": topic},
        RequestCode.GET_LITE_TOPIC_INFO: {"parentTopic": topic},
        RequestCode.GET_LITE_CLIENT_INFO: {"parentTopic": topic, "group": group, "clientId": CLIENT_ID},
        RequestCode.GET_LITE_GROUP_INFO: {"group": group},
        RequestCode.TRIGGER_LITE_DISPATCH: {"group": group, "clientId": CLIENT_ID},
        RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE: {"minBrokerId": "0", "minBrokerAddr": "127.0.0.1:1"},
        RequestCode.EXCHANGE_BROKER_HA_INFO: {},
        RequestCode.RESET_MASTER_FLUSH_OFFSET: {"masterFlushOffset": "0"},
        RequestCode.VIEW_BROKER_STATS_DATA: {"statsName": "TOPIC_PUT_NUMS", "statsKey": topic},
        RequestCode.GET_CONSUMER_RUNNING_INFO: {"consumerGroup": "SpoiledNobody", "clientId": CLIENT_ID},
        RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: {"group": "SpoiledNobody", "topic": topic},
    }


def spoiled_requests(code: RequestCode, topic: str, group: str) -> Iterator[tuple[Spoiled, Fields]]:
    """Yield the request with each field spoiled in turn."""
    good, header = good_fields(topic, group)[code], request_header(code)
    assert header is not None
    yield Spoiled(code, ALL, None), {}
    for field in header.__fields__:
        name = field.wire_name
        if name in FOR_OTHERS:
            continue
        if name in good:
            yield Spoiled(code, name, None), {key: good[key] for key in good if key != name}
        for value in SPOILED[field.type.name]:
            yield Spoiled(code, name, value), {**good, name: value}


def may_differ(spoiled: Spoiled) -> bool:
    """Return True if our answer may have another code than Apache's."""
    return (spoiled.code, spoiled.field) in DEPARTURES


def prepare(connection: RawConnection, topic: str, group: str) -> None:
    """Make a topic with a few messages and a group with a member."""
    fields = good_fields(topic, group)
    config = {"groupName": group, "consumeEnable": True, "retryQueueNums": 1, "retryMaxTimes": 16}
    subscription = {"topic": topic, "subString": "*", "subVersion": 1, "expressionType": "TAG"}
    heartbeat = {
        "clientID": CLIENT_ID,
        "consumerDataSet": [
            {
                "groupName": group,
                "consumeType": "CONSUME_PASSIVELY",
                "messageModel": "CLUSTERING",
                "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET",
                "subscriptionDataSet": [subscription],
            }
        ],
        "producerDataSet": [{"groupName": "SpoilingProducers"}],
    }
    steps: list[tuple[RequestCode, Fields, bytes]] = [
        (RequestCode.UPDATE_AND_CREATE_TOPIC, fields[RequestCode.UPDATE_AND_CREATE_TOPIC], b""),
        (RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, json.dumps(config).encode()),
        *[(RequestCode.SEND_MESSAGE, fields[RequestCode.SEND_MESSAGE], b"body")] * MESSAGES,
        (RequestCode.HEART_BEAT, {}, json.dumps(heartbeat).encode()),
    ]
    for code, good, body in steps:
        answer = connection.ask(code, good, body)
        assert answer is not None and answer.code == 0, (code, answer)


class Answer(NamedTuple):
    """Code and remark of an answer."""

    code: int
    remark: str | None


Answers = dict[Spoiled, Answer | None]
"""Answers by request; None if no answer came in time."""


def answers(peers: Peers, kind: str) -> Answers:
    """Return the answers of a server."""
    rows = peers.transcripts.of(__name__, "answers", kind, lambda kind: list(asked(peers, kind).items()))
    return {
        Spoiled(RequestCode(code), field, value): None if answer is None else Answer(*answer)
        for (code, field, value), answer in rows
    }


def asked(peers: Peers, kind: str) -> Answers:
    """Return the answers of a server of its own."""
    found: Answers = {}
    with peers.fresh(kind) as server:
        for code in good_fields("", ""):
            with RawConnection(server.broker_address) as connection:
                topic, group = f"Spoiled{code.value}", f"Spoilers{code.value}"
                prepare(connection, topic, group)
                for spoiled, fields in spoiled_requests(code, topic, group):
                    if code is RequestCode.POP_MESSAGE:
                        found[spoiled] = answer_to_pop(connection, fields, topic, group)
                    else:
                        found[spoiled] = answer_to(connection, code, fields)
    return found


def answer_to(connection: RawConnection, code: RequestCode, fields: Fields) -> Answer | None:
    """Return the answer to one request."""
    answer = connection.ask(code, fields, b"body", seconds=NO_ANSWER_SECONDS)
    return None if answer is None else Answer(answer.code, answer.remark)


def answer_to_pop(connection: RawConnection, fields: Fields, topic: str, group: str) -> Answer | None:
    """Return the answer to a pop that has a message to find: earlier pops took theirs, or skipped them all.

    The pop is repeated when it finds nothing: Apache's broker answers so too while the earlier pop holds the
    queue.
    """
    send = good_fields(topic, group)[RequestCode.SEND_MESSAGE]
    for _ in range(LOCKED_TRIES):
        sent = connection.ask(RequestCode.SEND_MESSAGE, send, b"body")
        assert sent is not None and sent.code == 0, sent
        answer = answer_to(connection, RequestCode.POP_MESSAGE, fields)
        if answer is None or answer.code != ResponseCode.POLLING_TIMEOUT:
            break
        time.sleep(LOCKED_SECONDS)
    return answer


APACHES, OUR = Work(70, answers, ("apache",)), Work(20, answers, ("ours",))
EARLY = {"apaches": (APACHES,), "our": (OUR,)}


@pytest.fixture(scope="module")
def apaches(request: pytest.FixtureRequest) -> Answers:
    answers: Answers = early.result(request, APACHES)
    return answers


@pytest.fixture(scope="module")
def our(request: pytest.FixtureRequest) -> Answers:
    answers: Answers = early.result(request, OUR)
    return answers


def test_every_code_with_fields_is_in_the_table() -> None:
    """Every declared code is in the table or is left out with a reason."""
    declared = {code for code in REQUESTS if (header := request_header(code)) and header.__fields__}
    assert declared == set(good_fields("", "")) | set(LEFT_OUT)


def test_codes_are_the_same(apaches: Answers, our: Answers) -> None:
    """Our answer has the code of Apache's, except for the listed departures."""
    codes = {one: tuple(answer and answer.code for answer in (apaches[one], our[one])) for one in apaches}
    different = {one: pair for one, pair in codes.items() if pair[0] != pair[1] and not may_differ(one)}
    assert not different, listed(different)


def test_remarks_are_the_same(apaches: Answers, our: Answers) -> None:
    """Remarks are equal where Apache's server writes its own and does not leave it to an exception."""
    pairs = {one: (apaches[one], our[one]) for one in apaches if apaches[one] and our[one]}
    assert sum(bool(theirs.remark) for theirs, _ in pairs.values() if theirs) > 100
    different = {
        one: (theirs.remark, ours.remark)
        for one, (theirs, ours) in pairs.items()
        if theirs and ours and theirs.code == ours.code and not may_say_other(one, theirs, ours)
    }
    assert not different, listed(different)


def may_say_other(spoiled: Spoiled, theirs: Answer, ours: Answer) -> bool:
    """Return True if the remarks are equal or need not be."""
    if theirs.remark is None or JAVAS_OWN.search(theirs.remark) or may_differ(spoiled):
        return True
    if (ours.remark or "").startswith(NAMED):
        return True
    if spoiled.value is None:
        # Java writes a missing text as null.
        return without_nulls(theirs.remark) == without_nulls(ours.remark or "")
    return comparable(theirs.remark) == comparable(ours.remark or "")


def without_nulls(remark: str) -> str:
    """Return the remark without missing names and blanks."""
    return re.sub(r"\bnull\b| ", "", comparable(remark))


def comparable(remark: str) -> str:
    """Return the remark without addresses and times, which differ between connections and runs."""
    return re.sub(r"\d{13,}", "time", PLACES.sub("client", remark))


def listed(different: Mapping[Spoiled, tuple[object, ...]]) -> str:
    """Return the differences, one line each."""
    return "\n".join(
        f"{one.code.name} {one.field}={one.value!r:.20}: {pair}" for one, pair in different.items()
    )
