"""Which limit applies to a client."""

from __future__ import annotations

from mqgateway.engine.tables.client_quotas import ClientQuotas, Entity
from mqgateway.gateway.kafka.quotas.limits import QuotaLimit, QuotaLimits, Scope

KEY = "producer_byte_rate"
ORDER: list[tuple[Entity, Scope]] = [
    ({"user": "u", "client-id": "c"}, Scope("u", "c")),
    ({"user": "u", "client-id": None}, Scope("u", "c")),
    ({"user": "u"}, Scope("u", None)),
    ({"user": None, "client-id": "c"}, Scope("u", "c")),
    ({"user": None, "client-id": None}, Scope("u", "c")),
    ({"user": None}, Scope("u", None)),
    ({"client-id": "c"}, Scope(None, "c")),
    ({"client-id": None}, Scope(None, "c")),
]
"""Entities in Kafka's order of precedence, and who shares their rate."""


def test_most_specific_entity_counts() -> None:
    for number, (_, scope) in enumerate(ORDER):
        quotas = [ClientQuotas(entity, {KEY: 1.0 + at}) for at, (entity, _) in enumerate(ORDER)]
        limits = QuotaLimits(quotas[number:])
        assert limits.of_client(KEY, "u", "c") == QuotaLimit(1.0 + number, scope)
        assert limits.of_client("consumer_byte_rate", "u", "c") is None


def test_entities_of_others_do_not_count() -> None:
    named = [ClientQuotas(entity, {KEY: 1.0}) for entity, _ in ORDER if None not in entity.values()]
    assert len(named) == 3 and QuotaLimits(named).of_client(KEY, "other", "another") is None


def test_empty_client_id_has_the_default() -> None:
    limits = QuotaLimits([ClientQuotas({"client-id": None}, {KEY: 5.0})])
    assert limits.of_client(KEY, "u", "") == QuotaLimit(5.0, Scope(None, ""))


def test_addresses_are_compared_in_one_form() -> None:
    rate = {"connection_creation_rate": 3.0}
    limits = QuotaLimits([ClientQuotas({"ip": "0:0:0:0:0:0:0:1"}, rate)])
    assert limits.of_address("::1") == 3.0 and limits.of_address("::2") is None
    assert limits.has_addresses and not limits.has_clients
    limits = QuotaLimits([ClientQuotas({"ip": None}, rate)])
    assert limits.of_address("::2") == 3.0


def test_tables_without_quotas_have_no_limits() -> None:
    limits = QuotaLimits()
    assert not limits.has_addresses and not limits.has_clients
    assert limits.of_client(KEY, "u", "c") is None and limits.of_address("::1") is None
