"""Settings of a name server. Standard: `NamesrvConfig`."""

from mqgateway.engine.options.accepted import NAMESRV_ACCEPTED
from mqgateway.engine.options.access import AccessOptions
from mqgateway.engine.options.logs import LogOptions
from mqgateway.engine.options.metrics import ExporterOptions
from mqgateway.engine.options.option import Effect, option


class NamesrvOptions(LogOptions, AccessOptions, ExporterOptions):
    """All settings of a name server except those of its connections."""

    rocketmq_home: str = option("", "Installation folder.", no_effect="nothing is read from it")
    kv_config_path: str = option(
        "",
        "File of the key-value table. Empty: a file in the folder namesrv of the home folder.",
        effect=Effect.FIXED,
    )
    config_store_path: str = option(
        "",
        "File that changed settings are written to. Empty: a file in the folder namesrv of the home folder.",
        effect=Effect.FIXED,
    )
    product_env_name: str = option("center", "Name of the environment.", no_effect="it is only shown")
    cluster_test: bool = option(
        False,
        "Query another name server for unknown topics.",
        no_effect="a name server knows its own brokers",
    )
    order_message_enable: bool = option(False, "Add a topic's order configuration to its route.")
    return_order_topic_config_to_broker: bool = option(
        True, "Return the table of order configurations to brokers when they register."
    )
    scan_not_active_broker_interval: int = option(
        5000,
        "Interval between checks for brokers without heartbeats.",
        unit="ms",
        low=1,
        effect=Effect.RESTART,
    )
    support_acting_master: bool = option(
        False, "Return a slave in the route of a topic whose master is lost."
    )
    notify_min_broker_id_changed: bool = option(
        False, "Notify brokers when the lowest id in their broker set changes."
    )
    enable_all_topic_list: bool = option(True, "Answer requests for all topics.")
    enable_topic_list: bool = option(True, "Answer requests for the topics of a cluster or unit.")
    enable_controller_in_namesrv: bool = option(
        False,
        "Run a controller in the same process, on the port in controllerDLegerPeers.",
        effect=Effect.RESTART,
    )
    need_wait_for_service: bool = option(False, "Return no routes for waitSecondsForService after start.")
    wait_seconds_for_service: int = option(
        45, "Time without routes after start, with needWaitForService.", unit="s"
    )
    delete_topic_with_broker_registration: bool = option(
        False, "Remove a topic from the routes when its broker no longer registers it."
    )
    config_black_list: str = option(
        "configBlackList;configStorePath;kvConfigPath",
        "Properties that requests may not change, separated by semicolons.",
        effect=Effect.FIXED,
    )
    max_brokers: int = option(10000, "Maximum number of registered brokers.", low=1, ours=True)
    max_topics: int = option(500000, "Maximum number of registered topics.", low=1, ours=True)
    max_queue_data: int = option(
        2000000, "Maximum number of registered (topic, broker) pairs.", low=1, ours=True
    )
    max_registration_size: int = option(
        64 * 1024**2, "Maximum decompressed size of a registration's body.", unit="bytes", low=1024, ours=True
    )
    max_kv_entries: int = option(
        100000, "Maximum number of entries in the key-value table.", low=1, ours=True
    )
    max_kv_entry_length: int = option(
        65536, "Maximum number of characters in one entry of the key-value table.", low=1, ours=True
    )
    max_kv_size: int = option(
        16 * 1024**2, "Maximum number of characters in all entries of the key-value table.", low=1, ours=True
    )

    also_accepted = NAMESRV_ACCEPTED
