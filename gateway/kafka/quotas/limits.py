"""Which limit applies to a client: the most specific entity that has one. Kafka: `ClientQuotaManager`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mqgateway.engine.tables.client_quotas import CLIENT_ID, IP, USER, ClientQuotas
from mqgateway.gateway.kafka.quotas.keys import CONNECTION_CREATION_RATE, normal_ip

Name = str | None
"""The name of a user, a client or an address; None stands for the default entity."""


class Scope(NamedTuple):
    """The clients that share one rate: a user, a client id, or a user with a client id."""

    user: str | None
    client_id: str | None


class QuotaLimit(NamedTuple):
    """The limit of a client, and who shares it."""

    bound: float
    scope: Scope


class _KeyLimits:
    """The limits of one key."""

    def __init__(self) -> None:
        self.clients: dict[Name, float] = {}
        self.users: dict[Name, float] = {}
        self.users_clients: dict[tuple[Name, Name], float] = {}

    def find(self, user: str, client_id: str) -> QuotaLimit | None:
        for user_name in (user, None):
            for client_name in (client_id, None):
                bound = self.users_clients.get((user_name, client_name))
                if bound is not None:
                    return QuotaLimit(bound, Scope(user, client_id))
            bound = self.users.get(user_name)
            if bound is not None:
                return QuotaLimit(bound, Scope(user, None))
        bound = self.clients.get(client_id, self.clients.get(None))
        return None if bound is None else QuotaLimit(bound, Scope(None, client_id))


class QuotaLimits:
    """The limits of a table of quotas, arranged for look-ups."""

    def __init__(self, quotas: Iterable[ClientQuotas] = ()) -> None:
        self._keys: dict[str, _KeyLimits] = {}
        self._addresses: dict[Name, float] = {}
        for one in quotas:
            self._add(one)

    @property
    def has_clients(self) -> bool:
        """True if a user or a client id has a limit."""
        return bool(self._keys)

    @property
    def has_addresses(self) -> bool:
        """True if an address has a limit."""
        return bool(self._addresses)

    def _add(self, quotas: ClientQuotas) -> None:
        entity = quotas.entity
        if IP in entity:
            name = entity[IP]
            address = None if name is None else normal_ip(name)
            if CONNECTION_CREATION_RATE in quotas.limits and (name is None or address is not None):
                self._addresses[address] = quotas.limits[CONNECTION_CREATION_RATE]
            return
        for key, bound in quotas.limits.items():
            limits = self._keys.setdefault(key, _KeyLimits())
            if USER in entity and CLIENT_ID in entity:
                limits.users_clients[entity[USER], entity[CLIENT_ID]] = bound
            elif USER in entity:
                limits.users[entity[USER]] = bound
            elif CLIENT_ID in entity:
                limits.clients[entity[CLIENT_ID]] = bound

    def of_client(self, key: str, user: str, client_id: str) -> QuotaLimit | None:
        """Return the limit of a client, None if it has none."""
        limits = self._keys.get(key)
        return None if limits is None else limits.find(user, client_id)

    def of_address(self, address: str) -> float | None:
        """Return the number of connections a second that an address may open, None if it has no limit."""
        return self._addresses.get(normal_ip(address), self._addresses.get(None))
