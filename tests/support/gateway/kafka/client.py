"""A Kafka client in memory: real bytes, to a server of the test loop."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mqgateway.engine.record_batches.reader import Reader
from mqgateway.gateway.access.tables import UserTable
from mqgateway.gateway.access.users import User
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.kafka.codec.apis import API_VERSIONS, APIS
from mqgateway.gateway.kafka.codec.headers import (
    RequestHeader,
    read_response_header,
    response_header_version,
    write_request_header,
)
from mqgateway.gateway.kafka.codec.messages.sasl_authenticate_request import SaslAuthenticateRequest
from mqgateway.gateway.kafka.codec.messages.sasl_handshake_request import SaslHandshakeRequest
from mqgateway.gateway.kafka.codec.plans import encode_into, read
from mqgateway.gateway.kafka.codec.schema import Message
from mqgateway.gateway.kafka.connection import KafkaConnection
from mqgateway.gateway.kafka.share_coordination import ShareCoordination
from mqgateway.gateway.kafka.share_groups.settings import ShareGroupSettings
from mqgateway.gateway.kafka.transactions.coordinator import TxnCoordinator
from tests.support.gateway.testing.hands import Hands

SIZE = struct.Struct(">i")
GUEST = "guest"
PASSWORD = "guest-secret"


class KafkaClient:
    """One connection. `ask` returns the answer to a request; `lost` is True once the server has closed."""

    def __init__(self, loop: Any, port: int, client_id: str = "tests") -> None:
        self._loop = loop
        self._client_id = client_id
        self._received = b""
        self._correlation_id = 0
        self.lost = False
        loop.net.meet(port, self)

    def makeConnection(self, transport: Any) -> None:
        """See `Protocol` of Twisted."""
        self.transport = transport

    def dataReceived(self, data: bytes) -> None:
        """See `Protocol` of Twisted."""
        self._received += data

    def connectionLost(self, reason: object) -> None:
        """See `Protocol` of Twisted."""
        self.lost = True

    def frame(self, request: Message, version: int | None = None) -> bytes:
        """Return the bytes of a request, in the latest version if none is given."""
        key = type(request).KEY
        version = APIS[key].latest if version is None else version
        self._correlation_id += 1
        out = bytearray()
        write_request_header(out, RequestHeader(key, version, self._correlation_id, self._client_id))
        encode_into(out, request, version)
        return SIZE.pack(len(out)) + out

    def write(self, data: bytes) -> None:
        """Send bytes."""
        self.transport.write(data)

    def frames(self, count: int = 1, seconds: float = 5.0) -> list[bytes]:
        """Return answers in the order of their arrival, `count` or those that come in time."""
        found: list[bytes] = []
        for _ in range(int(seconds / 0.01)):
            while len(self._received) >= 4:
                [size] = SIZE.unpack_from(self._received)
                if len(self._received) < 4 + size:
                    break
                found.append(self._received[4 : 4 + size])
                self._received = self._received[4 + size :]
            if len(found) >= count or self.lost:
                break
            self._loop.settle(0.01)
        return found

    def decoded(self, request: Message, frame: bytes, version: int | None = None) -> Any:
        """Return the answer in a frame."""
        key = type(request).KEY
        version = APIS[key].latest if version is None else version
        reader = Reader(frame)
        read_response_header(reader, key, version)
        assert response_header_version(API_VERSIONS, version) == 0
        answer = read(APIS[key].response, reader, version)
        assert not reader.left()
        return answer

    def ask(self, request: Message, version: int | None = None, seconds: float = 5.0) -> Any:
        """Send a request and return its answer."""
        self.write(self.frame(request, version))
        frames = self.frames(1, seconds)
        assert frames, "no answer"
        return self.decoded(request, frames[0], version)

    def log_in(self, user: str, password: str) -> Any:
        """Authenticate the connection by PLAIN; return the last answer."""
        self.ask(SaslHandshakeRequest("PLAIN"))
        return self.ask(SaslAuthenticateRequest(f"\0{user}\0{password}".encode()))


class KafkaScene:
    """A test server with Kafka's port."""

    def __init__(self, hands: Hands) -> None:
        self.hands = hands
        self.server = hands.server
        self.port = int(hands.server.endpoint("kafka").rpartition(":")[2])

    def client(self, client_id: str = "tests", user: str = GUEST) -> KafkaClient:
        """Return a client that is connected, and authenticated if the server demands it.

        A user that does not exist is made, without rights.
        """
        client = self.stranger(client_id)
        if self.operations.options.authentication_enabled:
            users = self.users
            if user not in users:
                users.put(User(user, PASSWORD))
            client.log_in(user, PASSWORD)
        return client

    def stranger(self, client_id: str = "tests") -> KafkaClient:
        """Return a client that is connected, and not authenticated."""
        return KafkaClient(self.hands.loop, self.port, client_id)

    @property
    def users(self) -> UserTable:
        """The users of a server with access control."""
        access = self.operations.access
        assert access is not None
        return access.tables.users

    @property
    def operations(self) -> Operations:
        """The operations of the broker."""
        service: Any = self.server._nodes.broker
        operations: Operations = service.operations
        return operations

    @property
    def transactions(self) -> TxnCoordinator:
        """The coordinator of transactions."""
        front_ends: Any = self.server._nodes._front_ends
        coordinator: TxnCoordinator = front_ends["kafka"]._service._transactions.coordinator
        return coordinator

    @property
    def shares(self) -> ShareCoordination:
        """The share partitions."""
        front_ends: Any = self.server._nodes._front_ends
        shares: ShareCoordination = front_ends["kafka"]._service._shares
        return shares

    def set_share_groups(self, settings: ShareGroupSettings) -> None:
        """Change the settings of all share groups."""
        self.shares._coordinator.shares.settings = lambda group_id: settings

    def connections(self) -> list[KafkaConnection]:
        """Return the server's side of the connections."""
        service: Any = self.server._nodes.broker
        handshakes = service.server._handshakes
        return [one.connection for one in handshakes if isinstance(one.connection, KafkaConnection)]

    def settle(self, seconds: float) -> None:
        """Let time pass."""
        self.hands.loop.settle(seconds)


@contextmanager
def kafka_scene(**settings: Any) -> Iterator[KafkaScene]:
    """Yield a test server with Kafka's port."""
    hands = Hands(**settings)
    yield KafkaScene(hands)
    hands.close()
