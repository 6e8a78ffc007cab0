"""What a client does for a send and for what it pulled, in this process, without sockets: see `bench.micro`.

The servers are played: they give the answers that servers give, ready before they are wanted. So all that
is measured is the client's.
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
"""Turns of the loop in which a client has begun."""


class Wire(Time):
    """A reactor whose time stands still, and the servers behind the connections that are made with it.

    Sends and pulls are not answered until they are told to be.
    """

    def __init__(self) -> None:
        super().__init__()
        self.client_id = ""
        self.conversations: list[tuple[Any, Any]] = []
        self.waiting: list[RemotingCommand] = []
        """Sends and pulls that came and have no answer yet; of them that came last."""
        self.last: Any = None
        """The connection on which they came, and its transport."""

    def connectTCP(self, host: str, port: int, factory: Any, *_: object, **__: object) -> None:
        """The connection is there when the loop turns."""
        self.callLater(0, self._connect, factory)

    def callFromThread(self, work: Callable[..., object], *args: Any) -> None:
        """It is called when the loop turns."""
        self.callLater(0, work, *args)

    def turn(self) -> None:
        """Let what was begun go on, and answer what is asked of servers."""
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
        """Wait for something."""
        came: list[Any] = []
        outcome.addBoth(came.append)
        for _ in range(TURNS_MAX):
            if came:
                break
            self.turn()
        if came != [None]:
            raise RuntimeError(f"the client does not begin: {came}")

    def wait(self, seconds: float) -> None:
        """Let time pass, a little at a time, until something has to be answered."""
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
    """What was written since the last time."""
    frames = FrameCutter().feed(transport.value())
    transport.clear()
    return [decode_command(frame) for frame in frames]


def route() -> TopicRouteData:
    """A topic with one queue on one broker."""
    return TopicRouteData(
        queue_datas=[QueueData("broker-a", 1, 1, 6)],
        broker_datas=[BrokerData("C", "broker-a", {0: BROKER})],
    )


class Asked:
    """A client that asks, and the answers to what it asks next, which are ready before."""

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
        """Know what is to be answered next. Raises `RuntimeError` for an ask that was none."""
        self._wire.advance(0)
        opaques = [command.opaque for command in heard(self._transport)]
        following = range(self._last + 1, self._last + self._count + 1)
        if opaques and opaques != list(following):
            raise RuntimeError(f"{opaques} was asked, not {following}")
        self._last = opaques[-1] if opaques else self._last
        following = range(self._last + 1, self._last + self._count + 1)
        self._answers = b"".join(map(self._answer, following))

    def do(self) -> None:
        """Ask, and be answered."""
        self._ask()
        self._wire.advance(0)
        self.answered()

    def answered(self) -> None:
        """The answers come."""
        self._connection.dataReceived(self._answers)


class Pulled:
    """A push consumer with one queue, to which a pull gives the same messages again and again."""

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
        """Have an answer for the pull that waits."""
        for command in heard(self._transport):
            if command.code == RequestCode.PULL_MESSAGE:
                self._opaque = command.opaque
        self._answer = pulled(self._opaque)

    def do(self) -> None:
        """The answer comes: messages are given to the listener, and it is pulled again."""
        before = self.count
        self._connection.dataReceived(self._answer)
        if self.count != before + TOGETHER:
            raise RuntimeError("the messages were not consumed")


SETTINGS: Any = {"namesrv_addr": NAME_SERVER, "client_ip": "127.0.0.1"}


def answer(opaque: int, fields: dict[str, str], body: bytes) -> bytes:
    """A good answer as it comes."""
    return encode_command(RemotingCommand(0, opaque=opaque, flag=1, ext_fields=fields, body=body))


def sent(opaque: int) -> bytes:
    """The answer to a send."""
    return answer(opaque, SENT | {"queueId": "0", "transactionId": "7F00000100002A139F5545CA0EDB0000"}, b"")


def pulled(opaque: int) -> bytes:
    """The answer to a pull."""
    fields = {"nextBeginOffset": str(TOGETHER), "minOffset": "0", "maxOffset": str(TOGETHER)}
    return answer(opaque, fields | {"suggestWhichBrokerId": "0"}, RECORDS)


def records() -> bytes:
    """What a broker has stored."""
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
    """Sends by the core and from a thread, batches, and what comes of a pull; each for one message."""
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
    """Messages, begun together."""
    for _ in range(TOGETHER):
        producer.send(Message(TOPIC, BODY))


def handed_over(loop: Loop, producer: Producer) -> None:
    """The same as the face that blocks does it."""
    for _ in range(TOGETHER):
        loop.submit(producer.send, Message(TOPIC, BODY))


def batches(loop: Loop, producer: Producer) -> None:
    """Messages, in one batch."""
    producer.send_batch([Message(TOPIC, BODY) for _ in range(TOGETHER)])
