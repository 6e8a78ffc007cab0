"""Requests that are valid except for one thing: a missing or wrong field, or a wrong body.

Every code that is answered is sent with every field of its declared header spoiled in turn, and with bodies
of the wrong kind and of the wrong shape. Each such request gets one answer, the connection stays open,
nothing is logged as a failure of ours (`LogWatch`), and the honest client is served as before, also by the
broker that then starts on the same disk.
"""

from __future__ import annotations

import copy
import json
import random
import struct
import zlib
from collections.abc import Iterator
from itertools import cycle, islice
from typing import Any

import pytest

from mqgateway.engine.options import BrokerOptions, NamesrvOptions, StoreOptions
from mqgateway.engine.options.option import options_of
from mqgateway.gateway.broker.requests import REQUESTS as BROKER_REQUESTS
from mqgateway.gateway.codec import bodies, headers
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.codec.fields import HeaderField, camel_case, request_header
from mqgateway.gateway.namesrv.service import REQUESTS as NAMESRV_REQUESTS
from tests.fuzz.honest import HonestClient, check
from tests.fuzz.world import BROKER_PORT, NAMESRV_PORT, Speaker, World
from tests.support.gateway.broker.helpers import (
    batch_body,
    pull_header,
    send_header,
    split_records,
    subscription,
)

VICTIM = "Victim"
"""Name of the topic, group and so on that hostile requests are about: it has messages and a member."""
CLIENT_ID = "victim@1"

SERVED = pytest.mark.parametrize(
    ("port", "code"),
    [
        *(pytest.param(NAMESRV_PORT, int(code), id=f"namesrv-{int(code)}") for code in NAMESRV_REQUESTS),
        *(pytest.param(BROKER_PORT, int(code), id=f"broker-{int(code)}") for code in BROKER_REQUESTS),
    ],
)

MESSAGES = 9
"""Number of messages: some requests wait, each for a message of its own."""
BINARY_CODES = 1 << 15
"""The first code that does not fit into a binary header."""
SOMETIMES_SILENT = (RequestCode.END_TRANSACTION, RequestCode.POP_MESSAGE)
"""Codes that are not always answered: clients end transactions one-way, and a pop may wait for 24 days."""

NUMBERS = ["-1", "0", "1", "9", *(str(sign * 2**bits - (sign > 0)) for bits in (31, 63) for sign in (-1, 1))]
NO_NUMBERS = ["", " ", "1 ", "+", "0x10", "1e3", "NaN", "1.5", "1_0", "\u0663", "9" * 5000, str(2**63)]
NO_BOOLEANS = ["", "TRUE", "yes", "0"]
TEXTS = ["", " ", "x" * 40_000, "\0", "\1\2", "a@b@c", "../../x", "%RETRY%", "{}", "[[[", "\U0001f980\xe9"]

# Fields


ABOUT_VICTIM = ("topic", "group", "consumerGroup", "producerGroup", "groupName", "srcGroup", "statsKey")
SUPER_USER = "root"
"""The user that exists from the start; another one is created and deleted."""
KNOWN = {
    "queueId": "0",
    "clientID": CLIENT_ID,
    "clientId": CLIENT_ID,
    "brokerName": "broker-b",
    "brokerAddr": "10.9.9.9:1",
    "clusterName": "C",
    "brokerId": "0",
    "defaultTopic": "TBW102",
    "topicFilterType": "SINGLE_TAG",
    "statsName": "TOPIC_PUT_NUMS",
    "sysFlag": "2",
    "perm": "6",
    "msgId": "0A00000100002A9F0000000000000000",
    "offset": "0",
    "attributes": "",
    "bodyCrc32": "0",
    "bornTime": "0",
    "subject": f"User:{SUPER_USER}",
    "extraInfo": "0 1700000000000 60000 0 0 broker-b 0 0",
}
"""Values with which a request is processed further than with any other."""
OF_ANOTHER_USER = (RequestCode.AUTH_CREATE_USER, RequestCode.AUTH_DELETE_USER)
NEW_READERS = (RequestCode.POP_MESSAGE, RequestCode.PEEK_MESSAGE)
"""Codes sent for a group that has messages to read."""
LETTERS = {field.wire_name: camel_case(field.name) for field in headers.SendMessageRequestHeaderV2.__fields__}
LETTERED = (RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE)


def good_value(field: HeaderField, code: int) -> str:
    """Return a value that a client could send."""
    name = LETTERS.get(field.wire_name, "") if code in LETTERED else field.wire_name
    if code in NEW_READERS and name == "consumerGroup":
        return "Stranger"
    if name == "username":
        return VICTIM if code in OF_ANOTHER_USER else SUPER_USER
    if name in ABOUT_VICTIM:
        return VICTIM
    if name in KNOWN:
        return KNOWN[name]
    return {"String": "", "boolean": "false", "BoundaryType": "LOWER"}.get(field.type.name, "1")


def good_fields(code: int) -> dict[str, str]:
    """Return valid values of every declared field."""
    declared = request_header(code)
    return {} if declared is None else {one.wire_name: good_value(one, code) for one in declared.__fields__}


def bad_values(field: HeaderField) -> list[str]:
    """Return values that no well-behaved client sends in this field."""
    kind = field.type.name
    if kind in ("int", "long"):
        return NUMBERS + NO_NUMBERS
    return NO_BOOLEANS if kind == "boolean" else TEXTS


def spoiled_fields(code: int) -> Iterator[dict[str, str]]:
    """Yield fields of a request of this code of which one is wrong, added or missing, and then several."""
    declared = request_header(code)
    fields = () if declared is None else declared.__fields__
    good = good_fields(code)
    needed = {field.wire_name: good[field.wire_name] for field in fields if field.required}
    yield good
    yield needed
    yield {}
    yield {**good, "": "", "nobody knows": "x" * 1000, "\0": "\0"}
    for field in fields:
        name = field.wire_name
        yield {key: value for key, value in good.items() if key != name}
        for bad in bad_values(field):
            yield {**good, name: bad}
            if not field.required:
                yield {**needed, name: bad}
    choose = random.Random(code)
    for _ in range(100 if fields else 0):
        yield {
            field.wire_name: choose.choice([good[field.wire_name], *bad_values(field)])
            for field in fields
            if field.required or choose.random() < 0.7
        }


@SERVED
def test_fields(port: int, code: int) -> None:
    """Fields are missing, ill-typed, out of range, huge, negative; in both forms of a header."""
    with World() as world:
        honest = HonestClient(world)
        victim = meet_victim(world, honest)
        peer = world.meet(port)
        asked = [
            peer.send(code, ext=fields, body=b"{}", binary=bool(number % 2) and code < BINARY_CODES)
            for number, fields in enumerate(spoiled_fields(code))
        ]
        world.settle()
        for _ in range(MESSAGES):
            victim.send(RequestCode.SEND_MESSAGE_V2, send_header(VICTIM), b"wakes what waits for a message")
        check_answered(peer, asked, all_of_them=code not in SOMETIMES_SILENT)
        for fields in ({}, good_fields(code)):
            peer.send(code, ext=fields, oneway=True)
        world.settle()
        assert peer.is_open and not peer.take()
        check_afterwards(world, honest)


OF_LITE_TOPICS = {
    int(code)
    for code in (
        RequestCode.POP_LITE_MESSAGE,
        RequestCode.LITE_SUBSCRIPTION_CTL,
        RequestCode.GET_PARENT_TOPIC_INFO,
        RequestCode.GET_LITE_TOPIC_INFO,
        RequestCode.GET_LITE_CLIENT_INFO,
        RequestCode.GET_LITE_GROUP_INFO,
        RequestCode.TRIGGER_LITE_DISPATCH,
    )
}
"""Codes that are always refused as long as lite topics are not enabled."""


def test_the_good_values_are_good() -> None:
    """Nearly every request with them succeeds; otherwise the spoiled fields would never be read."""
    refused = set()
    with World() as world:
        honest = HonestClient(world)
        for code in BROKER_REQUESTS:
            victim = meet_victim(world, honest)
            body = json.dumps(GOOD_BODIES.get(code, {})).encode()
            opaque = victim.send(code, ext=good_fields(code), body=body)
            world.settle()
            answers = [command for command in victim.take() if command.opaque == opaque]
            refused |= {int(code) for answer in answers if answer.code != ResponseCode.SUCCESS}
            victim.leave()
    under_controllers = {int(RequestCode.GET_BROKER_EPOCH_CACHE)}
    # Nothing was popped, so that no receipt is current.
    of_receipts = {int(RequestCode.BATCH_ACK_MESSAGE), int(RequestCode.CHANGE_MESSAGE_INVISIBLETIME)}
    assert len(refused - OF_LITE_TOPICS - under_controllers - of_receipts) <= 10, sorted(refused)


# Bodies

TOPIC_CONFIG = {
    "topicName": VICTIM,
    "readQueueNums": 2,
    "writeQueueNums": 2,
    "perm": 6,
    "topicFilterType": "SINGLE_TAG",
    "topicSysFlag": 0,
    "order": False,
    "attributes": {"+message.type": "NORMAL"},
}
GROUP_CONFIG = {
    "groupName": VICTIM,
    "consumeEnable": True,
    "consumeFromMinEnable": True,
    "consumeBroadcastEnable": True,
    "consumeMessageOrderly": False,
    "retryQueueNums": 1,
    "retryMaxTimes": 16,
    "groupRetryPolicy": {"type": "CUSTOMIZED"},
    "brokerId": 0,
    "whichBrokerWhenConsumeSlowly": 1,
    "notifyConsumerIdsChangedEnable": True,
    "groupSysFlag": 0,
    "consumeTimeoutMinute": 15,
    "subscriptionDataSet": [{"topic": VICTIM, "type": "TAG", "version": 1}],
    "attributes": {"+lite.bind.topic": "T"},
}
QUEUE = {"topic": VICTIM, "brokerName": "broker-a", "queueId": 0}
LOCKS = {"consumerGroup": VICTIM, "clientId": CLIENT_ID, "mqSet": [QUEUE], "onlyThisBroker": False}
SUBSCRIPTION = subscription(VICTIM, "a || b").to_json()
VERSION = {"counter": 1, "stateVersion": 0, "timestamp": 1}
ITEM = {
    "gen": 0,
    "queueId": 0,
    "bname": "broker-a",
    "logicOffset": 0,
    "startOffset": 0,
    "endOffset": -1,
    "timeOfStart": -1,
    "timeOfEnd": -1,
}
LATER_ITEM = ITEM | {"gen": 1, "bname": "broker-b", "logicOffset": 100}
POLICIES = [{"entries": [{"resource": "Topic:*", "actions": ["All"], "decision": "Allow"}]}]
GOOD_BODIES: dict[int, Any] = {
    RequestCode.AUTH_CREATE_USER: {"password": "secret", "userType": "Normal"},
    RequestCode.AUTH_UPDATE_USER: {"password": "secret", "userStatus": "enable"},
    RequestCode.AUTH_CREATE_ACL: {"policies": POLICIES},
    RequestCode.AUTH_UPDATE_ACL: {"policies": POLICIES},
    RequestCode.HEART_BEAT: {
        "clientID": CLIENT_ID,
        "producerDataSet": [{"groupName": VICTIM}],
        "consumerDataSet": [
            {
                "groupName": VICTIM,
                "consumeType": "CONSUME_PASSIVELY",
                "messageModel": "CLUSTERING",
                "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET",
                "subscriptionDataSet": [SUBSCRIPTION],
                "unitMode": False,
            }
        ],
        "heartbeatFingerprint": 1,
        "withoutSub": False,
    },
    RequestCode.CHECK_CLIENT_CONFIG: {
        "clientId": CLIENT_ID,
        "group": VICTIM,
        "subscriptionData": SUBSCRIPTION,
        "namespace": "",
    },
    RequestCode.LOCK_BATCH_MQ: LOCKS,
    RequestCode.UNLOCK_BATCH_MQ: LOCKS,
    RequestCode.QUERY_ASSIGNMENT: {
        "topic": VICTIM,
        "consumerGroup": VICTIM,
        "clientId": CLIENT_ID,
        "strategyName": "AVG",
        "messageModel": "CLUSTERING",
    },
    RequestCode.SET_MESSAGE_REQUEST_MODE: {
        "topic": VICTIM,
        "consumerGroup": VICTIM,
        "mode": "POP",
        "popShareQueueNum": 1,
    },
    RequestCode.UPDATE_AND_CREATE_TOPIC_LIST: {"topicConfigList": [TOPIC_CONFIG]},
    RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC: {
        "topic": VICTIM,
        "bname": "broker-a",
        "totalQueues": 2,
        "epoch": 1,
        "scope": "__global__",
        "hostedQueues": {"0": [ITEM], "1": [ITEM | {"queueId": 1, "endOffset": 9}, LATER_ITEM]},
    },
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: GROUP_CONFIG,
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: {"groupConfigList": [GROUP_CONFIG]},
    RequestCode.BATCH_ACK_MESSAGE: {
        "brokerName": "broker-b",
        "acks": [
            {"c": VICTIM, "t": VICTIM, "r": "0", "so": 0, "q": 0, "rq": 0, "pt": 1, "it": 1, "b": "AQ=="}
        ],
    },
    RequestCode.REGISTER_BROKER: {
        "topicConfigSerializeWrapper": {
            "topicConfigTable": {VICTIM: TOPIC_CONFIG, "other": TOPIC_CONFIG},
            "dataVersion": VERSION,
            "topicQueueMappingInfoMap": {
                VICTIM: {
                    "bname": "broker-b",
                    "topic": VICTIM,
                    "scope": "__global__",
                    "totalQueues": 2,
                    "epoch": 1,
                    "dirty": False,
                    "currIdMap": {"0": 0},
                }
            },
        },
        "filterServerList": ["10.1.1.1:1"],
    },
    RequestCode.QUERY_DATA_VERSION: VERSION,
    RequestCode.REGISTER_TOPIC_IN_NAMESRV: {
        "queueDatas": [
            {"brokerName": "broker-a", "readQueueNums": 2, "writeQueueNums": 2, "perm": 6, "topicSysFlag": 0}
        ],
        "brokerDatas": [],
        "filterServerTable": {},
    },
}
"""A body for each code that takes one, with every member that is read."""

DEEP: list[Any] = []
for _ in range(90):
    DEEP = [DEEP]
BAD_MEMBERS: list[Any] = [
    *(None, True, -1, 0, 2.5, 1e308, 2**31, -(2**31) - 1, 2**63, 10**30),
    *("", "x" * 40_000, "\0", "5", "\ud800"),
    *([], {}, [None], [[]], {"x": None}, {"": {}}, ["x", 1], DEEP),
]
NO_JSON = [
    *(
        b"",
        b"{",
        b"nul",
        b"\xff\xfe\xfd",
        b'{"a":}',
        b'{"a":1}}',
        b"{1}",
        b"{1e999:1}",
        b'{{"a":1}:2}',
        b"{{}:{}}",
    ),
    *(b"[" * 100_000, b'{"a":' * 50_000, b"{{" * 50_000, b'{"a":' + b"[" * 2000 + b"]" * 2000 + b"}"),
    *(b"9" * 100_000, b'"' + b"x" * 300_000 + b'"', b"[NaN]", b"-", b"null", b"[]", b"1", b'"x"', b"true"),
]


def spoiled_json(value: Any) -> Iterator[Any]:
    """Yield copies of the value with one member, at any depth, replaced by an invalid value or removed."""
    for path in paths(value):
        for bad in BAD_MEMBERS:
            yield replaced(value, path, bad)
        if path:
            yield without(value, path)


def paths(value: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every member."""
    yield ()
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in inner:
        for path in paths(member):
            yield (key, *path)


def replaced(value: Any, path: tuple[Any, ...], by: Any) -> Any:
    """Return a copy with another member at the end of the path."""
    if not path:
        return by
    whole = copy.deepcopy(value)
    _inmost(whole, path)[path[-1]] = by
    return whole


def without(value: Any, path: tuple[Any, ...]) -> Any:
    """Return a copy without the member at the end of the path."""
    whole = copy.deepcopy(value)
    del _inmost(whole, path)[path[-1]]
    return whole


def _inmost(whole: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        whole = whole[key]
    return whole


@SERVED
def test_bodies_that_are_none(port: int, code: int) -> None:
    """The bodies are no JSON, unterminated JSON, and JSON that is no object."""
    with World() as world:
        honest = HonestClient(world)
        meet_victim(world, honest)
        peer = world.meet(port)
        asked = [peer.send(code, ext=good_fields(code), body=body) for body in NO_JSON]
        check_answered(peer, asked, all_of_them=code not in SOMETIMES_SILENT)
        check_afterwards(world, honest)


@pytest.mark.parametrize("code", GOOD_BODIES, ids=lambda code: str(int(code)))
def test_bodies_of_wrong_shapes(code: int) -> None:
    """Every member of every body is invalid once; other requests about the same objects are answered."""
    with World() as world:
        honest = HonestClient(world)
        meet_victim(world, honest)
        port = NAMESRV_PORT if code in NAMESRV_REQUESTS else BROKER_PORT
        peer = world.meet(port)
        ask_around = cycle(AROUND[port])
        asked = []
        for value in spoiled_json(GOOD_BODIES[code]):
            asked.append(peer.send(code, ext=good_fields(code), body=json.dumps(value).encode()))
            asked += [peer.send(other, ext=fields) for other, fields in islice(ask_around, 2)]
        check_answered(peer, asked)
        check_afterwards(world, honest)


AROUND: dict[int, list[tuple[int, dict[str, str]]]] = {
    NAMESRV_PORT: [
        (code, good_fields(code))
        for code in (RequestCode.GET_ROUTEINFO_BY_TOPIC, RequestCode.GET_BROKER_CLUSTER_INFO)
    ],
    BROKER_PORT: [
        (RequestCode.SEND_MESSAGE_V2, send_header(VICTIM, queue_id=-1).encode()),
        (RequestCode.PULL_MESSAGE, pull_header(VICTIM, group=VICTIM).encode()),
        *(
            (code, good_fields(code))
            for code in (
                RequestCode.GET_TOPIC_STATS_INFO,
                RequestCode.GET_CONSUME_STATS,
                RequestCode.GET_TOPIC_CONFIG,
                RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG,
                RequestCode.GET_CONSUMER_CONNECTION_LIST,
                RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER,
                RequestCode.CONSUMER_SEND_MSG_BACK,
            )
        ),
    ],
}
"""Requests that show the effects of a bad body, by port; sent in turn, two after each body."""


@pytest.mark.parametrize("seed", range(4))
def test_compressed_registrations_with_wrong_bytes(seed: int) -> None:
    """Wrong counts and lengths inside, wrong bytes outside, streams that end too early or never."""
    choose = random.Random(seed)
    plain = bodies.RegisterBrokerBody.from_json(GOOD_BODIES[RequestCode.REGISTER_BROKER]).encode_compressed()
    inflated = zlib.decompress(plain)
    with World() as world:
        honest = HonestClient(world)
        meet_victim(world, honest)
        peer = world.meet(NAMESRV_PORT)
        fields = {**good_fields(RequestCode.REGISTER_BROKER), "compressed": "true"}
        attacks = [plain[:cut] for cut in range(0, len(plain), 7)]
        for _ in range(100):
            at = choose.randrange(len(inflated) - 4)
            number = choose.choice([-1, 0, 1, 255, 2**31 - 1, -(2**31)])
            attacks.append(zlib.compress(inflated[:at] + struct.pack(">i", number) + inflated[at + 4 :]))
            at = choose.randrange(len(plain))
            attacks.append(plain[:at] + choose.randbytes(1) + plain[at + 1 :])
        asked = [peer.send(RequestCode.REGISTER_BROKER, ext=fields, body=body) for body in attacks]
        check_answered(peer, asked)
        check_afterwards(world, honest)


def test_batches_with_wrong_bytes() -> None:
    """Torn batches and wrong lengths are refused as a whole, and nothing unreadable is stored."""
    good = batch_body((b"one", {"KEYS": "k"}), (b"two", {"TAGS": "a"}), (b"", {}))
    choose = random.Random(5)
    attacks = [good[:cut] for cut in range(len(good))]
    for at in range(len(good) - 3):
        for number in (-1, 0, 1, 19, 20, len(good), 2**31 - 1, -(2**31)):
            attacks.append(good[:at] + struct.pack(">i", number) + good[at + 4 :])
    attacks += [choose.randbytes(choose.randint(1, 200)) for _ in range(200)]
    with World() as world:
        honest = HonestClient(world)
        victim = meet_victim(world, honest)
        peer = world.meet(BROKER_PORT)
        header = send_header(VICTIM, batch=True)
        check_answered(peer, [peer.send(RequestCode.SEND_BATCH_MESSAGE, header, body) for body in attacks])
        header = send_header(VICTIM)
        check_answered(
            peer, [peer.send(RequestCode.SEND_BATCH_MESSAGE, header, body) for body in attacks[:50]]
        )
        found: list[bytes] = []
        while answer := victim.ask(RequestCode.PULL_MESSAGE, pull_everything(len(found))).body:
            found += [message.body for message in split_records(answer)]
        most = world.broker.store.max_offset(VICTIM, 0)
        assert len(found) == most > 50
        check_afterwards(world, honest)


@pytest.mark.parametrize(
    ("port", "code", "options"),
    [
        (BROKER_PORT, RequestCode.UPDATE_BROKER_CONFIG, (BrokerOptions, StoreOptions)),
        (NAMESRV_PORT, RequestCode.UPDATE_NAMESRV_CONFIG, (NamesrvOptions,)),
    ],
    ids=["broker", "namesrv"],
)
def test_settings_that_are_none(port: int, code: int, options: tuple[type, ...]) -> None:
    """Text that is no properties, and invalid values for every setting that is no text."""
    texts = [
        "=",
        "\\u12",
        "\\",
        "a\\u00",
        "x" * 100_000,
        "=\n" * 1000,
        "a=\0",
        "\ud800".encode("utf-8", "replace").decode(),
    ]
    for one in (option for owner in options for option in options_of(owner)):
        if not isinstance(one.default, str) and not isinstance(one.default, bool):
            texts += [f"{one.name}={bad}" for bad in (*NO_NUMBERS[3:], "x" * 1000, "-99999999999999999999")]
        elif isinstance(one.default, bool):
            texts += [f"{one.name}={bad}" for bad in ("", "yes", "2")]
    with World() as world:
        honest = HonestClient(world)
        peer = world.meet(port)
        settings = peer.ask(code + 1).body
        asked = [peer.send(code, body=text.encode()) for text in texts]
        asked += [peer.send(code, body=body) for body in (b"\xff\xfe", b"", bytes(1000))]
        check_answered(peer, asked)
        assert peer.ask(code + 1).body == settings
        check_afterwards(world, honest)


def test_members_that_answer_nonsense() -> None:
    """A request relayed to a consumer brings its caller one answer, whatever the consumer replies."""
    garbage = [
        RemotingCommand.response(code, body=body, ext=ext)
        for code in (0, -5, 2**31 - 1)
        for body in (b"", b"{", b"[]", b'{"messageQueueTable":5}', b"[" * 10_000, bytes(1000))
        for ext in ({}, {"": "\0", "x" * 1000: "y" * 30_000})
    ]
    with World() as world:
        honest = HonestClient(world)
        victim = meet_victim(world, honest)
        peer = world.meet(BROKER_PORT)
        for answer in garbage:
            asked = [
                peer.send(code, ext=good_fields(code))
                for code in (
                    RequestCode.GET_CONSUMER_RUNNING_INFO,
                    RequestCode.CONSUME_MESSAGE_DIRECTLY,
                    RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS,
                )
            ]
            world.settle()
            for question in [command for command in victim.take() if not command.is_response]:
                answer.opaque = question.opaque
                victim.push(encode_command(answer) * 2)
            check_answered(peer, asked)
        check_afterwards(world, honest)


# Helpers


def meet_victim(world: World, honest: HonestClient) -> Speaker:
    """Create the objects that requests are about; return the connection that is the member of the group."""
    honest.make_topic(VICTIM)
    victim = world.meet(BROKER_PORT, "192.168.5.5")
    body = json.dumps(GOOD_BODIES[RequestCode.HEART_BEAT]).encode()
    assert victim.ask(RequestCode.HEART_BEAT, body=body).code == 0
    assert victim.ask(RequestCode.SEND_MESSAGE_V2, send_header(VICTIM, {"TAGS": "a"}), b"hello").code == 0
    offset = headers.UpdateConsumerOffsetRequestHeader(
        consumer_group=VICTIM, topic=VICTIM, queue_id=0, commit_offset=1
    )
    assert victim.ask(RequestCode.UPDATE_CONSUMER_OFFSET, offset).code == 0
    return victim


def pull_everything(offset: int) -> headers.PullMessageRequestHeader:
    """Return a pull of the victim's messages, whatever their tags."""
    return pull_header(VICTIM, offset=offset, group=VICTIM, sys_flag=4, subscription="*")


def check_answered(peer: Speaker, asked: list[int], *, all_of_them: bool = True) -> None:
    """Assert that each request gets one answer, at once or at its timeout, and the peer stays connected."""
    world = peer.world
    world.settle()
    answered = [command.opaque for command in peer.take() if command.is_response]
    for _ in range(12 if all_of_them else 1):  # parked pulls, and requests relayed to a silent client
        if len(answered) >= len(asked):
            break
        world.settle(5.0)
        answered += [command.opaque for command in peer.take() if command.is_response]
    assert peer.is_open
    assert sorted(answered) == (asked if all_of_them else sorted({*answered} & {*asked}))


def check_afterwards(world: World, honest: HonestClient) -> None:
    """Assert that nothing failed, and that the honest client is served before and after a restart."""
    world.check_log()
    check(world, honest)
    world.restart_broker()
    honest.connect()
    honest.check_everything_sent_before()
    check(world, honest)
