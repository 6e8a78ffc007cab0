"""A request of a Kafka client, what its functions are given, and its answer as bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mqgateway.gateway.access.callers import FrontEndCaller
from mqgateway.gateway.access.needs import Need
from mqgateway.gateway.broker.operations import ClientConnection, Operations, Permit, Principal, Use
from mqgateway.gateway.kafka.codec.apis import APIS
from mqgateway.gateway.kafka.codec.fetch import Chunk
from mqgateway.gateway.kafka.codec.headers import RequestHeader

Reply = Sequence[Chunk] | None
"""The chunks of a frame without its size; None if the request has no answer."""


class Address(NamedTuple):
    """A host and a port."""

    host: str
    port: int


class KafkaCall:
    """One request.

    `now` is the wall time of its arrival, ms; `local` is the address that the client used. `user` is the name
    that its connection was authenticated with, None for none. `has_token` is True if that was by a delegation
    token.
    """

    __slots__ = ("_operations", "connection", "has_token", "header", "local", "now", "user")

    def __init__(
        self,
        header: RequestHeader,
        connection: ClientConnection,
        local: Address,
        operations: Operations,
        user: str | None = None,
        has_token: bool = False,
    ) -> None:
        self.header = header
        self.connection = connection
        self.local = local
        self.user = user
        self.has_token = has_token
        self.now = operations.clock.millis()
        self._operations = operations

    @property
    def version(self) -> int:
        """Version of the API."""
        return self.header.version

    @property
    def client_id(self) -> str:
        """The name that the client gives itself; empty for none."""
        return self.header.client_id or ""

    @property
    def client_host(self) -> str:
        """The address of the client without its port."""
        return self.connection.address.rpartition(":")[0].strip("[]")

    def admit(self, use: Use, *needs: Need) -> Permit:
        """Admit a part of the request that needs these rights. Raises `NotAdmitted`, `OperationError`."""
        principal = Principal(self.connection, self._credentials)
        return self._operations.gate.admit(principal, use, lambda: needs)

    def _credentials(self) -> FrontEndCaller:
        api, has_user = APIS[self.header.key].name, self.user is not None
        return FrontEndCaller(self.user, lambda _: False, self.connection.address, api, has_user)
