"""The common environment of subsystems."""

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.message import pack_host
from mqgateway.engine.options import BrokerOptions, StoreOptions
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import InlineWorker
from mqgateway.gateway.broker.environment import BrokerEnvironment


def environment(host: str = "10.0.0.1") -> BrokerEnvironment:
    options = BrokerOptions(broker_ip1=host, broker_ip2="10.0.0.2")
    store_options = StoreOptions(store_path_root_dir="/store")
    return BrokerEnvironment(
        options, store_options, CrashDisk(), ManualClock(), InlineWorker(), port=10911, ha_port=10912
    )


def test_clients_and_slaves_have_separate_addresses() -> None:
    made = environment()
    assert (made.address, made.ha_address) == ("10.0.0.1:10911", "10.0.0.2:10912")


def test_tables_have_rocketmqs_paths() -> None:
    assert environment().path("checkpoint") == "/store/checkpoint"
    assert environment().table_path("topics.json") == "/store/config/topics.json"


def test_store_host_is_the_address_of_clients() -> None:
    assert environment().store_host == pack_host("10.0.0.1", 10911)


def test_configured_host_name_is_resolved() -> None:
    assert environment("localhost").store_host == pack_host("127.0.0.1", 10911)


def test_unresolvable_host_name_is_an_error() -> None:
    with pytest.raises(OSError):
        environment("no-such-host.invalid")
