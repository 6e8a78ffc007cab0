"""AlterClientQuotas: the quotas of entities after the changes of a request. Pure.

Kafka: `ClientQuotaControlManager.alterClientQuotas`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from mqgateway.engine.tables.client_quotas import ClientQuotas, Entity, entity_key
from mqgateway.gateway.kafka.codec.messages.alter_client_quotas_request import EntryData, OpData
from mqgateway.gateway.kafka.quotas.keys import ENTITY_TYPES, entity_problem, limit_problem


class QuotaChange(NamedTuple):
    """An entity and its quotas after a request; None with the reason if they are refused."""

    entity: Entity
    quotas: ClientQuotas | None
    problem: str | None


def changes(entries: Iterable[EntryData], current: Callable[[Entity], ClientQuotas]) -> list[QuotaChange]:
    """Return the changes of a request, one for each entity. An entity that is named twice is refused."""
    found: dict[str, QuotaChange] = {}
    for entry in entries:
        entity = in_order({each.entity_type: each.entity_name for each in entry.entity})
        key = entity_key(entity)
        keys = [op.key for op in entry.ops]
        if key in found or len(set(keys)) < len(keys):
            text = f"Ignoring duplicate entity ClientQuotaEntity(entries={{{_java_text(entity)}}})"
            found[key] = QuotaChange(entity, None, text)
        else:
            found[key] = _change(entity, entry.ops, current)
    return list(found.values())


def _change(entity: Entity, ops: Iterable[OpData], current: Callable[[Entity], ClientQuotas]) -> QuotaChange:
    problem = entity_problem(entity)
    if problem is not None:
        return QuotaChange(entity, None, problem)
    limits = dict(current(entity).limits)
    for op in ops:
        if op.remove:
            limits.pop(op.key, None)
            continue
        problem = limit_problem(entity, op.key, op.value)
        if problem is not None:
            return QuotaChange(entity, None, problem)
        limits[op.key] = op.value
    return QuotaChange(entity, ClientQuotas(entity, limits), None)


def in_order(entity: Entity) -> Entity:
    """Return an entity with its types in the order of answers."""
    return {kind: entity[kind] for kind in _kinds(entity)}


def _kinds(entity: Entity) -> Iterator[str]:
    yield from (kind for kind in ENTITY_TYPES if kind in entity)
    yield from (kind for kind in entity if kind not in ENTITY_TYPES)


def _java_text(entity: Entity) -> str:
    return ", ".join(f"{kind}={_NULL if name is None else name}" for kind, name in entity.items())


_NULL: Final = "null"
