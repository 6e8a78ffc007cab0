"""Settings of the store, compared with RocketMQ's."""

from mqgateway.engine.options import BrokerRole, FlushDiskType, OptionSet, Setting, StoreOptions
from tests.support.engine.options.standard import differences


def test_every_property_is_known_by_type_and_default() -> None:
    """The port for slaves is set by RocketMQ's start-up code."""
    assert differences(OptionSet(StoreOptions()), "MessageStoreConfig") == {"haListenPort": "0"}


def test_enumerations_compare_with_their_names() -> None:
    options = StoreOptions(flush_disk_type=FlushDiskType.SYNC_FLUSH)
    assert options.flush_disk_type == "SYNC_FLUSH"
    assert options.broker_role is BrokerRole.ASYNC_MASTER


def test_promises_that_cannot_be_kept_are_refused() -> None:
    (problem,) = OptionSet(StoreOptions()).apply([Setting("storeType", "defaultRocksDB")])
    assert problem.severity == "error"


def test_paths_of_version_4_are_accepted() -> None:
    keys = ("storePathConsumeQueue", "storePathIndex", "storeCheckpoint", "abortFile")
    problems = OptionSet(StoreOptions()).apply([Setting(key, "/data/x") for key in keys])
    assert {problem.severity for problem in problems} == {"warning"}
