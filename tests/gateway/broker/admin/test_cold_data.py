"""Thresholds of cold reads, set by operation."""

import pytest

from mqgateway.gateway.broker.admin import cold_data
from mqgateway.gateway.broker.errors import OperationError, Reason
from tests.support.gateway.broker.admin import AdminBroker


def test_thresholds_are_set_and_removed() -> None:
    broker = AdminBroker().broker
    cold_data.set_thresholds(broker, {"g": 1000, "h": 5})
    cold_data.remove_threshold(broker, "g")
    assert cold_data.cold_data(broker)["configTable"] == {"h": 5}


@pytest.mark.parametrize("thresholds", [{"g" * 2000: 1}, {"g": 1, "h": 2}])
def test_names_and_numbers_of_groups_have_limits(thresholds: dict[str, int]) -> None:
    memory = AdminBroker(options={"max_groups": 1})
    with pytest.raises(OperationError) as refused:
        cold_data.set_thresholds(memory.broker, thresholds)
    assert refused.value.reason is Reason.SYSTEM_ERROR


def test_read_ahead_is_switched() -> None:
    memory = AdminBroker()
    for is_on in (False, True):
        cold_data.set_read_ahead(memory.broker, is_on)
        assert memory.store_options.data_read_ahead_enable is is_on
