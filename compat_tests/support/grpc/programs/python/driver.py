"""Drives the official Python client of version 5 from outside: JSON lines in, JSON lines out.

Requests, operations and shapes are those of the program that drives the Java client, ``java/driver``. It is
run by an interpreter that has the client, and imports nothing of this project: stubs of one name cannot be
loaded twice in one process.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import logging
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from rocketmq import (
    ClientConfiguration,
    ConsumeResult,
    Credentials,
    FilterExpression,
    LitePushConsumer,
    Message,
    MessageListener,
    Producer,
    PushConsumer,
    SimpleConsumer,
    TransactionChecker,
    TransactionResolution,
)
from rocketmq.grpc_protocol import FilterType

SHOWN_BYTES = 1024
SHOWN_ERRORS = 3
STARTS = 3
SETTINGS_SECONDS = 1.0
"""This client does not wait until the server has its settings; without them it receives nothing."""
Request = dict[str, Any]

clients: dict[str, Any] = {}
inboxes: dict[str, Inbox] = {}
receipts: dict[int, Any] = {}
numbers = itertools.count(1)


class Logged(logging.Handler):
    """Keeps the last errors that the client logged: some of its exceptions do not tell their cause."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: deque[str] = deque(maxlen=SHOWN_ERRORS)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the text of an error."""
        self.lines.append(record.getMessage())


logged = Logged()


class Inbox(MessageListener):  # type: ignore[misc]
    """Messages delivered to a listener, in order; `collect` waits for them."""

    def __init__(self, request: Request) -> None:
        self._all: list[Request] = []
        self._turns: Counter[str] = Counter()
        self._refused = set(request.get("refuse", ()))
        self._fail_first = request.get("failFirst", 0)
        self._changed = threading.Condition()

    def accept(self, message: Any) -> bool:
        """Note a message; return True if its consumption succeeds."""
        shape = shape_of(message)
        with self._changed:
            self._turns[message.message_id] += 1
            shape["delivery"] = self._turns[message.message_id]
            self._all.append(shape)
            self._changed.notify_all()
        return shape["delivery"] > self._fail_first and shape["body"] not in self._refused

    def consume(self, message: Any) -> ConsumeResult:
        """Consume a message, as the client's callback."""
        return ConsumeResult.SUCCESS if self.accept(message) else ConsumeResult.FAILURE

    def collect(self, request: Request) -> list[Request]:
        """Wait for `count` deliveries, at most `millis`; return all so far."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._all) >= request["count"], request["millis"] / 1000)
            return list(self._all)


class Decider(TransactionChecker):  # type: ignore[misc]
    """Transaction checker that answers with the states set by `decide`."""

    def __init__(self, request: Request) -> None:
        self.questions = Inbox(request)
        self.decided: dict[str, str] = {}
        self.acknowledged: list[str] = []
        self.is_storming = False

    def check(self, message: Any) -> Any:
        """Return the state of a transaction, as the client's callback."""
        self.questions.accept(message)
        state = self.decided.get(message.body.decode(), "UNKNOWN")
        return {"COMMIT": TransactionResolution.COMMIT, "ROLLBACK": TransactionResolution.ROLLBACK}.get(
            state, TransactionResolution.TRANSACTION_RESOLUTION_UNSPECIFIED
        )


def configuration(request: Request) -> Any:
    # Longer than a busy machine needs for its slowest answer.
    return ClientConfiguration(request["endpoints"], Credentials(), request_timeout=30)


def subscriptions(request: Request) -> dict[str, Any]:
    return {
        topic: FilterExpression(wanted["sql"], FilterType.SQL)
        if isinstance(wanted, dict)
        else FilterExpression(wanted)
        for topic, wanted in request["subscriptions"].items()
    }


def message_of(shape: Request) -> Any:
    message = Message()
    message.topic = shape["topic"]
    size = shape.get("size")
    pattern = bytes(range(251))
    message.body = shape["body"].encode() if size is None else (pattern * (size // 251 + 1))[:size]
    if "tag" in shape:
        message.tag = shape["tag"]
    for key in shape.get("keys", ()):
        message.keys = key  # which adds it
    if "group" in shape:
        message.message_group = shape["group"]
    if "lite" in shape:
        message.lite_topic = shape["lite"]
    if "priority" in shape:
        message.priority = shape["priority"]
    if "delay" in shape:
        message.delivery_timestamp = int(time.time()) + shape["delay"] // 1000  # it takes seconds
    for name, value in shape.get("properties", {}).items():
        message.add_property(name, value)
    return message


def receipt_shape(receipt: Any) -> Request:
    shape = {"messageId": receipt.message_id, "transactionId": receipt.transaction_id}
    return shape | ({"recallHandle": receipt.recall_handle} if receipt.recall_handle else {})


def shape_of(message: Any) -> Request:
    return {
        "messageId": message.message_id,
        "topic": message.topic,
        "size": len(message.body),
        "md5": hashlib.md5(message.body).hexdigest(),
        "body": "" if len(message.body) > SHOWN_BYTES else message.body.decode(),
        "properties": dict(message.properties),
        "keys": sorted(message.keys),
        "tag": message.tag,
        "group": message.message_group,
        "lite": message.lite_topic,
        "priority": message.priority,
        "deliveryTimestamp": message.delivery_timestamp,
        "bornHost": message.born_host,
        "bornTimestamp": message.born_timestamp,
        "attempt": message.delivery_attempt,
        "receivedAt": int(time.time() * 1000),
    }


def start_producer(request: Request) -> Any:
    decider = Decider(request)
    producer = Producer(configuration(request), request["topics"], decider, bool(request.get("tls")))
    producer.decider = decider
    return producer


def start_simple(request: Request) -> Any:
    await_seconds = max(1, request["await"] // 1000)
    return SimpleConsumer(
        configuration(request),
        request["group"],
        subscriptions(request),
        await_seconds,
        tls_enable=bool(request.get("tls")),
    )


def start_push(request: Request) -> Any:
    inboxes[request["name"]] = inbox = Inbox(request)
    chosen = subscriptions(request)
    tls = bool(request.get("tls"))
    return PushConsumer(configuration(request), request["group"], inbox, chosen, tls_enable=tls)


def start_lite(request: Request) -> Any:
    inboxes[request["name"]] = inbox = Inbox(request)
    return LitePushConsumer(configuration(request), request["group"], request["topic"], inbox)


def started(make: Callable[[Request], Any]) -> Callable[[Request], None]:
    def start(request: Request) -> None:
        clients[request["name"]] = running(make, request)
        time.sleep(SETTINGS_SECONDS)

    return start


def running(make: Callable[[Request], Any], request: Request, starts: int = STARTS) -> Any:
    """Return a client that has started.

    A client that does not have its settings within ten seconds, which can happen on a busy machine, gives up
    and hides that behind an AttributeError of its own: so another one is started.
    """
    client = make(request)
    try:
        client.startup()
    except AttributeError:
        if starts == 1:
            raise
        return running(make, request, starts - 1)
    return client


def stop(request: Request) -> None:
    clients.pop(request["name"]).shutdown()


def send(request: Request) -> list[Request]:
    producer = clients[request["name"]]
    return [receipt_shape(producer.send(message_of(one))) for one in request["messages"]]


def begin(request: Request) -> Request:
    producer = clients[request["name"]]
    transaction = producer.begin_transaction()
    receipt = producer.send(message_of(request["message"]), transaction)
    if request["resolution"] == "COMMIT":
        transaction.commit()
    elif request["resolution"] == "ROLLBACK":
        transaction.rollback()
    return receipt_shape(receipt)


def decide(request: Request) -> None:
    clients[request["name"]].decider.decided |= dict.fromkeys(request["bodies"], request["state"])


def receive(request: Request) -> list[Request]:
    consumer = clients[request["name"]]
    found = []
    for message in consumer.receive(request["max"], request["invisible"] // 1000):
        number = next(numbers)
        receipts[number] = message
        found.append(shape_of(message) | {"receipt": number})
    return found


def ack(request: Request) -> None:
    for number in request["receipts"]:
        clients[request["name"]].ack(receipts[number])


def change(request: Request) -> None:
    message = receipts[request["receipt"]]
    clients[request["name"]].change_invisible_duration(message, request["invisible"] // 1000)


def storm(request: Request) -> list[str]:
    """Send from several threads until `calm`; ignore failures."""
    producer = clients[request["name"]]
    decider = producer.decider
    decider.is_storming = True

    def one_thread(_: int) -> None:
        while decider.is_storming:
            body = f"storm-{next(numbers)}"
            try:
                producer.send(message_of({"topic": request["topic"], "body": body}))
                decider.acknowledged.append(body)
            except Exception:
                time.sleep(0.1)

    with ThreadPoolExecutor(request["threads"]) as threads:
        list(threads.map(one_thread, range(request["threads"])))
    return list(decider.acknowledged)


def calm(request: Request) -> None:
    clients[request["name"]].decider.is_storming = False


def recall(request: Request) -> str:
    return str(clients[request["name"]].recall_message(request["topic"], request["handle"]))


def collect(request: Request) -> list[Request]:
    return inboxes[request["name"]].collect(request)


OPERATIONS: dict[str, Callable[[Request], Any]] = {
    "producer.start": started(start_producer),
    "producer.send": send,
    "producer.begin": begin,
    "producer.decide": decide,
    "producer.questions": lambda request: clients[request["name"]].decider.questions.collect(request),
    "producer.recall": recall,
    "producer.storm": storm,
    "producer.stormCount": lambda request: len(clients[request["name"]].decider.acknowledged),
    "producer.calm": calm,
    "simple.start": started(start_simple),
    "simple.receive": receive,
    "simple.ack": ack,
    "simple.change": change,
    "push.start": started(start_push),
    "lite.start": started(start_lite),
    "lite.subscribe": lambda request: clients[request["name"]].subscribe_lite(request["lite"]),
    "lite.unsubscribe": lambda request: clients[request["name"]].unsubscribe_lite(request["lite"]),
    **{f"{kind}.stop": stop for kind in ("producer", "simple", "push", "lite")},
    **{f"{kind}.collect": collect for kind in ("push", "lite")},
}


def answer(request: Request) -> Request:
    try:
        return {"id": request["id"], "result": OPERATIONS[request["op"]](request)}
    except Exception as failure:
        code = getattr(failure, "code", None)
        causes = logged.lines if code is None else ()
        error = {
            "type": type(failure).__name__,
            "code": code,
            "message": "; logged: ".join([str(failure), *causes]),
        }
        return {"id": request["id"], "error": error}


def serve(lines: Iterable[str], write: Callable[[str], object]) -> None:
    """Answer each line in a thread of its own."""
    writing = threading.Lock()

    def one(line: str) -> None:
        text = json.dumps(answer(json.loads(line)), default=str)
        with writing:
            write(f"{text}\n")

    for line in lines:
        threading.Thread(target=one, args=(line,), daemon=True).start()


if __name__ == "__main__":
    output, sys.stdout = sys.stdout, sys.stderr
    logging.getLogger("rocketmq-python-client").addHandler(logged)
    serve(sys.stdin, functools.partial(print, end="", file=output, flush=True))
