"""A server that only answers: `python -m bench.echo PORT`, the lower bound of the cost of a send.

It plays name server and broker for any topic, on the reactor that brokers run on, and answers every send with
the same few bytes. It reads only the opaque of a send's header. The cost of a broker above this server's is
the cost of a broker's own work.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

from twisted.internet.protocol import Factory, Protocol

from mqgateway.gateway.cli.run import the_reactor
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, decode_command, encode_response
from mqgateway.gateway.codec.frame import FrameCutter

HOST = "127.0.0.1"
OPAQUE = b'"opaque":'
SENDS = (b'{"code":310,', b'{"code":320,')
"""SEND_MESSAGE_V2 and SEND_BATCH_MESSAGE as RocketMQ's clients write them: the code comes first."""
ENDLESS = 2**60


class Echo(Protocol):
    """One connection."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._cutter = FrameCutter()

    def dataReceived(self, data: bytes) -> None:
        """Answer all requests of a read at once."""
        answers = [answer(payload, self._port) for payload in self._cutter.feed(data)]
        transport: Any = self.transport
        transport.write(b"".join(answers))


_SENT = {"msgId": "7F0000010000000000000000000000000000", "queueId": "0", "queueOffset": "0"}
_STANDS_FOR_OPAQUE = 1_234_567_890
_SENT_HEADER = encode_response(RemotingCommand(0, opaque=_STANDS_FOR_OPAQUE), 0, _SENT, b"", None)[8:]
_BEFORE, _AFTER = _SENT_HEADER.split(b"%d" % _STANDS_FOR_OPAQUE)


def answer(payload: bytes, port: int) -> bytes:
    """Return the response to a request as a frame; empty for a one-way request or a response."""
    if payload.startswith(SENDS, 4):
        begin = payload.find(OPAQUE) + len(OPAQUE)
        end = begin
        while 48 <= payload[end] <= 57:  # a digit
            end += 1
        header = _BEFORE + payload[begin:end] + _AFTER
        return (4 + len(header)).to_bytes(4, "big") + len(header).to_bytes(4, "big") + header
    command = decode_command(payload)
    if command.is_oneway or command.is_response:
        return b""
    other = OTHERS.get(command.code)
    fields, body = other(port) if other is not None else (None, b"")
    return encode_response(command, 0, fields, body, None)


def _route(port: int) -> tuple[dict[str, str] | None, bytes]:
    queue = {"brokerName": "echo", "perm": 6, "readQueueNums": 4, "writeQueueNums": 4, "topicSysFlag": 0}
    broker = {"cluster": "echo", "brokerName": "echo", "brokerAddrs": {"0": f"{HOST}:{port}"}}
    route = {"queueDatas": [queue], "brokerDatas": [broker], "filterServerTable": {}}
    return None, json.dumps(route).encode()


def _end(port: int) -> tuple[dict[str, str] | None, bytes]:
    return {"offset": str(ENDLESS)}, b""


OTHERS: dict[int, Callable[[int], tuple[dict[str, str] | None, bytes]]] = {
    RequestCode.GET_ROUTEINFO_BY_TOPIC: _route,
    RequestCode.GET_MAX_OFFSET: _end,
}
"""Fields and body of responses that have any, by request code."""


def main(port: int) -> None:
    """Serve until the process is ended."""
    reactor: Any = the_reactor()
    factory = Factory.forProtocol(lambda: Echo(port))
    reactor.listenTCP(port, factory, 50, HOST)
    print("ready", flush=True)
    reactor.run()


if __name__ == "__main__":
    main(int(sys.argv[1]))
