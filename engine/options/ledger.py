"""Settings of a broker that is a member of a DLedger group. Standard: `MessageStoreConfig`."""

from mqgateway.engine.options.option import Effect, option
from mqgateway.engine.options.option_set import Options


class LedgerOptions(Options):
    """Membership in a DLedger group, which replicates one log and elects its leader."""

    enable_d_leger_commit_log: bool = option(
        False,
        "Replicate the log in a DLedger group, which elects the master. brokerRole and brokerId have no "
        "effect then.",
        name="enableDLegerCommitLog",
        effect=Effect.RESTART,
    )
    store_path_d_ledger_commit_log: str = option(
        "",
        "Folder of the DLedger entries. Empty: dledger-ID/data in storePathRootDir.",
        name="storePathDLedgerCommitLog",
        effect=Effect.FIXED,
    )
    d_leger_group: str = option(
        "", "Name of the DLedger group. Empty: brokerName.", name="dLegerGroup", effect=Effect.RESTART
    )
    d_leger_peers: str = option(
        "",
        "Members of the group, as n0-10.0.0.1:40911;n1-10.0.0.2:40911;n2-10.0.0.3:40911.",
        name="dLegerPeers",
        effect=Effect.RESTART,
    )
    d_leger_self_id: str = option(
        "", "Id of this member in dLegerPeers, as n0.", name="dLegerSelfId", effect=Effect.RESTART
    )
    preferred_leader_id: str = option(
        "",
        "Ids of members, separated by semicolons, to which other members transfer leadership.",
        effect=Effect.RESTART,
    )
    enable_batch_push: bool = option(
        False, "Send several small entries to a follower in one request.", effect=Effect.RESTART
    )
