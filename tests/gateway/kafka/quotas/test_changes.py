"""AlterClientQuotas as new quotas of entities."""

from __future__ import annotations

from mqgateway.engine.tables.client_quotas import ClientQuotas, Entity, entity_key
from mqgateway.gateway.kafka.codec.messages.alter_client_quotas_request import EntityData, EntryData, OpData
from mqgateway.gateway.kafka.quotas.changes import changes

BEFORE = ClientQuotas({"client-id": "a"}, {"producer_byte_rate": 1.0, "consumer_byte_rate": 2.0})


def current(entity: Entity) -> ClientQuotas:
    """Return the quotas before the request."""
    return BEFORE if entity_key(entity) == BEFORE.key else ClientQuotas(entity)


def entry(*entity: tuple[str, str | None], **limits: float | None) -> EntryData:
    """Return changes of an entity; None removes a limit."""
    ops = [OpData(key, value or 0.0, value is None) for key, value in limits.items()]
    return EntryData([EntityData(*one) for one in entity], ops)


def test_limits_are_set_and_removed_beside_others() -> None:
    [change] = changes([entry(("client-id", "a"), producer_byte_rate=None, request_percentage=3.5)], current)
    assert change.problem is None and change.quotas is not None
    assert change.quotas.limits == {"consumer_byte_rate": 2.0, "request_percentage": 3.5}
    assert dict(BEFORE.limits) == {"producer_byte_rate": 1.0, "consumer_byte_rate": 2.0}


def test_limits_that_are_not_set_can_be_removed_under_any_key() -> None:
    [change] = changes([entry(("user", None), no_such=None)], current)
    assert change.problem is None and change.quotas == ClientQuotas({"user": None})


def test_one_refused_limit_refuses_the_entity() -> None:
    [change] = changes([entry(("client-id", "a"), producer_byte_rate=9.0, no_such=1.0)], current)
    assert change.quotas is None and change.problem == "Invalid configuration key no_such"


def test_types_are_in_kafkas_order_and_the_last_name_of_a_type_counts() -> None:
    [change] = changes([entry(("user", "u"), ("client-id", "a"), ("client-id", "b"))], current)
    assert list(change.entity.items()) == [("client-id", "b"), ("user", "u")]


def test_entity_or_key_that_is_named_twice_is_refused() -> None:
    twice = [entry(("user", None), ("client-id", "a"), producer_byte_rate=1.0)] * 2
    text = "Ignoring duplicate entity ClientQuotaEntity(entries={client-id=a, user=null})"
    [change] = changes(twice, current)
    assert change.quotas is None and change.problem == text
    same_key = EntryData([EntityData("client-id", "a")], [OpData("producer_byte_rate", 1.0)] * 2)
    [change] = changes([same_key], current)
    assert change.problem == "Ignoring duplicate entity ClientQuotaEntity(entries={client-id=a})"
