"""Settings of replication have RocketMQ's names and take effect."""

import pytest

from mqgateway.engine.options import BrokerRole, OptionSet, Setting, StoreOptions


@pytest.mark.parametrize(
    ("key", "value"),
    [("brokerRole", "SLAVE"), ("brokerRole", "SYNC_MASTER"), ("inSyncReplicas", "3"), ("haListenPort", "1")],
)
def test_settings_of_replication_are_taken(key: str, value: str) -> None:
    options = OptionSet(StoreOptions())
    assert options.apply([Setting(key, value)]) == []
    assert str(options.get(key)) == value


def test_broker_is_a_master_that_waits_for_no_replica() -> None:
    options = StoreOptions()
    assert (options.broker_role, options.in_sync_replicas) == (BrokerRole.ASYNC_MASTER, 1)
