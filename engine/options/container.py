"""Settings of a broker container. Standard: `BrokerContainerConfig`."""

from mqgateway.engine.options import checks
from mqgateway.engine.options.access import AccessOptions
from mqgateway.engine.options.logs import LogOptions
from mqgateway.engine.options.metrics import HealthOptions
from mqgateway.engine.options.option import Effect, option
from mqgateway.engine.options.option_set import Options
from mqgateway.engine.options.reasons import NO_LOOKUP

START_TIMEOUT_MILLIS = 300_000
"""Default of `brokerStartTimeout`, in ms."""


class SupervisionOptions(Options):
    """Number, restarts and stops of the brokers that a parent process runs."""

    max_brokers: int = option(64, "Maximum number of brokers in the container.", low=1, ours=True)
    broker_restart_delay: int = option(
        1000,
        "Delay before a crashed broker is restarted. It doubles with each failure.",
        unit="ms",
        low=1,
        ours=True,
    )
    broker_restart_delay_max: int = option(
        60000, "Maximum delay before a restart.", unit="ms", low=1, ours=True
    )
    broker_stop_timeout: int = option(
        60000, "Time that a broker has to stop before it is killed.", unit="ms", low=1, ours=True
    )
    broker_start_timeout: int = option(
        START_TIMEOUT_MILLIS,
        "Time that a starting broker may make no progress before it is killed. Progress is a further percent "
        "of its log that is recovered.",
        unit="ms",
        low=1,
        ours=True,
    )


class ContainerOptions(LogOptions, AccessOptions, HealthOptions, SupervisionOptions):
    """All settings of a container except those of its connections, which its brokers share."""

    rocketmq_home: str = option("", "Installation folder.", no_effect="nothing is read from it")
    namesrv_addr: str = option(
        "",
        "Name servers of all brokers as host:port, separated by semicolons. Empty: each broker uses its "
        "own setting.",
        check=checks.addresses(9876),
    )
    broker_container_ip: str = option(
        "",
        "Address that is shown for the container. Empty: the first local address.",
        name="brokerContainerIP",
        effect=Effect.RESTART,
        check=checks.host,
    )
    broker_config_paths: str = option(
        "", "Configuration files of the brokers to start, separated by colons.", effect=Effect.FIXED
    )
    fetch_name_srv_addr_by_dns_lookup: bool = option(
        False, "Resolve namesrvAddr repeatedly as a DNS name.", no_effect=NO_LOOKUP
    )
    fetch_namesrv_addr_by_address_server: bool = option(
        False, "Fetch name server addresses from a web address.", no_effect=NO_LOOKUP
    )
    fetch_namesrv_addr_interval: int = option(
        10000, "Interval between fetches of name server addresses.", unit="ms", no_effect=NO_LOOKUP
    )
    update_namesrv_addr_interval: int = option(
        120000,
        "Delay before a changed namesrvAddr is used.",
        unit="ms",
        no_effect="brokers are notified at once",
    )
    config_black_list: str = option(
        "configBlackList;brokerConfigPaths",
        "Properties that requests may not change, separated by semicolons.",
        effect=Effect.FIXED,
    )
