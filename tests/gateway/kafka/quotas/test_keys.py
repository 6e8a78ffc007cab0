"""Checks of entities and limits: the texts are those of Apache Kafka 4.4.0."""

from __future__ import annotations

from math import inf, nan

import pytest

from mqgateway.engine.tables.client_quotas import Entity
from mqgateway.gateway.kafka.quotas.keys import NAME_MAX, entity_problem, limit_problem, normal_ip

CLIENT: Entity = {"client-id": "a"}
IP: Entity = {"ip": None}


@pytest.mark.parametrize(
    "entity",
    [CLIENT, {"client-id": None}, {"user": "u", "client-id": None}, {"user": None}, IP, {"ip": "::1"}],
)
def test_entities_are_accepted(entity: Entity) -> None:
    assert entity_problem(entity) is None


@pytest.mark.parametrize(
    ("entity", "text"),
    [
        ({}, "Invalid empty client quota entity"),
        ({"group": "x"}, "Unhandled client quota entity type: group"),
        ({"client-id": ""}, "Empty client-id not supported"),
        ({"ip": ""}, "Empty ip not supported"),
        ({"ip": "no such host"}, "no such host is not a valid IP or resolvable host."),
        (
            {"user": "u", "ip": "1.2.3.4"},
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
        ),
        ({"user": "u" * (NAME_MAX + 1)}, "The name of a user has more than 1024 characters"),
    ],
)
def test_other_entities_are_refused(entity: Entity, text: str) -> None:
    assert entity_problem(entity) == text


@pytest.mark.parametrize(
    ("entity", "key", "value", "text"),
    [
        (CLIENT, "producer_byte_rate", 1000.0, None),
        (CLIENT, "request_percentage", 50.5, None),
        (CLIENT, "controller_mutation_rate", 1.25, None),
        (IP, "connection_creation_rate", 6.0, None),
        (CLIENT, "consumer_byte_rate", 10.5, "consumer_byte_rate cannot be a fractional value."),
        (CLIENT, "producer_byte_rate", 0.0, "Quota producer_byte_rate must be greater than 0"),
        (CLIENT, "request_percentage", -5.0, "Quota request_percentage must be greater than 0"),
        (CLIENT, "request_percentage", nan, "Quota request_percentage must be a finite number"),
        (CLIENT, "producer_byte_rate", inf, "Quota producer_byte_rate must be a finite number"),
        (
            CLIENT,
            "producer_byte_rate",
            1e30,
            "Proposed value for producer_byte_rate is too large for a LONG.",
        ),
        (
            IP,
            "connection_creation_rate",
            1e12,
            "Proposed value for connection_creation_rate is too large for an INT.",
        ),
        (CLIENT, "connection_creation_rate", 5.0, "Invalid configuration key connection_creation_rate"),
        (IP, "producer_byte_rate", 5.0, "Invalid configuration key producer_byte_rate"),
        (CLIENT, "", 5.0, "Invalid configuration key "),
    ],
)
def test_limits_are_checked(entity: Entity, key: str, value: float, text: str | None) -> None:
    assert limit_problem(entity, key, value) == text


def test_addresses_have_one_form() -> None:
    assert normal_ip("::0:1") == "::1"
    assert normal_ip("::ffff:1.2.3.4") == "1.2.3.4"
    assert normal_ip("localhost") is None
