"""A user with one topic reads and changes no record of another, whatever a request points at.

Every code of the broker is sent, in every form that `requests_of` makes of its header's fields, by a user who
may do everything with one topic and one group, and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.message import parse_offset_message_id
from mqgateway.engine.options.access import AuthorizationProfile
from mqgateway.engine.store.record import decode
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.timers.messages import RecallHandle
from mqgateway.gateway.access.control import AccessControl
from mqgateway.gateway.access.policies import (
    Action,
    Decision,
    Policy,
    PolicyEntry,
    PolicyType,
)
from mqgateway.gateway.access.policies import group as group_resource
from mqgateway.gateway.access.policies import topic as topic_resource
from mqgateway.gateway.access.resources import BY_RECORD
from mqgateway.gateway.access.settings import AccessSettings
from mqgateway.gateway.access.signature import Credentials
from mqgateway.gateway.access.tables import AccessTables
from mqgateway.gateway.access.users import UserType
from mqgateway.gateway.broker.refusals import refusal
from mqgateway.gateway.broker.requests import REQUESTS
from mqgateway.gateway.codec.bodies import ConsumerData, HeartbeatData, ProducerData, SubscriptionData
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, decode_command, encode_command
from mqgateway.gateway.codec.fields import HeaderField, request_header
from mqgateway.gateway.remoting.dispatch import Dispatcher
from tests.support.gateway.broker.helpers import Answer, FakePeer, MemoryBroker

OWN, OTHER = "AaTopic", "BBTopic"
GROUP, OTHER_GROUP, PRODUCERS = "mine", "theirs", "p"
SECRET, MARK = b"SECRET-BODY", b"SECRET-PROPERTY"
DUE = 60_000
USER, OWNER, SUPER = "u2", "owner", "root"


class Target(NamedTuple):
    """A record of the other topic, and what points at it."""

    offset: int
    queue_offset: int
    message_id: str
    key: str


class World:
    """A broker with access control, a message of each kind in the other topic, and one of the user's own."""

    def __init__(self, **options: Any) -> None:
        secured = {
            "authentication_enabled": True,
            "authorization_enabled": True,
            "recall_message_enable": True,
        }
        self.memory = memory = MemoryBroker(options=secured | options)
        self.broker = broker = memory.broker
        broker.timers.load()
        broker.pop.load()
        for name in (OWN, OTHER):
            memory.add_topic(name, queues=1)
        for name in (GROUP, OTHER_GROUP):
            broker.tables.groups.put(SubscriptionGroupConfig(name))
        settings = AccessSettings.of(memory.options, memory.disk, "DefaultCluster")
        tables = AccessTables(memory.disk, "/config", memory.clock, None)
        self.control = AccessControl(settings, tables, memory.options, memory.clock, lambda _: Deferred())
        self.control.load()
        broker.access = self.control.administration
        self._add_users()
        table = self.control.guarded(REQUESTS, memory.options)
        memory.dispatcher = Dispatcher(
            memory.context, table, {}, clock=memory.clock, hooks=[self.control], refusal=refusal
        )
        self.peer = FakePeer("10.0.0.9:9")
        self.own = self.send(OWN, b"own", KEYS="BB", UNIQ_KEY="UO")
        plain = self.send(OTHER, SECRET, KEYS="BB", UNIQ_KEY="U1")
        half = self.send(OTHER, SECRET, 4, KEYS="BB", UNIQ_KEY="U2", TRAN_MSG="true", PGROUP=PRODUCERS)
        level = self.send(OTHER, SECRET, KEYS="BB", UNIQ_KEY="U3", DELAY="5")
        self.due = str(memory.clock.millis() + DUE)
        timer = self.send(OTHER, SECRET, KEYS="BB", UNIQ_KEY="U4", TIMER_DELIVER_MS=self.due)
        self.as_user(
            SUPER,
            RequestCode.CONSUMER_SEND_MSG_BACK,
            offset=plain.offset,
            group=OTHER_GROUP,
            delayLevel=-1,
            originMsgId="",
            originTopic=OTHER,
            unitMode="false",
        )
        (dead,) = memory.stored(f"%DLQ%{OTHER_GROUP}")
        letter = Target(dead.physical_offset, 0, dead.message_id, "BB")
        self.half = half
        self.targets = {"plain": plain, "half": half, "level": level, "timer": timer, "letter": letter}

    def _add_users(self) -> None:
        administration = self.control.administration
        administration.create_user("", SUPER, SUPER, UserType.SUPER, None)
        for user, topic, group in ((USER, OWN, GROUP), (OWNER, OTHER, OTHER_GROUP)):
            administration.create_user("", user, user, None, None)
            entries = [
                PolicyEntry(kind(name), (Action.ALL,), Decision.ALLOW, ())
                for kind, name in ((topic_resource, topic), (group_resource, group))
            ]
            administration.update_acl(user, {PolicyType.CUSTOM: Policy(entries)})

    def send(self, topic: str, body: bytes, sys_flag: int = 0, **properties: str) -> Target:
        """Store a message as its owner."""
        marked = properties | ({"mark": MARK.decode()} if topic == OTHER else {})
        text = "".join(f"{name}\1{value}\2" for name, value in marked.items())
        now = self.memory.clock.millis()
        fields = {
            "a": PRODUCERS,
            "b": topic,
            "c": "TBW102",
            "d": 4,
            "e": 0,
            "f": sys_flag,
            "g": now,
            "h": 0,
            "i": text,
            "j": 0,
            "k": "false",
            "m": "false",
        }
        answer = self.as_user(SUPER, RequestCode.SEND_MESSAGE_V2, body, **fields)
        assert answer.code == 0, answer.remark
        message_id = answer.ext["msgId"]
        offset = parse_offset_message_id(message_id)[2]
        return Target(offset, int(answer.ext["queueOffset"]), message_id, properties["UNIQ_KEY"])

    def as_user(self, user: str, code: int, body: bytes = b"", **fields: Any) -> Answer:
        """Ask in a user's name."""
        command = RemotingCommand(
            code, ext_fields={name: str(one) for name, one in fields.items()}, body=body
        )
        Credentials(user, user).sign(command)
        answer = Answer()
        frame: Any = self.memory.dispatcher.dispatch(decode_command(encode_command(command)[4:]), self.peer)
        if hasattr(frame, "send"):
            frame = self.memory.in_turns(frame)
        if hasattr(frame, "addCallback"):
            frame.addCallback(answer.take)
        else:
            answer.take(frame)
        self.broker.store.dispatch()
        return answer

    def heartbeat(self, user: str) -> Answer:
        """Become a consumer of the user's group and a producer of the other's."""
        topic, group = (OWN, GROUP) if user == USER else (OTHER, OTHER_GROUP)
        subscription = SubscriptionData(topic, "*", 1, "TAG", [], [])
        consumer = ConsumerData(
            group, "CONSUME_PASSIVELY", "CLUSTERING", "CONSUME_FROM_FIRST_OFFSET", [subscription]
        )
        heartbeat = HeartbeatData(
            "me", producer_data_set=[ProducerData(PRODUCERS)], consumer_data_set=[consumer]
        )
        return self.as_user(user, RequestCode.HEART_BEAT, heartbeat.encode())

    def state(self) -> tuple[Any, ...]:
        """Everything that there is of the other topic and group."""
        store, records = self.broker.store, []
        offset = store.min_physical_offset
        while (record := store.record_at(offset)) is not None:
            stored = decode(record)
            home = stored.properties.get("REAL_TOPIC", stored.topic)
            if home in (OTHER, f"%RETRY%{OTHER_GROUP}", f"%DLQ%{OTHER_GROUP}") or SECRET in stored.body:
                records.append((stored.topic, home, stored.body))
            offset += stored.size
        halves = [half.stored.physical_offset for half in self.broker.transactions.open_halves(9)]
        return records, halves, self.broker.tables.offsets.query(OTHER_GROUP, OTHER, 0)


def value_of(field: HeaderField, target: Target, world: World, topic: str, at: int) -> str:
    """Return the value of a field in a request for the user's own topic and group that points at a record."""
    name = field.wire_name
    lower = name.lower()
    if "topic" in lower or name == "b":
        return topic
    if lower == "producergroup":
        return PRODUCERS
    if "group" in lower:
        return GROUP
    if lower in ("recallhandle",):
        return RecallHandle(topic, "broker-a", world.due, target.key).encode()
    if lower == "extrainfo":
        return f"{target.queue_offset} 1 99999999999 0 {at} broker-a 0 {target.queue_offset}"
    if "msgid" in lower:
        return target.message_id
    if lower == "key":
        return "BB" if at else target.key
    if "client" in lower:
        return "me"
    if lower == "commitorrollback":
        return "8" if at else "12"
    if lower == "endtimestamp":
        return str(2**62)
    if lower in ("offset", "commitlogoffset", "index"):
        return str(target.queue_offset if lower == "offset" and at == 2 else target.offset)
    if "offset" in lower:
        return str(target.queue_offset)
    if lower in ("maxnum", "maxmsgnums", "maxmsgnum", "count"):
        return "9"
    if field.type.name in ("int", "long"):
        return "-1" if lower == "delaylevel" and at else "0"
    return "false" if field.type.name == "boolean" else "me"


def requests_of(code: int, target: Target, world: World) -> Iterator[tuple[dict[str, str], bytes]]:
    """Fields and bodies of requests with a code that point at a record."""
    header = request_header(code)
    fields = () if header is None else header.__fields__
    ack = {"c": GROUP, "t": OWN, "r": "0", "so": 0, "rq": 0, "q": 0, "bm": "AQ==", "pt": 1, "it": 99999}
    body = {
        "acks": [ack],
        "brokerName": "broker-a",
        "clientId": "me",
        "consumerGroup": GROUP,
        "topic": OWN,
        "mqSet": [{"topic": OWN, "brokerName": "broker-a", "queueId": 0}],
        "subscriptionSet": [{"action": "COMPLETE_REMOVE", "clientId": "me", "group": GROUP, "topic": OWN}],
    }
    for topic, at, is_whole in product(
        (OWN, "", f"%RETRY%{GROUP}", f"%RETRY%{GROUP}_{OTHER}", OTHER), range(3), (1, 0)
    ):
        given = {
            one.wire_name: value_of(one, target, world, topic, at)
            for one in fields
            if is_whole or one.required
        }
        yield {name: value for name, value in given.items() if value}, json.dumps(body).encode()


def shown_to(peer: FakePeer, answer: Answer) -> bytes:
    """Everything that a client received."""
    commands = [*peer.sent, *([] if answer.command is None else [answer.command])]
    peer.sent.clear()
    return b"".join(encode_command(command) for command in commands)


# What leads to records beside the queue of a topic that the request names and the caller was authorized for.
BY_KEY = {RequestCode.QUERY_MESSAGE}
BY_HANDLE = {RequestCode.RECALL_MESSAGE}
BY_CLIENT = {RequestCode.POP_LITE_MESSAGE}
POINTS = ("offset", "commitLogOffset", "msgId", "key", "recallHandle")
OF_QUEUES = {
    RequestCode.ACK_MESSAGE,
    RequestCode.CHANGE_MESSAGE_INVISIBLETIME,
    RequestCode.INVOKE_BROKER_TO_RESET_OFFSET,
}
"""`offset` of these counts messages of the queue that they name."""


def test_every_code_that_points_at_a_record_is_classified() -> None:
    """A new code whose header has a field of this kind belongs to one of the sets."""
    pointing = {
        code
        for code in REQUESTS
        for field in getattr(request_header(code), "__fields__", ())
        if field.wire_name in POINTS
    }
    assert pointing - BY_RECORD.keys() - BY_KEY - BY_HANDLE - OF_QUEUES == set()
    assert BY_RECORD.keys() | BY_KEY | BY_HANDLE | BY_CLIENT <= set(REQUESTS)


@pytest.mark.parametrize("code", sorted(REQUESTS), ids=lambda code: RequestCode(code).name)
def test_user_of_one_topic_reaches_no_record_of_another(code: int) -> None:
    world = World()
    assert world.heartbeat(USER).code == 0
    before = world.state()
    for target in world.targets.values():
        for fields, body in requests_of(code, target, world):
            shown = shown_to(world.peer, world.as_user(USER, code, body, **fields))
            assert SECRET not in shown and MARK not in shown, fields
        assert world.state() == before, target


def pointed(code: int, one: Target) -> dict[str, Any]:
    """The request of the other topic's owner."""
    forms: dict[int, dict[str, Any]] = {
        RequestCode.VIEW_MESSAGE_BY_ID: {"offset": one.offset},
        RequestCode.CONSUMER_SEND_MSG_BACK: {"offset": one.offset, "group": OTHER_GROUP, "delayLevel": 1},
        RequestCode.CONSUME_MESSAGE_DIRECTLY: {"msgId": one.message_id, "consumerGroup": OTHER_GROUP},
    }
    return {"clientId": "me"} | forms[code]


REACHED = (
    RequestCode.VIEW_MESSAGE_BY_ID,
    RequestCode.CONSUMER_SEND_MSG_BACK,
    RequestCode.CONSUME_MESSAGE_DIRECTLY,
)


@pytest.mark.parametrize("kind", ["plain", "level", "timer"])
@pytest.mark.parametrize("code", REACHED)
def test_user_of_the_topic_reaches_its_records(code: int, kind: str) -> None:
    """A message that waits for its time belongs to the topic that it waits for."""
    world = World()
    world.heartbeat(OWNER)
    before = world.state()
    shown = shown_to(world.peer, world.as_user(OWNER, code, **pointed(code, world.targets[kind])))
    assert SECRET in shown or world.state() != before


@pytest.mark.parametrize("names_topic", [True, False])
@pytest.mark.parametrize(("user", "code"), [(OWNER, 0), (USER, 16)])
def test_transaction_is_ended_by_a_user_of_its_topic_only(user: str, names_topic: bool, code: int) -> None:
    world = World()
    fields: dict[str, Any] = {"topic": OWN if user == USER else OTHER} if names_topic else {}
    fields |= {"producerGroup": PRODUCERS, "tranStateTableOffset": world.half.queue_offset}
    fields |= {"commitLogOffset": world.half.offset, "commitOrRollback": 8, "msgId": "x"}
    fields["fromTransactionCheck"] = "false"
    assert world.as_user(user, RequestCode.END_TRANSACTION, **fields).code == code
    assert len(world.memory.stored(OTHER)) == (2 if code == 0 else 1)


def test_standard_profile_checks_no_records() -> None:
    world = World(authorization_profile=AuthorizationProfile.STANDARD)
    offset = world.targets["plain"].offset
    answer = world.as_user(USER, RequestCode.VIEW_MESSAGE_BY_ID, topic=OWN, offset=offset)
    assert SECRET in answer.arrived.body
