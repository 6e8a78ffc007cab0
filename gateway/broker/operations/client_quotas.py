"""Quotas of Kafka clients. They show no message, so reading them takes no permit."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mqgateway.engine.tables.client_quotas import ENTITIES_MAX, ClientQuotas, entity_key
from mqgateway.engine.tables.client_quotas import Entity as QuotaEntity
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.operations.gate import Gate, Permit
from mqgateway.gateway.broker.operations.uses import Use


class ClientQuotaOperations:
    """Quotas of the clients of one broker."""

    def __init__(self, broker: Broker, gate: Gate) -> None:
        self._table = broker.tables.client_quotas
        self._gate = gate

    @property
    def version(self) -> int:
        """A number that changes with the quotas."""
        return self._table.data_version.counter

    def all(self) -> Collection[ClientQuotas]:
        """Return the quotas of all entities."""
        return self._table.all()

    def get(self, entity: QuotaEntity) -> ClientQuotas:
        """Return the quotas of an entity; no limits for an unknown one."""
        return self._table.get(entity_key(entity)) or ClientQuotas(entity)

    def put(self, permit: Permit, quotas: Sequence[ClientQuotas]) -> None:
        """Replace the quotas of entities; without limits an entity is removed. Raises `OperationError`."""
        self._gate.enter(permit, Use.CONFIGURE)
        kept = [one for one in quotas if one.limits]
        added = sum(one.key not in self._table for one in kept)
        if added and len(self._table) + added > ENTITIES_MAX:
            text = f"No more than {ENTITIES_MAX} entities can have quotas."
            raise OperationError(Reason.INVALID_PARAMETER, text)
        for one in quotas:
            if not one.limits:
                self._table.delete(one.key)
        if kept:
            self._table.put(*kept)
