"""Idle clients: `python -m bench.idle consumers|connections COUNT NAMESRV BROKER`.

Prints {"ready": COUNT} when all are connected. For each line of input it prints the number of clients that
the server still serves, and it exits at the end of its input.
"""

import asyncio
import json
import logging
import os
import resource
import sys
from collections.abc import Sequence

from mqgateway.gateway.client.aio import Message, Producer, PushConsumer
from mqgateway.gateway.client.aio_facade import Listener
from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.codec.codes import CURRENT_VERSION, LanguageCode, RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, decode_command, encode_command
from mqgateway.gateway.codec.frame import FrameCutter

HEARTBEAT_SECONDS = 30.0
TURN_SECONDS = 0.1
OPENED_AT_ONCE = 200
STARTED_AT_ONCE = 20
PROBE_SECONDS = 20.0
TOPIC = "bench_idle"
FILES_MAX = resource.getrlimit(resource.RLIMIT_NOFILE)[1]


def heartbeat(number: int) -> bytes:
    """Return the heartbeat of a producer as a frame."""
    body = {
        "clientID": f"10.0.{number >> 8}.{number & 255}@{number}",
        "producerDataSet": [{"groupName": "bench_idle"}],
        "consumerDataSet": [],
    }
    command = RemotingCommand.request(RequestCode.HEART_BEAT, body=json.dumps(body).encode())
    command.opaque, command.version, command.language = number, CURRENT_VERSION, LanguageCode.JAVA
    return encode_command(command)


class IdleConnection(asyncio.Protocol):
    """A producer that sends only heartbeats."""

    def __init__(self, number: int) -> None:
        self._frame = heartbeat(number)
        self._cutter = FrameCutter()
        self._transport: asyncio.Transport | None = None
        self._owed = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        for payload in self._cutter.feed(data):
            answer = decode_command(payload)
            self._owed -= answer.is_response and answer.code == 0

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None

    def send_heartbeat(self) -> None:
        """Send a heartbeat if the connection is open."""
        if self._transport is not None:
            self._transport.write(self._frame)
            self._owed += 1

    @property
    def is_served(self) -> bool:
        """True if the connection is open and all heartbeats but the last have been answered."""
        return self._transport is not None and self._owed <= 1


class IdleConsumers:
    """Consumers, each with its own group, and therefore with all queues of the topic."""

    def __init__(self, count: int, namesrv: str) -> None:
        self._namesrv = namesrv
        self._given: list[set[bytes]] = [set() for _ in range(count)]
        self._consumers = [
            PushConsumer(f"bench_idle_{number}", self._listener(given), namesrv)
            for number, given in enumerate(self._given)
        ]

    @staticmethod
    def _listener(given: set[bytes]) -> Listener:
        async def listen(messages: Sequence[ReceivedMessage], context: object) -> None:
            given.update(message.body for message in messages)

        return listen

    async def start(self) -> None:
        """Start the consumers, a few at a time."""
        async with Producer("bench_idle", self._namesrv) as producer:
            await producer.send(Message(TOPIC, "made"))
        for first in range(0, len(self._consumers), STARTED_AT_ONCE):
            wave = self._consumers[first : first + STARTED_AT_ONCE]
            await asyncio.gather(*(one.subscribe(TOPIC) for one in wave))
            await asyncio.gather(*(one.start() for one in wave))

    async def served(self) -> int:
        """Send a message to every queue and return the number of consumers that receive all of them."""
        async with Producer("bench_idle", self._namesrv) as producer:
            queues = await producer.queues(TOPIC)
            probes = {os.urandom(8) for _ in queues}
            for queue, probe in zip(queues, probes, strict=True):
                await producer.send(Message(TOPIC, probe), queue=queue)
        end = asyncio.get_running_loop().time() + PROBE_SECONDS
        while asyncio.get_running_loop().time() < end:
            if all(probes <= given for given in self._given):
                break
            await asyncio.sleep(TURN_SECONDS)
        return sum(probes <= given for given in self._given)


class IdleConnections:
    """Connections that each send a heartbeat to the broker every thirty seconds."""

    def __init__(self, count: int, broker: str) -> None:
        self._broker = broker
        self._connections = [IdleConnection(number) for number in range(count)]
        self._beating: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Open the connections in waves."""
        loop = asyncio.get_running_loop()
        host, _, port = self._broker.rpartition(":")
        for first in range(0, len(self._connections), OPENED_AT_ONCE):
            wave = self._connections[first : first + OPENED_AT_ONCE]
            await asyncio.gather(
                *(loop.create_connection(lambda c=one: c, host, int(port)) for one in wave)  # type: ignore[misc]
            )
            for one in wave:
                one.send_heartbeat()
        self._beating = asyncio.create_task(self._send_heartbeats())

    async def _send_heartbeats(self) -> None:
        at, turn = 0.0, len(self._connections) * TURN_SECONDS / HEARTBEAT_SECONDS
        while True:
            await asyncio.sleep(TURN_SECONDS)
            for number in range(int(at), int(at + turn)):
                self._connections[number % len(self._connections)].send_heartbeat()
            at += turn

    async def served(self) -> int:
        """Return the number of open connections whose heartbeats have been answered."""
        return sum(one.is_served for one in self._connections)


async def main(what: str, count: int, namesrv: str, broker: str) -> None:
    """Keep the clients until the input ends."""
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    clients = IdleConnections(count, broker) if what == "connections" else IdleConsumers(count, namesrv)
    await clients.start()
    print(json.dumps({"ready": count}), flush=True)
    while await lines.readline():
        print(json.dumps({"served": await clients.served()}), flush=True)


if __name__ == "__main__":
    logging.basicConfig(level=logging.ERROR)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES_MAX, FILES_MAX))
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]))
