"""Requests over blocking sockets: a real one, and streams that fail in every way."""

from __future__ import annotations

import socket
import threading

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.gateway.access.signature import Credentials
from mqgateway.gateway.client.errors import ClientError, TimedOut, Unreachable
from mqgateway.gateway.codec.command import RESPONSE_FLAG, RemotingCommand, decode_command, encode_command
from mqgateway.gateway.mqadmin.connection import Connections, ServerConnection, encrypted, plain


class Stream:
    """Stream that returns chunks; a chunk that is an exception is raised."""

    def __init__(self, *chunks: bytes | Exception) -> None:
        self.chunks = list(chunks)
        self.sent = b""
        self.closed = False

    def sendall(self, data: bytes) -> None:
        self.sent += data

    def recv(self, size: int) -> bytes:
        chunk = self.chunks.pop(0)
        if isinstance(chunk, Exception):
            raise chunk
        return chunk

    def settimeout(self, seconds: float) -> None:
        assert seconds > 0

    def close(self) -> None:
        self.closed = True


def answer(opaque: int, remark: str = "", *, is_response: bool = True) -> bytes:
    flag = RESPONSE_FLAG if is_response else 0
    return encode_command(RemotingCommand(0, opaque=opaque, flag=flag, remark=remark))


def ask(*chunks: bytes | Exception) -> RemotingCommand:
    stream = Stream(*chunks)
    return ServerConnection("a:1", lambda *where: stream, ManualClock()).ask(RemotingCommand.request(105), 5)


def test_an_answer_may_come_in_chunks_and_among_others() -> None:
    stream = answer(7, "late") + answer(1, "asked of us", is_response=False) + answer(1, "ours")
    assert ask(*(stream[at : at + 3] for at in range(0, len(stream), 3))).remark == "ours"


@pytest.mark.parametrize(
    ("chunk", "kind"),
    [
        (b"", Unreachable),
        (TimeoutError(), TimedOut),
        (ConnectionResetError("reset"), Unreachable),
        (b"\x00\x00\x00\x01x", ClientError),
        (b"\x7f\xff\xff\xff", ClientError),
    ],
)
def test_failures_are_errors_of_the_client(chunk: bytes | Exception, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        ask(chunk)


@pytest.mark.parametrize("address", ["", "host", "host:", ":1", "host:x"])
def test_invalid_address_is_refused(address: str) -> None:
    with pytest.raises(ClientError, match="write HOST:PORT"):
        ServerConnection(address, plain, ManualClock())


def test_closed_port_is_unreachable() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(Unreachable, match="connect to"):
        ServerConnection(f"127.0.0.1:{port}", plain, ManualClock())


def test_broken_connection_is_opened_again() -> None:
    streams = [Stream(b""), Stream(answer(1, "again"))]
    opened = list(streams)
    connections = Connections(lambda *where: opened.pop(0), ManualClock(), Credentials("a", "s"))
    with pytest.raises(Unreachable):
        connections.ask("a:1", RemotingCommand.request(105), 5)
    assert streams[0].closed
    assert connections.ask("a:1", RemotingCommand.request(105), 5).remark == "again"
    assert b"Signature" in streams[1].sent
    connections.close()
    assert streams[1].closed


def test_request_over_a_real_socket_is_answered() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            peer, _ = server.accept()
            with peer:
                request = decode_command(peer.recv(65536)[4:])
                peer.sendall(answer(request.opaque, "hello"))

        thread = threading.Thread(target=serve)
        thread.start()
        host, port = server.getsockname()
        connections = Connections(plain, ManualClock())
        assert connections.ask(f"{host}:{port}", RemotingCommand.request(105), 5).remark == "hello"
        connections.close()
        thread.join()


def test_tls_to_a_plain_server_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            peer, _ = server.accept()
            with peer:
                peer.sendall(b"no TLS here")

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(Unreachable, match="connect to"):
            ServerConnection(f"127.0.0.1:{server.getsockname()[1]}", encrypted(None), ManualClock())
        thread.join()
