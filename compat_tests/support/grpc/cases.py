"""Calls whose responses are compared between Apache's proxy 5.5.0 and our gRPC front end.

A case is a method, a request in protobuf's JSON, and the client that makes the call. ``writer`` has sent the
settings of a producer, ``reader`` and ``guest`` those of a simple and a lite consumer, and the fourth client
(`NOBODY`) no settings.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from typing import Any, NamedTuple

Shape = dict[str, Any]

NORMAL, FIFO, DELAY, TRANSACTION, LITE = (
    f"Probe{kind}" for kind in ("Normal", "Fifo", "Delay", "Transaction", "Lite")
)
READERS, ORDERED, GUESTS = "ProbeReaders", "ProbeOrdered", "ProbeGuests"
HANDLED, MISSING = "ProbeHandled", "ProbeMissing"

TYPES = {
    NORMAL: "NORMAL",
    HANDLED: "NORMAL",
    FIFO: "FIFO",
    DELAY: "DELAY",
    TRANSACTION: "TRANSACTION",
    LITE: "LITE",
}
"""The topics, each with its message type."""

WRITER, READER, GUEST, NOBODY = "writer", "reader", "guest", "nobody"

SETTINGS: dict[str, Shape] = {
    WRITER: {
        "clientType": "PRODUCER",
        "publishing": {"topics": [{"name": topic} for topic in (NORMAL, FIFO, DELAY, TRANSACTION)]},
    },
    READER: {
        "clientType": "SIMPLE_CONSUMER",
        "subscription": {
            "group": {"name": READERS},
            "subscriptions": [{"topic": {"name": NORMAL}, "expression": {"type": "TAG", "expression": "*"}}],
        },
    },
    GUEST: {
        "clientType": "LITE_PUSH_CONSUMER",
        "subscription": {"group": {"name": GUESTS}, "subscriptions": [{"topic": {"name": LITE}}]},
    },
}
"""The settings that each client sends before the cases."""

DAY, HOUR = 86_400, 3_600

Handles = Callable[[], str]
"""Returns the receipt handle of a message that has just been received."""


class Case(NamedTuple):
    """A call; ``request`` may need a receipt handle."""

    name: str
    method: str
    request: Shape | Callable[[Handles], Shape]
    client: str = WRITER


def message(topic: str = NORMAL, body: bytes = b"x", user: Shape | None = None, **system: Any) -> Shape:
    """Return a message to send."""
    properties = {"messageId": "0102FC0000000139F10B14BF1200000000", "messageType": "NORMAL", **system}
    return {
        "topic": {"name": topic},
        "body": base64.b64encode(body).decode(),
        "userProperties": user or {},
        "systemProperties": properties,
    }


def send(name: str, *messages: Shape) -> Case:
    """Return a case of a send."""
    return Case(f"send: {name}", "SendMessage", {"messages": list(messages)})


def after(seconds: float) -> str:
    """Return the time `seconds` from now in the form of protobuf's JSON."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


def receive(name: str, client: str = READER, **changes: Any) -> Case:
    """Return a case of a receive by a simple consumer."""
    request = {
        "group": {"name": READERS},
        "messageQueue": {"topic": {"name": NORMAL}, "broker": {"name": "broker-a"}},
        "filterExpression": {"type": "TAG", "expression": "never"},
        "batchSize": 1,
        "invisibleDuration": "20s",
        "longPollingTimeout": "5s",
        **changes,
    }
    return Case(f"receive: {name}", "ReceiveMessage", request, client)


def one(name: str) -> Shape:
    """Return a resource of a name."""
    return {"name": name}


def with_handle(make: Callable[[str], Shape]) -> Callable[[Handles], Shape]:
    """Return a request that is made from a receipt handle."""
    return lambda handles: make(handles())


def expired(handle: str) -> str:
    """Return the handle with a pop time one hour earlier."""
    begin, popped, *rest = handle.split(" ")
    return " ".join((begin, str(int(popped) - 1000 * HOUR), *rest))


def foreign(handle: str) -> str:
    """Return the handle with the name of an unknown broker."""
    parts = handle.split(" ")
    return " ".join((*parts[:5], "broker-z", *parts[6:]))


def ack(topic: str, *handles: str, group: str = READERS) -> Shape:
    """Return an acknowledgement."""
    entries = [{"messageId": "m", "receiptHandle": handle} for handle in handles]
    return {"group": one(group), "topic": one(topic), "entries": entries}


def change(handle: str, seconds: int, group: str = READERS, topic: str = HANDLED) -> Shape:
    """Return a change of the invisible time."""
    return {
        "group": one(group),
        "topic": one(topic),
        "receiptHandle": handle,
        "invisibleDuration": f"{seconds}s",
        "messageId": "m",
    }


def bury(handle: str, group: str = READERS) -> Shape:
    """Return a request that moves a message to the DLQ."""
    return {"group": one(group), "topic": one(HANDLED), "receiptHandle": handle, "messageId": "m"}


def names(method: str, client: str, *kinds: str) -> list[Case]:
    """Return the cases of a method's checks of topic and group."""
    good = {"topic": NORMAL, "group": READERS}
    system = {"topic": "RMQ_SYS_TRANS_HALF_TOPIC", "group": "CID_RMQ_SYS_TRANS"}
    bad = {"blank": " ", "illegal": "a b", "long": "n" * 256, "system": ""}
    cases = []
    for kind in kinds:
        for what, text in bad.items():
            chosen = {each: one(good[each]) for each in kinds} | {kind: one(text or system[kind])}
            cases.append(Case(f"{method}: {what} {kind}", method, chosen, client))
    return cases


ROUTES = [
    Case("route: of a topic", "QueryRoute", {"topic": one(NORMAL)}),
    Case("route: of ordered messages", "QueryRoute", {"topic": one(FIFO)}),
    Case("route: missing topic", "QueryRoute", {"topic": one(MISSING)}),
    Case("route: no client id", "QueryRoute", {"topic": one(NORMAL)}, ""),
    Case(
        "route: in a namespace",
        "QueryRoute",
        {
            "topic": {"name": NORMAL, "resourceNamespace": "ns1"},
            "endpoints": {"scheme": "IPv4", "addresses": [{"host": "127.0.0.1", "port": 1234}]},
        },
    ),
    *names("QueryRoute", WRITER, "topic"),
    Case("assignment: of a group", "QueryAssignment", {"topic": one(NORMAL), "group": one(READERS)}, READER),
    Case("assignment: in order", "QueryAssignment", {"topic": one(NORMAL), "group": one(ORDERED)}, READER),
    Case("assignment: unknown group", "QueryAssignment", {"topic": one(NORMAL), "group": one("g-1")}, READER),
    Case("assignment: missing topic", "QueryAssignment", {"topic": one(MISSING), "group": one("g-1")}),
    *names("QueryAssignment", READER, "topic", "group"),
]

CLIENTS = [
    Case("heartbeat: of a producer", "Heartbeat", {"clientType": "PRODUCER"}),
    Case("heartbeat: of a consumer", "Heartbeat", {"group": one(READERS)}, READER),
    Case("heartbeat: without settings", "Heartbeat", {"clientType": "PRODUCER"}, NOBODY),
    Case("heartbeat: no client id", "Heartbeat", {"clientType": "PRODUCER"}, ""),
    *names("Heartbeat", READER, "group"),
]

SENDS = [
    send("one", message()),
    send("several", message(), message()),
    send("none"),
    send("of two topics", message(), message(FIFO)),
    send("blank topic", message(" ")),
    send("illegal topic", message("a b")),
    send("long topic", message("n" * 128)),
    send("system topic", message("RMQ_SYS_TRANS_HALF_TOPIC")),
    send("missing topic", message(MISSING)),
    send("empty body", message(body=b"")),
    send("large body", message(body=b"x" * (4194304 + 1))),
    send("no message id", message(messageId=" ")),
    send("any message id", message(messageId="abc")),
    send("blank tag", message(tag=" ")),
    send("tag with a bar", message(tag="a|b")),
    send("tag with a control character", message(tag="a\x01b")),
    send("blank key", message(keys=[" "])),
    send("key with a control character", message(keys=["a\x01b"])),
    send("blank message group", message(FIFO, messageGroup=" ", messageType="FIFO")),
    send("message group of 63", message(FIFO, messageGroup="g" * 63, messageType="FIFO")),
    send("message group of 64", message(FIFO, messageGroup="g" * 64, messageType="FIFO")),
    send("group with a control character", message(FIFO, messageGroup="a\x01", messageType="FIFO")),
    send("many properties", message(user={f"p{i}": "v" for i in range(129)})),
    send("128 properties", message(user={f"p{i}": "v" for i in range(128)})),
    send("property of the system", message(user={"KEYS": "v"})),
    send("property with a control character", message(user={"p": "a\x01"})),
    send("property's name with a control character", message(user={"p\x01": "a"})),
    send("properties of 16384 bytes", message(user={"p": "v" * 16383})),
    send("properties of 16385 bytes", message(user={"p": "v" * 16384})),
    send("wrong digest", message(bodyDigest={"type": "MD5", "checksum": "00"})),
    send("other type than the topic's", message(DELAY)),
    send("in order without a group", message(FIFO, messageType="FIFO")),
    send("in order to a normal topic", message(messageGroup="g", messageType="FIFO")),
    send("delayed to a normal topic", message(deliveryTimestamp=after(60), messageType="DELAY")),
    send("transaction to a normal topic", message(messageType="TRANSACTION")),
    send("too late", message(DELAY, deliveryTimestamp=after(DAY + HOUR), messageType="DELAY")),
    send("delayed into the past", message(DELAY, deliveryTimestamp=after(-60), messageType="DELAY")),
    send(
        "long recovery",
        message(TRANSACTION, messageType="TRANSACTION", orphanedTransactionRecoveryDuration="3601s"),
    ),
    send("blank lite topic", message(LITE, liteTopic=" ", messageType="LITE")),
    send("illegal lite topic", message(LITE, liteTopic="a b", messageType="LITE")),
    send("long lite topic", message(LITE, liteTopic="l" * 65, messageType="LITE")),
    send("negative priority", message(priority=-1, messageType="PRIORITY")),
]

RECEIVES = [
    receive("nothing there"),
    receive("without settings", NOBODY),
    receive("no client id", ""),
    receive("blank topic", messageQueue={"topic": one(" ")}),
    receive("illegal topic", messageQueue={"topic": one("a b")}),
    receive("blank group", group=one(" ")),
    receive("system group", group=one("CID_RMQ_SYS_TRANS")),
    receive("short invisible time", invisibleDuration="9s"),
    receive("long invisible time", invisibleDuration=f"{12 * HOUR + 1}s"),
    receive("no expression for tags", filterExpression={"type": "TAG", "expression": "||"}),
    receive("broken SQL", filterExpression={"type": "SQL", "expression": "a = "}),
    receive("missing topic", messageQueue={"topic": one(MISSING)}),
]

ACKS = [
    Case("ack: a message", "AckMessage", with_handle(lambda handle: ack(HANDLED, handle)), READER),
    Case("ack: no entries", "AckMessage", ack(HANDLED), READER),
    Case("ack: no handle at all", "AckMessage", ack(HANDLED, "x"), READER),
    Case("ack: expired", "AckMessage", with_handle(lambda handle: ack(HANDLED, expired(handle))), READER),
    Case(
        "ack: no such broker", "AckMessage", with_handle(lambda handle: ack(HANDLED, foreign(handle))), READER
    ),
    Case("ack: one of two", "AckMessage", with_handle(lambda handle: ack(HANDLED, handle, "x")), READER),
    Case("ack: no client id", "AckMessage", ack(HANDLED, "x"), ""),
    *names("AckMessage", READER, "topic", "group"),
    Case("change: negative", "ChangeInvisibleDuration", change("x", -1), READER),
    Case("change: more than 12 hours", "ChangeInvisibleDuration", change("x", 12 * HOUR + 1), READER),
    Case("change: no handle at all", "ChangeInvisibleDuration", change("x", 20), READER),
    Case("change", "ChangeInvisibleDuration", with_handle(lambda handle: change(handle, 20)), READER),
    Case(
        "change: expired",
        "ChangeInvisibleDuration",
        with_handle(lambda handle: change(expired(handle), 20)),
        READER,
    ),
    Case(
        "change: without settings",
        "ChangeInvisibleDuration",
        with_handle(lambda handle: change(handle, 20)),
        NOBODY,
    ),
    *names("ChangeInvisibleDuration", READER, "topic", "group"),
    Case("dead letter", "ForwardMessageToDeadLetterQueue", with_handle(lambda handle: bury(handle)), READER),
    Case(
        "dead letter: without a commit log offset",
        "ForwardMessageToDeadLetterQueue",
        with_handle(lambda handle: bury(handle.rpartition(" ")[0])),
        READER,
    ),
    Case(
        "dead letter: expired",
        "ForwardMessageToDeadLetterQueue",
        with_handle(lambda handle: bury(expired(handle))),
        READER,
    ),
    *names("ForwardMessageToDeadLetterQueue", READER, "topic", "group"),
]

OTHERS = [
    Case("end: no transaction id", "EndTransaction", {"topic": one(TRANSACTION), "messageId": "m"}),
    Case(
        "end: unknown transaction",
        "EndTransaction",
        {"topic": one(TRANSACTION), "messageId": "m", "transactionId": "t", "resolution": "COMMIT"},
    ),
    *names("EndTransaction", WRITER, "topic"),
    Case("recall: broken handle", "RecallMessage", {"topic": one(DELAY), "recallHandle": "x"}),
    Case("recall: of a normal topic", "RecallMessage", {"topic": one(NORMAL), "recallHandle": "x"}),
    *names("RecallMessage", WRITER, "topic"),
    Case(
        "lite: bound to another",
        "SyncLiteSubscription",
        {"action": "PARTIAL_ADD", "topic": one(NORMAL), "group": one(GUESTS), "liteTopicSet": ["l"]},
        GUEST,
    ),
    Case(
        "lite: illegal name",
        "SyncLiteSubscription",
        {"action": "PARTIAL_ADD", "topic": one(LITE), "group": one(GUESTS), "liteTopicSet": ["l 1"]},
        GUEST,
    ),
    Case(
        "lite: unbound group",
        "SyncLiteSubscription",
        {"action": "PARTIAL_ADD", "topic": one(LITE), "group": one(READERS), "liteTopicSet": ["l"]},
        GUEST,
    ),
    Case(
        "lite: unknown group",
        "SyncLiteSubscription",
        {"action": "PARTIAL_ADD", "topic": one(LITE), "group": one("g-2"), "liteTopicSet": ["l"]},
        GUEST,
    ),
    Case(
        "lite: subscribed",
        "SyncLiteSubscription",
        {"action": "PARTIAL_ADD", "topic": one(LITE), "group": one(GUESTS), "liteTopicSet": ["l"]},
        GUEST,
    ),
    Case("pull", "PullMessage", {"group": one(READERS), "messageQueue": {"topic": one(MISSING)}}, READER),
    Case("update offset", "UpdateOffset", {"group": one(READERS)}, READER),
    Case("get offset", "GetOffset", {"group": one(READERS)}, READER),
    Case("query offset", "QueryOffset", {"messageQueue": {"topic": one(NORMAL)}}, READER),
    Case("end of a client: without settings", "NotifyClientTermination", {}, NOBODY),
    *names("NotifyClientTermination", READER, "group"),
]

CASES = [*ROUTES, *CLIENTS, *SENDS, *RECEIVES, *ACKS, *OTHERS]

TELEMETRY: dict[str, Shape] = {
    "neither publishing nor subscription": {"clientType": "PRODUCER"},
    "illegal topic": {"clientType": "PRODUCER", "publishing": {"topics": [one("a b")]}},
    "system topic": {"clientType": "PRODUCER", "publishing": {"topics": [one("RMQ_SYS_TRANS_HALF_TOPIC")]}},
    "illegal group": {"clientType": "SIMPLE_CONSUMER", "subscription": {"group": one("a b")}},
    "pull consumer": {"clientType": "PULL_CONSUMER", "subscription": {"group": one(READERS)}},
    "lite simple consumer": {"clientType": "LITE_SIMPLE_CONSUMER", "subscription": {"group": one(GUESTS)}},
    "no topics": {"clientType": "PRODUCER", "publishing": {}},
    "missing topic": {"clientType": "PRODUCER", "publishing": {"topics": [one(MISSING)]}},
    "push consumer": {"clientType": "PUSH_CONSUMER", "subscription": {"group": one(READERS)}},
    "ordered push consumer": {"clientType": "PUSH_CONSUMER", "subscription": {"group": one(ORDERED)}},
    "unknown group": {"clientType": "PUSH_CONSUMER", "subscription": {"group": one("g-3")}},
}
"""Settings that clients send, each on a stream of its own."""
