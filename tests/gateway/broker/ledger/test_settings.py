"""Settings of a group, and the refusal of invalid ones."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import BrokerOptions, StoreOptions
from mqgateway.gateway.broker.ledger.settings import follower_id, ledger_folder, member_settings

PEERS = "n0-10.0.0.1:40911;n1-10.0.0.2:40911;n2-10.0.0.3:40911"
SAID: dict[str, Any] = {"d_leger_peers": PEERS, "d_leger_self_id": "n1"}


def test_group_is_read_from_the_settings() -> None:
    store_options = StoreOptions(**SAID, preferred_leader_id="n2;n0", enable_batch_push=True)
    settings = member_settings(BrokerOptions(broker_name="b1"), store_options)
    assert (settings.group, settings.self_id, settings.preferred_leaders) == ("b1", "n1", ("n2", "n0"))
    assert settings.peers["n2"] == "10.0.0.3:40911"
    assert settings.batch_push
    named = member_settings(BrokerOptions(), StoreOptions(**SAID, d_leger_group="g"))
    assert named.group == "g"


def test_ids_and_folders_are_the_standard_s() -> None:
    assert [follower_id(one) for one in ("n0", "n2", "b10")] == [1, 3, 11]
    options = StoreOptions(**SAID, store_path_root_dir="/store")
    assert ledger_folder(options) == "/store/dledger-n1"


@pytest.mark.parametrize(
    ("store", "broker", "what"),
    [
        ({"d_leger_peers": ""}, {}, "name the members of the group"),
        ({"d_leger_self_id": "n7"}, {}, "dLegerSelfId=n7"),
        ({"d_leger_peers": "broker-10.0.0.1:1", "d_leger_self_id": "broker"}, {}, "a letter and a number"),
        ({"preferred_leader_id": "n9"}, {}, "preferredLeaderId=n9"),
        ({"store_path_d_ledger_commit_log": "/a,/b"}, {}, "one folder"),
        ({}, {"enable_controller_mode": True}, "enableControllerMode"),
        ({}, {"enable_slave_acting_master": True}, "enableSlaveActingMaster"),
    ],
)
def test_invalid_settings_are_refused(store: dict[str, Any], broker: dict[str, Any], what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        member_settings(BrokerOptions(**broker), StoreOptions(**SAID | store))
