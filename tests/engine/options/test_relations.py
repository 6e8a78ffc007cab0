"""Settings that must be less than others."""

from __future__ import annotations

import pytest

from mqgateway.engine.options import BrokerOptions, OptionSet
from mqgateway.engine.options.relations import RELATIONS, Relation, broken_relations


def test_defaults_satisfy_all_relations() -> None:
    assert broken_relations(OptionSet(BrokerOptions()).get) == []


@pytest.mark.parametrize("relation", RELATIONS)
def test_equal_values_are_an_error_unless_the_relation_allows_them(relation: Relation) -> None:
    settings = OptionSet(BrokerOptions())
    settings.set(relation.lower, "7000")
    settings.set(relation.upper, "7000")
    assert bool(broken_relations(settings.get)) is not relation.may_equal


def test_errors_have_names_and_values() -> None:
    settings = OptionSet(BrokerOptions())
    settings.set("kafkaGroupShareHeartbeatIntervalMillis", "50000")
    settings.set("kafkaGroupMinSessionTimeoutMillis", "8000")
    settings.set("kafkaGroupMaxSessionTimeoutMillis", "7999")
    assert broken_relations(settings.get) == [
        "kafkaGroupShareHeartbeatIntervalMillis=50000: must be less than "
        "kafkaGroupShareSessionTimeoutMillis=45000; change one of them",
        "kafkaGroupMinSessionTimeoutMillis=8000: must be at most kafkaGroupMaxSessionTimeoutMillis=7999; "
        "change one of them",
    ]
