"""The cost of filtered, acknowledged and delayed reads in this process; see `bench.micro`.

The messages of the scans are those of the side-by-side rows: one of four passes. A step of a scan is one
message examined, from bytes to bytes.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bench.in_process import Server, check
from bench.requests import BODY, HOST, PROPERTIES, TOGETHER, TOPIC, request
from bench.steps import Work
from mqgateway.engine.message import SCHEDULE_TOPIC, Message
from mqgateway.engine.pop import Receipt
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.codec.codes import RequestCode

CYCLE, PASSING = 100, 25
SCANNED = 8 * CYCLE + PASSING
"""Messages of the queue that the scans examine."""
PULLED_FROM = (0, *range(PASSING, SCANNED, CYCLE))
"""Start offsets of the pulls that examine every message once, as each ends after `PASSING` matches."""
TAG = "passes"
SQL = "number < 25 AND region = 'here'"
GROUP = "bench_group"
INVISIBLE_MILLIS = 60_000


def reads_work(folder: Path) -> list[Work]:
    """Scans by tag and by SQL92, a pop, its acknowledgements, and deliveries of a delay level."""
    server = Server(folder / "reads")
    broker = server.service.broker
    broker.options.enable_property_filter = True
    broker.tables.topics.put(TopicConfig(TOPIC, 1, 1))
    for number in range(SCANNED):
        place = number % CYCLE
        properties = {"number": str(place), "region": "here", **PROPERTIES}
        properties["TAGS"] = TAG if place < PASSING else "other"
        broker.store.put(Message(TOPIC, 0, BODY, properties, 0, HOST, HOST))
    broker.store.dispatch()
    scans = {
        "a message looked at, by tag": filtered_pulls(TAG, "TAG"),
        "a message looked at, by SQL92": filtered_pulls(SQL, "SQL92"),
    }
    for data in scans.values():
        server.say(data)
        check(server.heard(), len(PULLED_FROM))
    pops, delayed = Pops(server), Delayed(server)
    return [
        *(Work(name, SCANNED, partial(server.say, data)) for name, data in scans.items()),
        Work(f"a whole pop of {TOGETHER} messages", 1, pops.do, pops.prepare_pop),
        Work("an acknowledgement", TOGETHER, pops.do, pops.prepare_acknowledgements),
        Work("its timer", TOGETHER, pops.set_timers, pops.prepare_timers),
        Work("a delayed message's delivery", TOGETHER, delayed.deliver, delayed.prepare),
    ]


def filtered_pulls(expression: str, kind: str) -> bytes:
    """Return the frames of pulls of all messages of the queue that pass the filter."""
    data = b""
    for opaque, offset in enumerate(PULLED_FROM):
        fields = {"consumerGroup": GROUP, "topic": TOPIC, "queueId": "0", "queueOffset": str(offset)}
        fields |= {"maxMsgNums": str(PASSING), "sysFlag": "4", "commitOffset": "0", "subVersion": "1"}
        fields |= {"suspendTimeoutMillis": "0", "subscription": expression, "expressionType": kind}
        data += request(RequestCode.PULL_MESSAGE, opaque, fields, b"")
    return data


class Pops:
    """Pops, acknowledgements and timers, `TOGETHER` messages at a time; each prepares the next."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._broker = server.service.broker
        self._data = b""
        self._broker.tables.topics.put(TopicConfig("popped", 1, 1))
        self.prepare_acknowledgements()
        self.do()
        check(server.heard(), TOGETHER)

    def prepare_pop(self) -> None:
        """Store messages, and prepare the bytes of the pop."""
        for _ in range(TOGETHER):
            self._broker.store.put(Message("popped", 0, BODY, dict(PROPERTIES), 0, HOST, HOST))
        self._broker.store.dispatch()
        now = self._broker.clock.millis()
        fields = {"consumerGroup": GROUP, "topic": "popped", "queueId": "-1", "maxMsgNums": str(TOGETHER)}
        fields |= {"invisibleTime": str(INVISIBLE_MILLIS), "pollTime": "0", "bornTime": str(now)}
        fields |= {"initMode": "0", "expType": "TAG", "exp": "*", "order": "false"}
        self._data = request(RequestCode.POP_MESSAGE, 0, fields, b"")

    def prepare_acknowledgements(self) -> None:
        """Pop messages, and prepare the bytes that acknowledge them one by one, as the push consumer does."""
        self.prepare_pop()
        self.do()
        [answer] = self._server.heard()
        details = answer.ext_fields
        [start] = details["startOffsetInfo"].split(";")
        [offsets] = details["msgOffsetInfo"].split(";")
        receipt = Receipt(
            int(start.split(" ")[2]),
            int(details["popTime"]),
            int(details["invisibleTime"]),
            int(details["reviveQid"]),
            "0",
            self._broker.options.broker_name,
        )
        self._data = b""
        for opaque, offset in enumerate(map(int, offsets.split(" ")[2].split(","))):
            fields = {"consumerGroup": GROUP, "topic": "popped", "queueId": "0", "offset": str(offset)}
            fields["extraInfo"] = receipt.of_message(0, offset)
            self._data += request(RequestCode.ACK_MESSAGE, opaque, fields, b"")

    def do(self) -> None:
        """Deliver the prepared bytes to the server."""
        self._server.say(self._data)

    def prepare_timers(self) -> None:
        """Acknowledge messages, leaving their timers for `set_timers`."""
        self.prepare_acknowledgements()
        self.set_timers()
        self.do()

    def set_timers(self) -> None:
        """Move the timers into the wheel."""
        self._broker.timers.tick(self._broker.store.steady.now())


class Delayed:
    """Messages of a delay level that are due."""

    def __init__(self, server: Server) -> None:
        self._broker = server.service.broker
        self._broker.tables.topics.put(TopicConfig("delayed", 1, 1))

    def prepare(self) -> None:
        """Store the messages."""
        broker = self._broker
        for _ in range(TOGETHER):
            properties = {**PROPERTIES, "DELAY": "1"}
            message = Message("delayed", 0, BODY, properties, 0, HOST, HOST)
            assert broker.delays.levels.rewrite(message)
            broker.store.put(message)
        broker.store.dispatch()

    def deliver(self) -> None:
        """Deliver the messages as if they were due: in one slice, or in more if the machine is busy."""
        broker = self._broker
        for _ in range(TOGETHER):
            broker.delays.tick(broker.store.steady.now() + 1000)
            left = broker.store.max_offset(SCHEDULE_TOPIC, 0) - broker.delays.offsets[1]
            if not left:
                return
        raise AssertionError(f"{left} are left")
