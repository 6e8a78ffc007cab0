"""The official Java client as Python objects: a driver program in a JVM, spoken to in JSON lines.

A :class:`Driver` is one JVM with one client version and one set of client settings. It lives for the
whole run and serves any number of producers and consumers, from any number of threads.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, ClassVar, NamedTuple, Self

from compat_tests.support.artifacts import SMALL_JVM, program
from compat_tests.support.processes import Process
from compat_tests.support.runtime import Runtime

MAIN = "compat.Driver"
ANSWER_SECONDS = 120

PATIENCE_SECONDS = 75
"""Longest time until a consumer receives the stored messages.

A client whose heartbeat collides with another of its own heartbeats pulls with a subscription that the broker
does not know yet. Only the next heartbeat, 30 s later, repairs that.
"""


class ClientError(Exception):
    """The Java client threw: its exception's class name, response code (None if it has none) and message."""

    def __init__(self, type: str, code: int | None, message: str) -> None:
        super().__init__(f"{type} {code}: {message}")
        self.type = type
        self.code = code
        self.message = message


class Queue(NamedTuple):
    """A message queue, as clients name it."""

    topic: str
    broker_name: str
    queue_id: int


class Sent(NamedTuple):
    """A send result; clients do not report the offset message id of a half message."""

    status: str
    msg_id: str
    offset_msg_id: str
    queue: Queue
    queue_offset: int
    recall_handle: str | None
    """Handle that recalls a message with a timer; only version 5 reports it."""


class Received(NamedTuple):
    """A message as the client hands it to its user. Times in ms since the epoch."""

    topic: str
    broker_name: str | None
    queue_id: int
    queue_offset: int
    physical_offset: int
    msg_id: str
    unique_key: str | None
    tags: str | None
    keys: str | None
    flag: int
    sys_flag: int
    body: str
    properties: dict[str, str]
    reconsume_times: int
    born_timestamp: int
    store_timestamp: int
    store_size: int
    born_host: str
    store_host: str
    delivery: int
    """Number of deliveries of the message to this consumer; 0 if they are not counted."""
    received_at: int
    """Time of the listener's call; 0 if it is not noted."""


class Reply(NamedTuple):
    """The reply to a request."""

    body: str
    properties: dict[str, str]


class Pulled(NamedTuple):
    """A pull result."""

    status: str
    next_offset: int
    min_offset: int
    max_offset: int
    messages: list[Received]


Wanted = str | dict[str, str]
"""A consumer's filter for a topic: tags, or an expression; see ``sql``."""


def sql(expression: str) -> Wanted:
    """Return the filter of an SQL92 expression."""
    return {"sql": expression}


def message(topic: str, body: str, **fields: Any) -> dict[str, Any]:
    """Return a message to send.

    Fields: tags, keys, flag, delayLevel, timer (a property) with time, properties.
    """
    return {"topic": topic, "body": body, **fields}


class Driver:
    """One JVM with the official client in it."""

    _names: ClassVar[Iterator[int]] = itertools.count(1)
    """Shared by all drivers: clients of two JVMs must not have the same client id."""

    def __init__(self, runtime: Runtime, version: str, properties: Mapping[str, str] | None = None) -> None:
        self.version = version
        self._process = self._start(runtime, properties or {})
        self._ids = itertools.count(1)
        self._open: dict[int, Future[Any]] = {}
        self._lock = threading.Lock()
        self._has_ended = False
        self._reader = threading.Thread(target=self._read, name=f"driver-{version}", daemon=True)
        self._reader.start()

    def _start(self, runtime: Runtime, properties: Mapping[str, str]) -> Process:
        options = [f"-D{name}={value}" for name, value in properties.items()]
        arguments = [*SMALL_JVM, *options, "-cp", program("driver", "client", self.version), MAIN]
        return runtime.java(arguments)

    @property
    def has_ended(self) -> bool:
        """True if the program ended by itself."""
        return self._has_ended

    def ask(self, op: str, timeout: float = ANSWER_SECONDS, **arguments: Any) -> Any:
        """Run one operation in the JVM and wait ``timeout`` seconds for its answer."""
        return self.begin(op, **arguments).result(timeout)

    def begin(self, op: str, **arguments: Any) -> Future[Any]:
        """Start one operation in the JVM; return the future answer."""
        answer: Future[Any] = Future()
        request = {"id": next(self._ids), "op": op, **arguments}
        with self._lock:
            if self.has_ended:
                raise RuntimeError(f"the driver of client {self.version} has ended")
            self._open[request["id"]] = answer
            stdin = self._process.popen.stdin
            assert stdin is not None
            with suppress(BrokenPipeError):  # the program has ended, and `_read` fails the answer
                stdin.write(json.dumps(request).encode() + b"\n")
                stdin.flush()
        return answer

    def new_name(self, what: str) -> str:
        """Return a name that is unique among the clients of all drivers."""
        return f"{what}-{self.version}-{next(self._names)}"

    def close(self) -> None:
        """End the JVM."""
        with self._lock, suppress(BrokenPipeError):  # the program may have ended before it read all
            assert self._process.popen.stdin is not None
            self._process.popen.stdin.close()
        try:
            self._process.popen.wait(10)
        except Exception:
            self._process.kill()
        self._reader.join(10)

    def _read(self) -> None:
        stdout = self._process.popen.stdout
        assert stdout is not None
        for line in stdout:
            answer = json.loads(line)
            waiting = self._open.pop(answer["id"])
            if "error" in answer:
                error = answer["error"]
                waiting.set_exception(ClientError(error["type"], error.get("code"), error["message"]))
            else:
                waiting.set_result(answer.get("result"))
        with self._lock:
            self._has_ended = True  # from here on `begin` refuses: a later request would never be answered
            unanswered = list(self._open.values())
        for waiting in unanswered:
            waiting.set_exception(RuntimeError(f"the driver of client {self.version} has ended"))


class _Client:
    """A client object in a driver: made by ``KIND.start``, ended by ``KIND.stop``."""

    kind = ""

    def __init__(self, driver: Driver, namesrv: str, group: str, **options: Any) -> None:
        self.driver = driver
        self.group = group
        self.name = driver.new_name(self.kind)
        self._running = True
        self.client_id: str = self._ask("start", namesrv=namesrv, group=group, **options)

    def close(self) -> None:
        """Shut the client down; a second call does nothing."""
        if self._running:
            self._running = False
            self._ask("stop")

    def _ask(self, op: str, timeout: float = ANSWER_SECONDS, **arguments: Any) -> Any:
        return self.driver.ask(f"{self.kind}.{op}", timeout, name=self.name, **arguments)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


class Producer(_Client):
    """DefaultMQProducer. Options: retries, compressOver (bytes), trace (true: it traces its sends)."""

    kind = "producer"

    def create_topic(self, topic: str, queues: int) -> None:
        """Create a topic with that many queues on every broker."""
        self._ask("createTopic", topic=topic, queues=queues)

    def queues(self, topic: str) -> list[Queue]:
        """The queues to publish to."""
        return [_queue(shape) for shape in self._ask("queues", topic=topic)]

    def send(self, messages: Sequence[dict[str, Any]], how: str = "sync") -> list[Sent]:
        """Send: how = sync, async, oneway (no results), batch (one result) or selector (queue by key)."""
        return [_sent(shape) for shape in self._ask("send", messages=list(messages), how=how)]

    def send_to(self, queue: Queue, messages: Sequence[dict[str, Any]]) -> list[Sent]:
        """Send to one queue."""
        shapes = self._ask("send", messages=list(messages), how="queue", queue=_queue_shape(queue))
        return [_sent(shape) for shape in shapes]

    def begin_storm(self, topic: str, threads: int, millis: int) -> Future[list[str]]:
        """Send from several threads until the server fails; the result is the acknowledged bodies."""
        return self.driver.begin(
            "producer.storm", name=self.name, topic=topic, threads=threads, millis=millis
        )

    def recall(self, topic: str, handle: str) -> str:
        """Recall a message with a timer; return its unique key. Only version 5 supports it."""
        return str(self._ask("recall", topic=topic, handle=handle))

    def storm_count(self) -> int:
        """Return the number of acknowledged sends of the storm so far."""
        return int(self._ask("stormCount"))

    def view(self, topic: str, msg_id: str) -> Received | None:
        """The message of an offset message id or a unique key."""
        shape = self._ask("view", topic=topic, msgId=msg_id)
        return None if shape is None else received_of(shape)

    def query(self, topic: str, key: str, begin: int, end: int, max: int = 32) -> list[Received]:
        """Messages with a key, stored between two times."""
        answer = self._ask("query", topic=topic, key=key, max=max, begin=begin, end=end)
        return [received_of(shape) for shape in answer["messages"]]


class TransactionProducer(_Client):
    """TransactionMQProducer. States: ``COMMIT_MESSAGE``, ``ROLLBACK_MESSAGE``, ``UNKNOW``.

    Option: topic, with whose brokers it registers at once.
    """

    kind = "transactions"

    def send(self, messages: Sequence[dict[str, Any]], state: str = "UNKNOW") -> list[Sent]:
        """Send half messages; each local transaction returns ``state``, or throws for ``THROW``."""
        return [_sent(shape) for shape in self._ask("send", messages=list(messages), state=state)]

    def decide(self, bodies: Sequence[str], state: str) -> None:
        """Set the response to transaction checks of these messages; others stay unknown."""
        self._ask("decide", bodies=list(bodies), state=state)

    def begin(self, messages: Sequence[dict[str, Any]]) -> list[Sent]:
        """Send half messages as sinks do: without local transaction, ``end`` follows later."""
        return [_sent(shape) for shape in self._ask("begin", messages=list(messages))]

    def end(self, body: str, state: str) -> None:
        """End a transaction that ``begin`` began."""
        self._ask("end", body=body, state=state)

    def questions(self, count: int, seconds: float = PATIENCE_SECONDS) -> list[Received]:
        """Wait for ``count`` transaction checks or the end of the time; return all checks so far."""
        shapes = self._ask("questions", seconds + ANSWER_SECONDS, count=count, millis=int(seconds * 1000))
        return [received_of(shape) for shape in shapes]


class PushConsumer(_Client):
    """DefaultMQPushConsumer.

    Options: subscriptions, listener, model, from, maxReconsumeTimes, failFirst, clientRebalance
    (version 5: with false, the broker assigns the queues).
    """

    kind = "push"

    def collect(self, count: int, seconds: float = PATIENCE_SECONDS) -> list[Received]:
        """Wait for at least ``count`` deliveries or the end of the time; return all so far."""
        shapes = self._ask("collect", seconds + ANSWER_SECONDS, count=count, millis=int(seconds * 1000))
        return [received_of(shape) for shape in shapes]

    def assigned(self, topic: str) -> set[Queue]:
        """Return the queues of a topic that are assigned to this consumer."""
        queues = {_queue(shape) for shape in self._ask("assigned")}
        return {queue for queue in queues if queue.topic == topic}


class PullConsumer(_Client):
    """DefaultMQPullConsumer."""

    kind = "pull"

    def queues(self, topic: str) -> list[Queue]:
        """The queues to read."""
        return sorted(_queue(shape) for shape in self._ask("queues", topic=topic))

    def pull(
        self, queue: Queue, offset: int, max: int = 32, expression: Wanted = "*", block: bool = False
    ) -> Pulled:
        """Pull once. With ``block`` and a tag filter, the server may hold it until a message arrives."""
        how: dict[str, Any] = {"offset": offset, "max": max, "expression": expression, "block": block}
        answer = self._ask("pull", queue=_queue_shape(queue), **how)
        messages = [received_of(shape) for shape in answer["messages"]]
        return Pulled(
            answer["status"], answer["nextBeginOffset"], answer["minOffset"], answer["maxOffset"], messages
        )

    def min_offset(self, queue: Queue) -> int:
        """The first offset of a queue."""
        return int(self._ask("minOffset", queue=_queue_shape(queue)))

    def max_offset(self, queue: Queue) -> int:
        """The offset after the last of a queue."""
        return int(self._ask("maxOffset", queue=_queue_shape(queue)))

    def search_offset(self, queue: Queue, timestamp: int) -> int:
        """The offset of the first message stored at or after a time."""
        return int(self._ask("searchOffset", queue=_queue_shape(queue), timestamp=timestamp))

    def earliest_store_time(self, queue: Queue) -> int:
        """Return the store time of the first message of a queue."""
        return int(self._ask("earliestStoreTime", queue=_queue_shape(queue)))

    def fetch_offset(self, queue: Queue) -> int:
        """The group's offset as the server keeps it."""
        return int(self._ask("fetchOffset", queue=_queue_shape(queue), fromStore=True))

    def update_offset(self, queue: Queue, offset: int) -> None:
        """Set the group's offset on the server."""
        self._ask("updateOffset", queue=_queue_shape(queue), offset=offset)


class LitePullConsumer(_Client):
    """DefaultLitePullConsumer. Options: subscriptions, autoCommit."""

    kind = "lite"

    def queues(self, topic: str) -> list[Queue]:
        """The queues to read."""
        return sorted(_queue(shape) for shape in self._ask("queues", topic=topic))

    def assign(self, queues: Sequence[Queue]) -> None:
        """Read these queues."""
        self._ask("assign", queues=[_queue_shape(queue) for queue in queues])

    def seek(self, queue: Queue, where: int | str) -> None:
        """Continue at an offset, at ``begin`` or at ``end``."""
        self._ask("seek", queue=_queue_shape(queue), where=str(where))

    def poll(self, count: int, seconds: float = PATIENCE_SECONDS) -> list[Received]:
        """Poll until at least ``count`` messages came or the time is over."""
        shapes = self._ask("poll", seconds + ANSWER_SECONDS, count=count, millis=int(seconds * 1000))
        return [received_of(shape) for shape in shapes]

    def commit(self) -> None:
        """Commit the polled messages."""
        self._ask("commit")

    def committed(self, queue: Queue) -> int:
        """The group's offset as the server keeps it."""
        return int(self._ask("committed", queue=_queue_shape(queue)))

    def offset_for_timestamp(self, queue: Queue, timestamp: int) -> int:
        """The offset of the first message stored at or after a time."""
        return int(self._ask("offsetForTimestamp", queue=_queue_shape(queue), timestamp=timestamp))


class Requester(_Client):
    """A producer that sends requests and waits for replies."""

    kind = "requester"

    def request(self, message: dict[str, Any], millis: int = 10_000) -> Reply:
        """Send a request and return the reply. Raises ``ClientError`` if none arrives in time."""
        answer = self._ask("request", message=message, ttl=millis)
        return Reply(answer["body"], answer["properties"])


class Replier(_Client):
    """A consumer that answers each request with ``re: `` and its body, unless it has a property ``silent``.

    Option: topic.
    """

    kind = "replier"

    def collect(self, count: int, seconds: float = PATIENCE_SECONDS) -> list[Received]:
        """Wait for at least ``count`` requests or the end of the time; return all so far."""
        shapes = self._ask("collect", seconds + ANSWER_SECONDS, count=count, millis=int(seconds * 1000))
        return [received_of(shape) for shape in shapes]


class Popped(NamedTuple):
    """A pop result. Times in ms since the epoch; status is FOUND, POLLING_NOT_FOUND or POLLING_FULL."""

    status: str
    pop_time: int
    invisible_time: int
    rest: int
    messages: list[Received]


class PopClient(_Client):
    """The client's API object that pops, as proxies use it: it knows one broker by name and address."""

    kind = "pop"

    def __init__(self, driver: Driver, broker_name: str, address: str, group: str) -> None:
        super().__init__(driver, "", group)
        self.broker: dict[str, Any] = {"brokerName": broker_name, "address": address}

    def pop(
        self,
        topic: str,
        *,
        queue_id: int = -1,
        most: int = 32,
        invisible: int = 10_000,
        poll: int = 0,
        tags: str | None = None,
        order: bool = False,
        attempt: str | None = None,
        begin: int = 0,
    ) -> Popped:
        """Pop once. The broker may hold it for ``poll`` ms; ``begin`` 0 starts at the oldest message."""
        header: dict[str, Any] = {
            "consumerGroup": self.group,
            "topic": topic,
            "queueId": queue_id,
            "maxMsgNums": most,
            "invisibleTime": invisible,
            "pollTime": poll,
            "bornTime": int(time.time() * 1000),
            "initMode": begin,
            "order": order,
            "attemptId": attempt,
            "expType": None if tags is None else "TAG",
            "exp": tags,
        }
        answer = self._ask(
            "pop", poll / 1000 + ANSWER_SECONDS, header=header, millis=poll + 10_000, **self.broker
        )
        messages = [received_of(shape) for shape in answer["messages"]]
        return Popped(
            answer["status"], answer["popTime"], answer["invisibleTime"], answer["restNum"], messages
        )

    def ack(self, message: Received) -> str:
        """Acknowledge a message with its receipt; return OK or NO_EXIST."""
        header = self._named(message)
        return str(self._ask("ack", header=header, millis=5000, **self.broker)["status"])

    def batch_ack(self, topic: str, messages: Sequence[Received]) -> str:
        """Acknowledge several messages in one request; return the status."""
        receipts = [message.properties["POP_CK"] for message in messages]
        answer = self._ask(
            "batchAck", topic=topic, group=self.group, receipts=receipts, millis=5000, **self.broker
        )
        return str(answer["status"])

    def change(self, message: Received, millis: int) -> Received:
        """Make a message visible again after `millis` ms; return it with its new receipt."""
        header = self._named(message) | {"invisibleTime": millis}
        answer = self._ask("change", header=header, millis=5000, **self.broker)
        receipt = {"POP_CK": answer["extraInfo"]}
        return message._replace(properties=message.properties | receipt)

    def notify(self, topic: str, *, poll: int = 0, queue_id: int = -1, **fields: Any) -> bool:
        """Return True if the topic has a message; wait up to `poll` ms for one."""
        header = {
            "consumerGroup": self.group,
            "topic": topic,
            "queueId": queue_id,
            "pollTime": poll,
            "bornTime": int(time.time() * 1000),
            **fields,
        }
        return bool(
            self._ask(
                "notify", poll / 1000 + ANSWER_SECONDS, header=header, millis=poll + 10_000, **self.broker
            )["hasMessage"]
        )

    def send_back(self, message: Received, level: int, turns: int) -> int:
        """Send a message back for a retry, with level -1 to the DLQ; return the response code."""
        header = {
            "group": self.group,
            "originTopic": message.topic,
            "offset": message.physical_offset,
            "delayLevel": level,
            "originMsgId": message.msg_id,
            "maxReconsumeTimes": turns,
        }
        return int(self._ask("sendBack", header=header, millis=5000, **self.broker))

    def _named(self, message: Received) -> dict[str, Any]:
        """Return the header fields of a popped message; its topic is a retry topic if the receipt says so."""
        receipt = message.properties["POP_CK"].split(" ")
        kinds = {"0": message.topic, "1": f"%RETRY%{self.group}_{message.topic}"}
        return {
            "consumerGroup": self.group,
            "topic": kinds.get(receipt[4], f"%RETRY%{self.group}+{message.topic}"),
            "queueId": int(receipt[6]),
            "offset": int(receipt[7]),
            "extraInfo": message.properties["POP_CK"],
        }


def _queue(shape: dict[str, Any]) -> Queue:
    return Queue(shape["topic"], shape["brokerName"], shape["queueId"])


def _queue_shape(queue: Queue) -> dict[str, Any]:
    return {"topic": queue.topic, "brokerName": queue.broker_name, "queueId": queue.queue_id}


def _sent(shape: dict[str, Any]) -> Sent:
    if "error" in shape:
        error = shape["error"]
        raise ClientError(error["type"], error.get("code"), error["message"])
    queue = _queue(shape["queue"])
    ids = shape["msgId"], shape.get("offsetMsgId", "")
    return Sent(shape["status"], *ids, queue, shape["queueOffset"], shape.get("recallHandle"))


def received_of(shape: dict[str, Any]) -> Received:
    """Return the message of a driver's JSON."""
    return Received(
        topic=shape["topic"],
        broker_name=shape.get("brokerName"),
        queue_id=shape["queueId"],
        queue_offset=shape["queueOffset"],
        physical_offset=shape["physicalOffset"],
        msg_id=shape["msgId"],
        unique_key=shape.get("uniqueKey"),
        tags=shape.get("tags"),
        keys=shape.get("keys"),
        flag=shape["flag"],
        sys_flag=shape["sysFlag"],
        body=shape["body"],
        properties=shape["properties"],
        reconsume_times=shape["reconsumeTimes"],
        born_timestamp=shape["bornTimestamp"],
        store_timestamp=shape["storeTimestamp"],
        store_size=shape["storeSize"],
        born_host=shape["bornHost"],
        store_host=shape["storeHost"],
        delivery=shape.get("delivery", 0),
        received_at=shape.get("receivedAt", 0),
    )
