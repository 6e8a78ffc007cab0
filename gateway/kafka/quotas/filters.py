"""DescribeClientQuotas: which entities a filter chooses. Pure. Kafka: `ClientQuotasImage.describe`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from mqgateway.engine.tables.client_quotas import IP, Entity
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.describe_client_quotas_request import ComponentData
from mqgateway.gateway.kafka.quotas.keys import ENTITY_TYPES

EXACT, DEFAULT, SPECIFIED = 0, 1, 2
"""Match types: this name, the default entity, any name or the default."""
_MATCH_NAMES: Final = {DEFAULT: "MATCH_TYPE_DEFAULT", SPECIFIED: "MATCH_TYPE_SPECIFIED"}


class FilterRejected(Exception):
    """A filter that is refused, with Kafka's code."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code


class EntityFilter:
    """A choice of entities. Raises `FilterRejected` if the components make no filter.

    With `is_strict` an entity must not have types that the filter does not name.
    """

    def __init__(self, components: Iterable[ComponentData], *, is_strict: bool) -> None:
        self._is_strict = is_strict
        self._components: dict[str, ComponentData] = {}
        for component in components:
            self._add(component)
        if IP in self._components and len(self._components) > 1:
            text = (
                "Invalid entity filter component combination. IP filter component should not be used with "
                "user or clientId filter component."
            )
            raise FilterRejected(ErrorCode.INVALID_REQUEST, text)

    def _add(self, component: ComponentData) -> None:
        kind = component.entity_type
        if not kind:
            raise FilterRejected(ErrorCode.INVALID_REQUEST, "Invalid empty entity type.")
        if kind in self._components:
            text = f"Entity type {kind} cannot appear more than once in the filter."
            raise FilterRejected(ErrorCode.INVALID_REQUEST, text)
        if kind not in ENTITY_TYPES:
            raise FilterRejected(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
        problem = _problem(component)
        if problem is not None:
            raise FilterRejected(ErrorCode.INVALID_REQUEST, problem)
        self._components[kind] = component

    def chooses(self, entity: Entity) -> bool:
        """Return True if the filter chooses an entity. An empty one chooses all, or none if it is strict."""
        if self._is_strict and (len(entity) != len(self._components) or not self._components):
            return False
        return all(_matches(component, entity) for component in self._components.values())


def _problem(component: ComponentData) -> str | None:
    if component.match_type == EXACT:
        is_given = component.match is not None
        return None if is_given else "Request specified MATCH_TYPE_EXACT, but set match string to null."
    name = _MATCH_NAMES.get(component.match_type)
    if name is None:
        return f"Unknown match type {component.match_type}"
    return (
        None if component.match is None else f"Request specified {name}, but also specified a match string."
    )


def _matches(component: ComponentData, entity: Mapping[str, str | None]) -> bool:
    if component.entity_type not in entity:
        return False
    return component.match_type == SPECIFIED or entity[component.entity_type] == component.match
