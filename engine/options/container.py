"""Settings of a broker container. Standard: `BrokerContainerConfig`."""

from mqgateway.engine.options import checks
from mqgateway.engine.options.access import AccessOptions
from mqgateway.engine.options.logs import LogOptions
from mqgateway.engine.options.metrics import HealthOptions
from mqgateway.engine.options.option import Effect, option
from mqgateway.engine.options.reasons import NO_LOOKUP


class ContainerOptions(LogOptions, AccessOptions, HealthOptions):
    """All settings of a container but those of its connections, which its brokers have too."""

    rocketmq_home: str = option("", "Installation folder.", no_effect="nothing is read from it")
    namesrv_addr: str = option(
        "",
        "Name servers of all brokers as host:port, separated by semicolons; empty: each says its own.",
        check=checks.addresses(9876),
    )
    broker_container_ip: str = option(
        "",
        "Address the container is shown with; empty: the first local one.",
        name="brokerContainerIP",
        effect=Effect.RESTART,
        check=checks.host,
    )
    broker_config_paths: str = option(
        "", "Files of the brokers to start with, separated by colons.", effect=Effect.FIXED
    )
    fetch_name_srv_addr_by_dns_lookup: bool = option(
        False, "Read namesrvAddr as a name to look up again and again.", no_effect=NO_LOOKUP
    )
    fetch_namesrv_addr_by_address_server: bool = option(
        False, "Ask a web address for the name servers.", no_effect=NO_LOOKUP
    )
    fetch_namesrv_addr_interval: int = option(
        10000, "Time between such questions.", unit="ms", no_effect=NO_LOOKUP
    )
    update_namesrv_addr_interval: int = option(
        120000,
        "Time until a changed namesrvAddr is used.",
        unit="ms",
        no_effect="it is told to the brokers at once",
    )
    config_black_list: str = option(
        "configBlackList;brokerConfigPaths",
        "Properties that requests may not change, separated by semicolons.",
        effect=Effect.FIXED,
    )
    max_brokers: int = option(64, "Brokers that may be added.", low=1, ours=True)
    broker_restart_delay: int = option(
        1000,
        "Wait before a broker that ended by itself is started again; twice as long each time it fails.",
        unit="ms",
        low=1,
        ours=True,
    )
    broker_restart_delay_max: int = option(60000, "The longest such wait.", unit="ms", low=1, ours=True)
    broker_stop_timeout: int = option(
        60000, "How long a broker may take to stop before it is killed.", unit="ms", low=1, ours=True
    )
