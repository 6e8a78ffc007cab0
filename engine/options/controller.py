"""Settings of a controller. Standard: `ControllerConfig`, `JraftConfig`."""

from mqgateway.engine.options import checks
from mqgateway.engine.options.accepted import CONTROLLER_ACCEPTED
from mqgateway.engine.options.access import AccessOptions
from mqgateway.engine.options.logs import LogOptions
from mqgateway.engine.options.metrics import ExporterOptions
from mqgateway.engine.options.option import Effect, option
from mqgateway.engine.options.reasons import NO_JRAFT


class ControllerOptions(LogOptions, AccessOptions, ExporterOptions):
    """All settings of a controller except those of its connections."""

    rocketmq_home: str = option("", "Installation folder.", no_effect="nothing is read from it")
    config_store_path: str = option(
        "",
        "File that changed settings are written to. Empty: a file in the folder controller of the home "
        "folder.",
        effect=Effect.FIXED,
    )
    controller_type: str = option(
        "DLedger",
        "Consensus protocol of Apache's controllers. Only DLedger is accepted.",
        unavailable={"jRaft": NO_JRAFT},
        effect=Effect.RESTART,
        check=checks.one_of("DLedger", "jRaft"),
    )
    controller_d_leger_group: str = option(
        "", "Group name that brokers and tools see.", effect=Effect.RESTART
    )
    controller_d_leger_peers: str = option(
        "",
        "All controllers as id-host:port, separated by semicolons. The entry of this controller sets its "
        "port.",
        effect=Effect.RESTART,
    )
    controller_d_leger_self_id: str = option(
        "", "Id of this controller in controllerDLegerPeers.", effect=Effect.RESTART
    )
    controller_store_path: str = option(
        "",
        "Folder of the broker sets, unless etcd stores them. Empty: DLedgerController in the home folder.",
        effect=Effect.FIXED,
    )
    scan_not_active_broker_interval: int = option(
        5000, "Maximum interval between checks for brokers without heartbeats.", unit="ms", low=1
    )
    scan_inactive_master_interval: int = option(
        5000,
        "Interval between checks for broker sets without a master.",
        unit="ms",
        low=1,
        effect=Effect.RESTART,
    )
    elect_master_max_retry_count: int = option(
        3, "Maximum number of attempts of an election that could not be committed.", low=1
    )
    enable_elect_unclean_master: bool = option(
        False,
        "Allow unclean election: elect an out-of-sync replica if no in-sync replica is alive. Messages "
        "may be lost.",
    )
    notify_broker_role_changed: bool = option(
        True, "Notify brokers of a new master at once. False: they learn of it when they query."
    )
    controller_etcd_endpoints: str = option(
        "",
        "etcd servers that store the broker sets of several controllers, as http://host:port or "
        "https://host:port, separated by semicolons. Empty: a single controller with a local file.",
        ours=True,
        effect=Effect.RESTART,
    )
    controller_etcd_lease_seconds: int = option(
        5,
        "Lease of the leading controller in etcd. After a crash the next leader waits this long.",
        unit="s",
        low=2,
        high=60,
        ours=True,
        effect=Effect.RESTART,
    )
    controller_etcd_user: str = option(
        "", "User name for etcd. Empty: no authentication.", ours=True, effect=Effect.RESTART
    )
    controller_etcd_password: str = option(
        "", "Password of controllerEtcdUser.", ours=True, secret=True, effect=Effect.RESTART
    )
    controller_etcd_ca_file: str = option(
        "",
        "CA certificates (PEM) that verify etcd. Empty: those of the system.",
        ours=True,
        effect=Effect.RESTART,
    )
    controller_etcd_cert_file: str = option(
        "", "Client certificate (PEM) for etcd.", ours=True, effect=Effect.RESTART
    )
    controller_etcd_key_file: str = option(
        "", "Private key (PEM) of controllerEtcdCertFile.", ours=True, effect=Effect.RESTART
    )
    config_black_list: str = option(
        "configBlackList;configStorePath",
        "Properties that requests may not change, separated by semicolons.",
        effect=Effect.FIXED,
    )
    max_brokers: int = option(10000, "Maximum number of registered replicas.", low=1, ours=True)

    also_accepted = CONTROLLER_ACCEPTED
