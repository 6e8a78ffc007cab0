"""Settings of a DLedger group have RocketMQ's names and take effect."""

import pytest

from mqgateway.engine.options import OptionSet, Setting, StoreOptions


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("enableDLegerCommitLog", "True"),
        ("dLegerGroup", "broker-a"),
        ("dLegerPeers", "n0-10.0.0.1:40911;n1-10.0.0.2:40911"),
        ("dLegerSelfId", "n1"),
        ("preferredLeaderId", "n0;n1"),
        ("enableBatchPush", "True"),
        ("storePathDLedgerCommitLog", "/disk/entries"),
    ],
)
def test_settings_of_a_group_are_taken(key: str, value: str) -> None:
    options = OptionSet(StoreOptions())
    assert options.apply([Setting(key, value)]) == []
    assert str(options.get(key)) == value


def test_a_broker_is_in_no_group() -> None:
    assert not StoreOptions().enable_d_leger_commit_log
