"""Filters of DescribeClientQuotas: the texts are those of Apache Kafka 4.4.0."""

from __future__ import annotations

import pytest

from mqgateway.engine.tables.client_quotas import Entity
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.describe_client_quotas_request import ComponentData
from mqgateway.gateway.kafka.quotas.filters import DEFAULT, EXACT, SPECIFIED, EntityFilter, FilterRejected

Component = tuple[str, int, str | None]
A: Entity = {"client-id": "a"}
ANY: Entity = {"client-id": None}
A_OF_U: Entity = {"client-id": "a", "user": "u"}
U: Entity = {"user": "u"}
IP: Entity = {"ip": "::1"}
ENTITIES = [A, ANY, A_OF_U, U, IP]


def chosen(*components: Component, is_strict: bool = False) -> list[Entity]:
    """Return the entities that a filter chooses."""
    by = EntityFilter([ComponentData(*one) for one in components], is_strict=is_strict)
    return [entity for entity in ENTITIES if by.chooses(entity)]


def test_empty_filter_chooses_all_or_none() -> None:
    assert chosen() == ENTITIES
    assert chosen(is_strict=True) == []


def test_names_defaults_and_types_are_chosen() -> None:
    assert chosen(("client-id", EXACT, "a")) == [A, A_OF_U]
    assert chosen(("client-id", EXACT, "a"), is_strict=True) == [A]
    assert chosen(("client-id", DEFAULT, None)) == [ANY]
    assert chosen(("client-id", SPECIFIED, None)) == [A, ANY, A_OF_U]
    assert chosen(("client-id", SPECIFIED, None), ("user", EXACT, "u")) == [A_OF_U]
    assert chosen(("ip", SPECIFIED, None)) == [IP]


@pytest.mark.parametrize(
    ("components", "code", "text"),
    [
        ([("", EXACT, "u")], ErrorCode.INVALID_REQUEST, "Invalid empty entity type."),
        (
            [("user", EXACT, "u"), ("user", SPECIFIED, None)],
            ErrorCode.INVALID_REQUEST,
            "Entity type user cannot appear more than once in the filter.",
        ),
        ([("group", EXACT, "u")], ErrorCode.UNSUPPORTED_VERSION, "Unsupported entity type group"),
        ([("user", 3, "u")], ErrorCode.INVALID_REQUEST, "Unknown match type 3"),
        (
            [("user", EXACT, None)],
            ErrorCode.INVALID_REQUEST,
            "Request specified MATCH_TYPE_EXACT, but set match string to null.",
        ),
        (
            [("user", DEFAULT, "x")],
            ErrorCode.INVALID_REQUEST,
            "Request specified MATCH_TYPE_DEFAULT, but also specified a match string.",
        ),
        (
            [("user", SPECIFIED, "x")],
            ErrorCode.INVALID_REQUEST,
            "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.",
        ),
        (
            [("user", EXACT, "x"), ("ip", EXACT, "x")],
            ErrorCode.INVALID_REQUEST,
            "Invalid entity filter component combination. IP filter component should not be used with user "
            "or clientId filter component.",
        ),
    ],
)
def test_other_filters_are_refused(components: list[Component], code: ErrorCode, text: str) -> None:
    with pytest.raises(FilterRejected) as refused:
        chosen(*components)
    assert (refused.value.code, str(refused.value)) == (code, text)
