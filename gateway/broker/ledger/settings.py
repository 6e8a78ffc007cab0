"""Settings of a broker's DLedger group. RocketMQ: `DLedgerCommitLog`, `BrokerStartup`."""

from __future__ import annotations

import os
import re

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import BrokerOptions, StoreOptions
from mqgateway.engine.raft.settings import MemberSettings, peers_of

_ID = re.compile(r"[a-z][0-9]+", re.ASCII)


def member_settings(options: BrokerOptions, store_options: StoreOptions) -> MemberSettings:
    """Return the settings of the group and of this member. Raises `ConfigError`."""
    peers, own = peers_of(store_options.d_leger_peers), store_options.d_leger_self_id
    if not peers:
        raise ConfigError(
            "dLegerPeers is empty; name the members of the group, as in n0-10.0.0.1:40911;n1-10.0.0.2:40911"
        )
    for one in peers:
        if _ID.fullmatch(one) is None:
            raise ConfigError(f"dLegerPeers: an id is a letter and a number, as in n0, and not {one}")
    if own not in peers:
        raise ConfigError(f"dLegerSelfId={own}: dLegerPeers has no such id")
    preferred = tuple(filter(None, (one.strip() for one in store_options.preferred_leader_id.split(";"))))
    for one in preferred:
        if one not in peers:
            raise ConfigError(f"preferredLeaderId={one}: dLegerPeers has no such id")
    if "," in store_options.store_path_d_ledger_commit_log:
        raise ConfigError("storePathDLedgerCommitLog: entries lie in one folder")
    for is_set, name in (
        (options.enable_controller_mode, "enableControllerMode"),
        (options.enable_slave_acting_master, "enableSlaveActingMaster"),
    ):
        if is_set:
            raise ConfigError(f"{name} and enableDLegerCommitLog: choose one of them")
    return MemberSettings(
        store_options.d_leger_group or options.broker_name,
        own,
        peers,
        preferred,
        batch_push=store_options.enable_batch_push,
    )


def follower_id(self_id: str) -> int:
    """Return the broker id of a member that does not lead. RocketMQ: `DLedgerRoleChangeHandler`."""
    return int(self_id[1:]) + 1


def ledger_folder(store_options: StoreOptions) -> str:
    """Return the path of the member's log folder."""
    return os.path.join(store_options.store_path_root_dir, f"dledger-{store_options.d_leger_self_id}")
