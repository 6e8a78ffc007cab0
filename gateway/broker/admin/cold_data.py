"""Limits of reading old data by group, and read-ahead of data from the disk.

RocketMQ: `AdminBrokerProcessor`, `ColdDataCgCtrService`.
"""

from collections.abc import Mapping
from typing import Any

from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.errors import OperationError, Reason


def set_thresholds(broker: Broker, thresholds: Mapping[str, int]) -> None:
    """Set how many bytes of old data each of these groups may read. Raises `OperationError`."""
    most = broker.options.max_name_length
    if any(len(group) > most for group in thresholds):
        raise OperationError(Reason.SYSTEM_ERROR, f"the name of a group may have {most} characters")
    for group, threshold in thresholds.items():
        if not broker.consume.cold_reads.set_threshold(group, threshold):
            raise OperationError(Reason.SYSTEM_ERROR, "no more thresholds are kept (maxGroups)")


def remove_threshold(broker: Broker, group: str) -> None:
    """Remove a group's threshold, so that the general one applies again."""
    broker.consume.cold_reads.remove_threshold(group)


def cold_data(broker: Broker) -> dict[str, Any]:
    """Return the thresholds and the bytes read, in RocketMQ's form."""
    return broker.consume.cold_reads.to_json()


def set_read_ahead(broker: Broker, is_on: bool) -> None:
    """Switch read-ahead on or off, until the broker stops."""
    broker.store_options.data_read_ahead_enable = is_on
