"""Settings of a controller. Standard: `ControllerConfig`, `JraftConfig`."""

from mqgateway.engine.options import checks
from mqgateway.engine.options.accepted import CONTROLLER_ACCEPTED
from mqgateway.engine.options.access import AccessOptions
from mqgateway.engine.options.logs import LogOptions
from mqgateway.engine.options.metrics import ExporterOptions
from mqgateway.engine.options.option import Effect, option
from mqgateway.engine.options.reasons import NO_JRAFT


class ControllerOptions(LogOptions, AccessOptions, ExporterOptions):
    """All settings of a controller but those of its connections."""

    rocketmq_home: str = option("", "Installation folder.", no_effect="nothing is read from it")
    config_store_path: str = option(
        "",
        "File that changed settings are written to; empty: in controller of the home folder.",
        effect=Effect.FIXED,
    )
    controller_type: str = option(
        "DLedger",
        "How several controllers agree, with the standard.",
        unavailable={"jRaft": NO_JRAFT},
        effect=Effect.RESTART,
        check=checks.one_of("DLedger", "jRaft"),
    )
    controller_d_leger_group: str = option("", "Name that brokers and tools are told.", effect=Effect.RESTART)
    controller_d_leger_peers: str = option(
        "",
        "All controllers as id-host:port, separated by semicolons; this one's says where it listens.",
        effect=Effect.RESTART,
    )
    controller_d_leger_self_id: str = option("", "Which of them this one is.", effect=Effect.RESTART)
    controller_store_path: str = option(
        "",
        "Folder of the broker sets, unless they are in etcd; empty: DLedgerController in the home folder.",
        effect=Effect.FIXED,
    )
    scan_not_active_broker_interval: int = option(
        5000, "Time between looks for silent brokers, at most.", unit="ms", low=1
    )
    scan_inactive_master_interval: int = option(
        5000,
        "Time between looks for broker sets whose master is gone.",
        unit="ms",
        low=1,
        effect=Effect.RESTART,
    )
    elect_master_max_retry_count: int = option(3, "Tries of an election that could not be agreed.", low=1)
    enable_elect_unclean_master: bool = option(
        False, "Make master also who is not in sync, when nobody else is there; messages may be lost."
    )
    notify_broker_role_changed: bool = option(True, "Tell brokers of a new master before they ask.")
    controller_etcd_endpoints: str = option(
        "",
        "Where several controllers keep the broker sets: all servers of an etcd, as http://host:port or "
        "https://host:port, separated by semicolons; empty: this controller is alone, and has a file.",
        ours=True,
        effect=Effect.RESTART,
    )
    controller_etcd_lease_seconds: int = option(
        5,
        "How long a controller that is gone stays the leader in etcd.",
        unit="s",
        low=2,
        high=60,
        ours=True,
        effect=Effect.RESTART,
    )
    controller_etcd_user: str = option(
        "", "User of etcd, where it asks for one.", ours=True, effect=Effect.RESTART
    )
    controller_etcd_password: str = option(
        "", "That user's password.", ours=True, secret=True, effect=Effect.RESTART
    )
    controller_etcd_ca_file: str = option(
        "",
        "Authorities (PEM) for certificates of etcd; empty: those of the system.",
        ours=True,
        effect=Effect.RESTART,
    )
    controller_etcd_cert_file: str = option(
        "", "Certificate (PEM) that is shown to etcd.", ours=True, effect=Effect.RESTART
    )
    controller_etcd_key_file: str = option("", "Its private key (PEM).", ours=True, effect=Effect.RESTART)
    config_black_list: str = option(
        "configBlackList;configStorePath",
        "Properties that requests may not change, separated by semicolons.",
        effect=Effect.FIXED,
    )
    max_brokers: int = option(10000, "Replicas that may be known, and heard of.", low=1, ours=True)

    also_accepted = CONTROLLER_ACCEPTED
