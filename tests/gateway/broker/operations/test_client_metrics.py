"""Client-metrics resources of a broker."""

from __future__ import annotations

import pytest

from mqgateway.engine.tables.client_metrics import RESOURCES_MAX
from mqgateway.gateway.broker.operations import OperationError, Use
from tests.support.gateway.broker.operating import OperatedBroker


def test_resource_without_settings_is_deleted() -> None:
    operations = OperatedBroker().operations
    permit = operations.gate.internal(Use.CONFIGURE)
    operations.client_metrics.put(permit, "b", {"metrics": "x"})
    operations.client_metrics.put(permit, "a", {"metrics": "y"})
    assert operations.client_metrics.names() == ["a", "b"]
    assert operations.client_metrics.configs("a") == {"metrics": "y"}
    operations.client_metrics.put(permit, "a", {})
    assert operations.client_metrics.names() == ["b"] and not operations.client_metrics.configs("a")


def test_number_of_resources_is_limited() -> None:
    operations = OperatedBroker().operations
    permit = operations.gate.internal(Use.CONFIGURE)
    for number in range(RESOURCES_MAX):
        operations.client_metrics.put(permit, str(number), {"metrics": "x"})
    with pytest.raises(OperationError, match="already"):
        operations.client_metrics.put(permit, "more", {"metrics": "x"})
    operations.client_metrics.put(permit, "0", {"metrics": "y"})
    assert operations.client_metrics.configs("0") == {"metrics": "y"}
