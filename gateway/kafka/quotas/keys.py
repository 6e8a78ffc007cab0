"""The keys of quotas, and checks of entities and limits.

The texts are those of Apache Kafka. Kafka: `ClientQuotaControlManager`, `QuotaConfig`.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from math import isfinite
from typing import Final

from mqgateway.engine.tables.client_quotas import CLIENT_ID, IP, USER, Entity

PRODUCER_BYTE_RATE: Final = "producer_byte_rate"
CONSUMER_BYTE_RATE: Final = "consumer_byte_rate"
REQUEST_PERCENTAGE: Final = "request_percentage"
CONTROLLER_MUTATION_RATE: Final = "controller_mutation_rate"
CONNECTION_CREATION_RATE: Final = "connection_creation_rate"

ENTITY_TYPES: Final = (CLIENT_ID, USER, IP)
"""Types of entities, in the order of answers."""

NAME_MAX: Final = 1024
"""Characters of the name of an entity; Kafka has no limit."""

_WHOLE_MAX: Final[Mapping[str, tuple[int, str]]] = {
    PRODUCER_BYTE_RATE: ((1 << 63) - 1, "a LONG"),
    CONSUMER_BYTE_RATE: ((1 << 63) - 1, "a LONG"),
    CONNECTION_CREATION_RATE: ((1 << 31) - 1, "an INT"),
}
"""Maximum of limits that are whole numbers, and its name."""
_CLIENT_KEYS: Final = frozenset(
    (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, REQUEST_PERCENTAGE, CONTROLLER_MUTATION_RATE)
)
_IP_KEYS: Final = frozenset((CONNECTION_CREATION_RATE,))
_FRACTION_MAX: Final = 1e-6
"""Fraction that a whole number may have, as it is sent as a floating-point number."""


def entity_problem(entity: Entity) -> str | None:
    """Return the reason for which an entity cannot have quotas, None if it can."""
    for kind, name in entity.items():
        if kind not in ENTITY_TYPES:
            return f"Unhandled client quota entity type: {kind}"
        if name == "":
            return f"Empty {kind} not supported"
        if name is not None and len(name) > NAME_MAX:
            return f"The name of a {kind} has more than {NAME_MAX} characters"
    if not entity:
        return "Invalid empty client quota entity"
    if IP in entity:
        if len(entity) > 1:
            return "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"
        name = entity[IP]
        if name is not None and normal_ip(name) is None:
            return f"{name} is not a valid IP or resolvable host."
    return None


def limit_problem(entity: Entity, key: str, value: float) -> str | None:
    """Return the reason for which an entity cannot have a limit, None if it can."""
    if key not in (_IP_KEYS if IP in entity else _CLIENT_KEYS):
        return f"Invalid configuration key {key}"
    if not isfinite(value):
        return f"Quota {key} must be a finite number"
    if value <= 0:
        return f"Quota {key} must be greater than 0"
    if key in _WHOLE_MAX:
        largest, kind = _WHOLE_MAX[key]
        if value > largest:
            return f"Proposed value for {key} is too large for {kind}."
        if value % 1 > _FRACTION_MAX:
            return f"{key} cannot be a fractional value."
    return None


def normal_ip(text: str) -> str | None:
    """Return an address in its usual form, None if it is none; IPv4 in IPv6 is IPv4, as in Java."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(address if mapped is None else mapped)
