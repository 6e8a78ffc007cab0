"""Settings of a name server. Standard: `NamesrvConfig`."""

from mqgateway.engine.options.accepted import NAMESRV_ACCEPTED
from mqgateway.engine.options.access import AccessOptions
from mqgateway.engine.options.logs import LogOptions
from mqgateway.engine.options.metrics import ExporterOptions
from mqgateway.engine.options.option import Effect, option


class NamesrvOptions(LogOptions, AccessOptions, ExporterOptions):
    """All settings of a name server but those of its connections."""

    rocketmq_home: str = option("", "Installation folder.", no_effect="nothing is read from it")
    kv_config_path: str = option(
        "", "File of the key-value table; empty: in namesrv of the home folder.", effect=Effect.FIXED
    )
    config_store_path: str = option(
        "", "File that changed settings are written to; empty: as above.", effect=Effect.FIXED
    )
    product_env_name: str = option("center", "Name of the environment.", no_effect="it is only shown")
    cluster_test: bool = option(
        False, "Ask another name server for unknown topics.", no_effect="a name server knows its own brokers"
    )
    order_message_enable: bool = option(False, "Add the order configuration of a topic to its route.")
    return_order_topic_config_to_broker: bool = option(
        True, "Give brokers the table of order configurations when they register."
    )
    scan_not_active_broker_interval: int = option(
        5000,
        "Time between looks for silent brokers.",
        unit="ms",
        low=1,
        effect=Effect.RESTART,
    )
    support_acting_master: bool = option(False, "Let the route of a lost master lead to a slave.")
    notify_min_broker_id_changed: bool = option(
        False, "Tell brokers when the least id of their name changes."
    )
    enable_all_topic_list: bool = option(True, "Answer requests for all topics.")
    enable_topic_list: bool = option(True, "Answer requests for the topics of a cluster or unit.")
    enable_controller_in_namesrv: bool = option(
        False,
        "Run a controller too, on the port that controllerDLegerPeers gives it.",
        effect=Effect.RESTART,
    )
    need_wait_for_service: bool = option(False, "Answer no route for a while after the start.")
    wait_seconds_for_service: int = option(45, "How long.", unit="s")
    delete_topic_with_broker_registration: bool = option(
        False, "Forget a topic that a broker no longer registers."
    )
    config_black_list: str = option(
        "configBlackList;configStorePath;kvConfigPath",
        "Properties that requests may not change, separated by semicolons.",
        effect=Effect.FIXED,
    )
    max_brokers: int = option(10000, "Brokers that may be registered.", low=1, ours=True)
    max_topics: int = option(500000, "Topics that may be registered.", low=1, ours=True)
    max_queue_data: int = option(
        2000000, "Pairs of topic and broker that may be registered.", low=1, ours=True
    )
    max_registration_size: int = option(
        64 * 1024**2, "Inflated length of a registration's body.", unit="bytes", low=1024, ours=True
    )
    max_kv_entries: int = option(100000, "Entries of the key-value table.", low=1, ours=True)
    max_kv_entry_length: int = option(65536, "Characters of one entry.", low=1, ours=True)
    max_kv_size: int = option(16 * 1024**2, "Characters of all entries.", low=1, ours=True)

    also_accepted = NAMESRV_ACCEPTED
