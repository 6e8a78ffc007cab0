"""Quotas of Kafka clients in a broker."""

from __future__ import annotations

import pytest

from mqgateway.engine.tables.client_quotas import ENTITIES_MAX, ClientQuotas
from mqgateway.gateway.broker.operations import OperationError, Use
from tests.support.gateway.broker.operating import OperatedBroker

LIMITS = {"producer_byte_rate": 1.0}


def test_entity_without_limits_is_removed() -> None:
    operations = OperatedBroker().operations
    permit, quotas = operations.gate.internal(Use.CONFIGURE), operations.client_quotas
    first, second = ClientQuotas({"user": "u"}, LIMITS), ClientQuotas({"client-id": None}, LIMITS)
    before = quotas.version
    quotas.put(permit, [first, second])
    assert list(quotas.all()) == [first, second] and quotas.version != before
    quotas.put(permit, [ClientQuotas({"user": "u"}), ClientQuotas({"user": "v"})])
    assert list(quotas.all()) == [second]
    assert quotas.get({"client-id": None}) == second
    assert quotas.get({"user": "u"}) == ClientQuotas({"user": "u"})


def test_number_of_entities_is_limited() -> None:
    operations = OperatedBroker().operations
    permit, quotas = operations.gate.internal(Use.CONFIGURE), operations.client_quotas
    quotas.put(permit, [ClientQuotas({"user": str(number)}, LIMITS) for number in range(ENTITIES_MAX)])
    with pytest.raises(OperationError, match="No more than 10000"):
        quotas.put(permit, [ClientQuotas({"user": "more"}, LIMITS)])
    quotas.put(permit, [ClientQuotas({"user": "0"}, {"producer_byte_rate": 2.0})])
    assert len(quotas.all()) == ENTITIES_MAX
