"""Quotas of Kafka clients, and their file."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.tables.client_quotas import ClientQuotas, ClientQuotasTable, entity_key
from mqgateway.engine.testing.crash_disk import CrashDisk

PATH = "/config/kafkaClientQuotas.json"
OF_DEFAULT = ClientQuotas({"client-id": None}, {"producer_byte_rate": 1000.0})
OF_BOTH = ClientQuotas({"client-id": "a", "user": "ü"}, {"request_percentage": 12.5})


def test_quotas_survive_a_restart() -> None:
    disk = CrashDisk()
    table = ClientQuotasTable(disk, PATH, ManualClock())
    table.put(OF_DEFAULT, OF_BOTH, ClientQuotas({"ip": "::1"}, {"connection_creation_rate": 1.0}))
    table.delete(entity_key({"ip": "::1"}))
    table.close()
    after = ClientQuotasTable(disk, PATH, ManualClock())
    after.load()
    assert {one.key: one for one in after.all()} == {one.key: one for one in (OF_DEFAULT, OF_BOTH)}
    assert after.get(OF_BOTH.key) == OF_BOTH


def test_order_of_types_makes_no_other_entity() -> None:
    assert entity_key({"user": "u", "client-id": "c"}) == entity_key({"client-id": "c", "user": "u"})
    assert entity_key({"user": None}) != entity_key({"user": "null"})


@pytest.mark.parametrize("limit", [0, -1, "1", True, None])
def test_limits_of_the_file_are_checked(limit: Any) -> None:
    with pytest.raises(ConfigError, match="request_percentage is not a number above zero"):
        ClientQuotas.from_json({"names": {"user": "u"}, "limits": {"request_percentage": limit}})
