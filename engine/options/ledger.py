"""Settings of a broker that is a member of a DLedger group. Standard: `MessageStoreConfig`."""

from mqgateway.engine.options.option import Effect, option
from mqgateway.engine.options.option_set import Options


class LedgerOptions(Options):
    """A broker and the others of its group, who keep one log and elect their leader."""

    enable_d_leger_commit_log: bool = option(
        False,
        "Keep the log in a DLedger group, which elects the master; brokerRole and brokerId have no effect.",
        name="enableDLegerCommitLog",
        effect=Effect.RESTART,
    )
    store_path_d_ledger_commit_log: str = option(
        "",
        "Folder of the entries; empty: dledger-ID/data in the root.",
        name="storePathDLedgerCommitLog",
        effect=Effect.FIXED,
    )
    d_leger_group: str = option(
        "", "Name of the group; empty: the broker's name.", name="dLegerGroup", effect=Effect.RESTART
    )
    d_leger_peers: str = option(
        "",
        "The members, as in n0-10.0.0.1:40911;n1-10.0.0.2:40911;n2-10.0.0.3:40911.",
        name="dLegerPeers",
        effect=Effect.RESTART,
    )
    d_leger_self_id: str = option(
        "", "Which of the members this is, as in n0.", name="dLegerSelfId", effect=Effect.RESTART
    )
    preferred_leader_id: str = option(
        "",
        "Members, separated by semicolons, that others hand leadership over to.",
        effect=Effect.RESTART,
    )
    enable_batch_push: bool = option(
        False, "Push several small entries to a member at once.", effect=Effect.RESTART
    )
