"""Idle clients of a gRPC listener: `python -m bench.grpc_idle COUNT ENDPOINTS`.

Each is a producer with its own connection and Telemetry stream, and a heartbeat every ten seconds. Prints
{"ready": COUNT} when all have received their settings. For each line of input it prints the number of clients
that receive them again, and it exits at the end of its input.
"""

import asyncio
import json
import os
import sys
from typing import Any

import grpc

from mqgateway.gateway.grpc import v2

SERVICE = "/apache.rocketmq.v2.MessagingService"
HEARTBEAT_SECONDS = 10.0
ANSWER_SECONDS = 30.0
STARTED_AT_ONCE = 50
OPTIONS = (("grpc.use_local_subchannel_pool", 1),)
"""Without this, channels to one address would share a connection."""


def _bytes(message: Any) -> bytes:
    return bytes(message.SerializeToString())


class IdleClient:
    """A producer that sends only its settings and heartbeats."""

    def __init__(self, number: int, endpoints: str) -> None:
        self._headers = (("x-mq-client-id", f"idle@{number}"), ("x-mq-language", "JAVA"))
        self._channel = grpc.aio.insecure_channel(endpoints, OPTIONS)
        make = self._channel.stream_stream
        answers = v2.TelemetryCommand.FromString
        self._stream = make(f"{SERVICE}/Telemetry", _bytes, answers)(metadata=self._headers)
        make = self._channel.unary_unary
        self._heartbeat = make(f"{SERVICE}/Heartbeat", _bytes, v2.HeartbeatResponse.FromString)

    async def is_notified(self) -> bool:
        """Send the settings; return True if the server answers with the resulting settings."""
        settings = v2.Settings(client_type=v2.ClientType.PRODUCER, publishing=v2.Publishing())
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._stream.write(v2.TelemetryCommand(settings=settings))
                return bool((await self._stream.read()).status.code == v2.Code.OK)
        except (grpc.RpcError, TimeoutError, asyncio.InvalidStateError, AttributeError):
            return False

    async def send_heartbeats(self) -> None:
        """Send heartbeats forever, one each `HEARTBEAT_SECONDS`."""
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            request = v2.HeartbeatRequest(client_type=v2.ClientType.PRODUCER)
            await self._heartbeat(request, metadata=self._headers)


async def serve(count: int, endpoints: str) -> None:
    """Open the clients in waves, then answer until the input ends."""
    clients = [IdleClient(number, endpoints) for number in range(count)]
    beating = []
    for first in range(0, count, STARTED_AT_ONCE):
        wave = clients[first : first + STARTED_AT_ONCE]
        if not all(await asyncio.gather(*(one.is_notified() for one in wave))):
            raise RuntimeError(f"of {count} clients not even the first {first + len(wave)} are served")
        beating += [asyncio.create_task(one.send_heartbeats()) for one in wave]
    print(json.dumps({"ready": count}), flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        served = sum(await asyncio.gather(*(one.is_notified() for one in clients)))
        print(json.dumps({"served": served}), flush=True)
    os._exit(0)  # without waiting for open streams


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), sys.argv[2]))
