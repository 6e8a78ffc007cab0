"""The client's work for sends and for pulled messages, in this process, without sockets; see `bench.micro`.

The servers are simulated, and their answers are prepared before the client requests them. So only the work of
the client is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock as Time
from twisted.internet.testing import StringTransport

from bench.requests import BODY, HOST, PROPERTIES, SENT, TOGETHER, TOPIC
from bench.steps import Work
from mqgateway.engine.message import Message as Stored
from mqgateway.engine.message import format_properties
from mqgateway.engine.store.record import encode, record_size, sys_flag_for, topic_field
from mqgateway.gateway.client.client import Environment
from mqgateway.gateway.client.listening import Context
from mqgateway.gateway.client.loop import Loop
from mqgateway.gateway.client.message import Message, ReceivedMessage
from mqgateway.gateway.client.producer import Producer
from mqgateway.gateway.client.push import PushConsumer
from mqgateway.gateway.codec.bodies import (
    BrokerData,
    GetConsumerListByGroupResponseBody,
    QueueData,
    TopicRouteData,
)
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, decode_command, encode_command
from mqgateway.gateway.codec.frame import FrameCutter

NAME_SERVER, BROKER = "127.0.0.1:9876", "127.0.0.1:10911"
TURNS_MAX = 100
"""Turns of the loop within which a client has to start."""


class Wire(Time):
    """A reactor with a manual clock, and the simulated servers behind its connections.

    Sends and pulls are not answered here: they are collected in `waiting`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.client_id = ""
        self.conversations: list[tuple[Any, Any]] = []
        self.waiting: list[RemotingCommand] = []
        """Sends and pulls that have arrived and have no answer yet."""
        self.last: Any = None
        """The connection of the latest request in `waiting`, and its transport."""

    def connectTCP(self, host: str, port: int, factory: Any, *_: object, **__: object) -> None:
        """Connect at the next turn of the loop."""
        self.callLater(0, self._connect, factory)

    def callFromThread(self, work: Callable[..., object], *args: Any) -> None:
        """Call `work` at the next turn of the loop."""
        self.callLater(0, work, *args)

    def turn(self) -> None:
        """Run the calls that are due, and answer the requests to the servers."""
        self.advance(0)
        for connection, transport in list(self.conversations):
            for command in heard(transport):
                answer = self._answer(command)
                if answer is not None:
                    connection.dataReceived(encode_command(answer))
                elif not command.is_oneway:
                    self.waiting.append(command)
                    self.last = connection, transport

    def run(self, outcome: Deferred[Any]) -> None:
        """Turn until `outcome` has fired. Raises `RuntimeError` if it fails or takes too many turns."""
        results: list[Any] = []
        outcome.addBoth(results.append)
        for _ in range(TURNS_MAX):
            if results:
                break
            self.turn()
        if results != [None]:
            raise RuntimeError(f"the client does not begin: {results}")

    def wait(self, seconds: float) -> None:
        """Advance the clock by `seconds` at a time until a send or a pull waits for its answer."""
        while not self.waiting:
            self.advance(seconds)
            self.turn()

    def _connect(self, factory: Any) -> None:
        make_transport: Any = StringTransport
        transport = make_transport()
        connection = factory.buildProtocol(transport.getPeer())
        connection.makeConnection(transport)
        self.conversations.append((connection, transport))

    def _answer(self, command: RemotingCommand) -> RemotingCommand | None:
        if command.code == RequestCode.GET_ROUTEINFO_BY_TOPIC:
            return RemotingCommand.response(0, None, route().encode(), request=command)
        if command.code == RequestCode.GET_CONSUMER_LIST_BY_GROUP:
            members = GetConsumerListByGroupResponseBody([self.client_id])
            return RemotingCommand.response(0, None, members.encode(), request=command)
        if command.code == RequestCode.HEART_BEAT:
            return RemotingCommand.response(0, request=command)
        if command.code == RequestCode.QUERY_CONSUMER_OFFSET:
            return RemotingCommand.response(0, ext={"offset": "0"}, request=command)
        return None


def heard(transport: Any) -> list[RemotingCommand]:
    """Return the commands written since the last call."""
    frames = FrameCutter().feed(transport.value())
    transport.clear()
    return [decode_command(frame) for frame in frames]


def route() -> TopicRouteData:
    """Return the route of a topic with one queue on one broker."""
    return TopicRouteData(
        queue_datas=[QueueData("broker-a", 1, 1, 6)],
        broker_datas=[BrokerData("C", "broker-a", {0: BROKER})],
    )


class Asked:
    """A client's requests, with their answers prepared before it sends them."""

    def __init__(self, wire: Wire, ask: Callable[[], object], answer: Callable[[int], bytes]) -> None:
        self._wire = wire
        self._ask = ask
        self._answer = answer
        ask()
        wire.wait(0.5)
        self._connection, self._transport = wire.last
        opaques = [command.opaque for command in wire.waiting]
        self._last, self._count = opaques[-1], len(opaques)
        self._answers = b"".join(map(answer, opaques))
        self.answered()

    def prepare(self) -> None:
        """Prepare the next answers. Raises `RuntimeError` if the last requests were not as expected."""
        self._wire.advance(0)
        opaques = [command.opaque for command in heard(self._transport)]
        following = range(self._last + 1, self._last + self._count + 1)
        if opaques and opaques != list(following):
            raise RuntimeError(f"{opaques} was asked, not {following}")
        self._last = opaques[-1] if opaques else self._last
        following = range(self._last + 1, self._last + self._count + 1)
        self._answers = b"".join(map(self._answer, following))

    def do(self) -> None:
        """Send the requests and receive the answers."""
        self._ask()
        self._wire.advance(0)
        self.answered()

    def answered(self) -> None:
        """Deliver the answers to the client."""
        self._connection.dataReceived(self._answers)


class Pulled:
    """A push consumer with one queue, whose every pull returns the same messages."""

    def __init__(self, wire: Wire, environment: Environment) -> None:
        self._wire = wire
        self.count = 0
        consumer = PushConsumer(
            "bench_group", environment, self._take, **SETTINGS, consume_message_batch_max_size=TOGETHER
        )
        wire.client_id = consumer.client.client_id
        wire.run(consumer.subscribe(TOPIC))
        wire.run(consumer.start())
        wire.wait(0.5)
        self._connection, self._transport = wire.last
        self._opaque = wire.waiting[-1].opaque
        self._answer = b""

    def _take(self, messages: Sequence[ReceivedMessage], _: Context) -> None:
        self.count += len(messages)

    def prepare(self) -> None:
        """Prepare the answer to the parked pull."""
        for command in heard(self._transport):
            if command.code == RequestCode.PULL_MESSAGE:
                self._opaque = command.opaque
        self._answer = pulled(self._opaque)

    def do(self) -> None:
        """Deliver the answer: the listener gets the messages, and the consumer pulls again.

        Raises `RuntimeError` if the listener did not get them all.
        """
        before = self.count
        self._connection.dataReceived(self._answer)
        if self.count != before + TOGETHER:
            raise RuntimeError("the messages were not consumed")


SETTINGS: Any = {"namesrv_addr": NAME_SERVER, "client_ip": "127.0.0.1"}


def answer(opaque: int, fields: dict[str, str], body: bytes) -> bytes:
    """Return a successful response as a frame."""
    return encode_command(RemotingCommand(0, opaque=opaque, flag=1, ext_fields=fields, body=body))


def sent(opaque: int) -> bytes:
    """Return the response to a send."""
    return answer(opaque, SENT | {"queueId": "0", "transactionId": "7F00000100002A139F5545CA0EDB0000"}, b"")


def pulled(opaque: int) -> bytes:
    """Return the response to a pull."""
    fields = {"nextBeginOffset": str(TOGETHER), "minOffset": "0", "maxOffset": str(TOGETHER)}
    return answer(opaque, fields | {"suggestWhichBrokerId": "0"}, RECORDS)


def records() -> bytes:
    """Return messages in a broker's store format."""
    properties, topic = format_properties(PROPERTIES).encode(), topic_field(TOPIC, True)
    found = b""
    for offset in range(TOGETHER):
        message = Stored(TOPIC, 0, BODY, {}, 0, HOST, HOST)
        flag = sys_flag_for(message)
        size = record_size(flag, len(BODY), len(topic[1]), len(properties))
        found += encode(message, BODY, properties, topic, size, flag, 0, offset, len(found), 0)
    return found


RECORDS = records()


def client_work() -> list[Work]:
    """Sends on the loop and from a thread, batches, and pulled messages; each for one message."""
    works = []
    asks = (
        ("a client's send", sends),
        ("a client's send, from a thread", handed_over),
        ("a message of a client's batch", batches),
    )
    for name, ask in asks:
        wire: Any = Wire()
        loop = Loop(wire)
        producer = Producer("bench_producer", loop, **SETTINGS)
        wire.run(producer.start([TOPIC]))
        asked = Asked(wire, partial(ask, loop, producer), sent)
        works.append(Work(name, TOGETHER, asked.do, asked.prepare))
    wire = Wire()
    pulled = Pulled(wire, Loop(wire))
    works.append(Work("a message that a client pulls", TOGETHER, pulled.do, pulled.prepare))
    return works


def sends(loop: Loop, producer: Producer) -> None:
    """Start sends of single messages together."""
    for _ in range(TOGETHER):
        producer.send(Message(TOPIC, BODY))


def handed_over(loop: Loop, producer: Producer) -> None:
    """Submit sends to the loop from outside, as the blocking API does."""
    for _ in range(TOGETHER):
        loop.submit(producer.send, Message(TOPIC, BODY))


def batches(loop: Loop, producer: Producer) -> None:
    """Send messages in one batch."""
    producer.send_batch([Message(TOPIC, BODY) for _ in range(TOGETHER)])
