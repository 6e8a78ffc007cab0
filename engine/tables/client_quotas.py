"""Quotas of Kafka clients, by entity: users, client ids, addresses, and combinations (KIP-546).

Kafka: `ClientQuotaEntity`, `QuotaRecord`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final, Self

from mqgateway.engine import json_members
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.tables.config_table import StoredTable

Entity = Mapping[str, str | None]
"""Names by type: `user`, `client-id` or `ip`; None stands for all that have no quota of their own."""

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
ENTITIES_MAX: Final = 10_000
"""Maximum number of entities with quotas."""


@dataclass(frozen=True, slots=True)
class ClientQuotas:
    """An entity, and its limits by key."""

    entity: Entity
    limits: Mapping[str, float] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """See `Config`."""
        return entity_key(self.entity)

    def to_json(self) -> dict[str, Any]:
        """See `Config`."""
        names = {kind: name for kind, name in self.entity.items() if name is not None}
        defaults = [kind for kind, name in self.entity.items() if name is None]
        return {"names": names, "defaults": defaults, "limits": dict(self.limits)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """See `Config`."""
        limits = json_members.read(value, "limits", dict[str, Any]())
        entity: dict[str, str | None] = dict(json_members.read_texts(value, "names"))
        entity |= dict.fromkeys(map(str, json_members.read(value, "defaults", list[Any]())))
        return cls(entity, {key: _limit(key, limit) for key, limit in limits.items()})


def _limit(key: str, value: object) -> float:
    """Return a limit of the file. Raises `ConfigError`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < inf:
        raise ConfigError(f"{key} is not a number above zero")
    return float(value)


def entity_key(entity: Entity) -> str:
    """Return the name of an entity in the table."""
    return json.dumps(sorted(entity.items()))


class ClientQuotasTable(StoredTable[ClientQuotas]):
    """The quotas of the clients of a broker."""

    entry = ClientQuotas
    member = "clientQuotasTable"
