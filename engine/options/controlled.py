"""Settings of a broker whose role a controller decides. Standard: `BrokerConfig`."""

from mqgateway.engine.options import checks
from mqgateway.engine.options.option import Effect, option
from mqgateway.engine.options.option_set import Options
from mqgateway.engine.options.reasons import NO_LOOKUP


class ControlledOptions(Options):
    """A broker and its controller."""

    enable_controller_mode: bool = option(
        False,
        "Let a controller choose the master; brokerRole and brokerId have no effect then.",
        effect=Effect.RESTART,
    )
    controller_addr: str = option(
        "", "Controllers as host:port, separated by semicolons.", check=checks.addresses(9878)
    )
    fetch_controller_addr_by_dns_lookup: bool = option(
        False, "Find controllers by a domain.", unavailable={"true": NO_LOOKUP}, effect=Effect.RESTART
    )
    controller_heart_beat_timeout_mills: int = option(
        10000,
        "Silence after which the controller elects another master; a master stops before.",
        unit="ms",
        low=1000,
    )
    prompt_heart_beat_timeout_mills: int = option(
        2500,
        "The same, where it is less, of a broker whose replicas in sync all show several times a second that "
        "they are there, as those of this project do; after it a master also has a silent one left out.",
        unit="ms",
        low=2000,
        ours=True,
    )
    sync_controller_metadata_period: int = option(
        10000, "Time between questions which controller leads.", unit="ms", low=1
    )
    sync_broker_metadata_period: int = option(5000, "Time between questions who is master.", unit="ms", low=1)
    check_sync_state_set_period: int = option(
        5000, "Time between a master's looks for replicas that do not keep up.", unit="ms", low=1
    )
    broker_election_priority: int = option(
        2**31 - 1, "Of equal candidates for master the one with the least wins."
    )
    enable_master_lease: bool = option(
        True,
        "Let a master acknowledge nothing once it may have a successor; false: as the standard's brokers, "
        "which can lose what a master acknowledges that was frozen.",
        ours=True,
        effect=Effect.RESTART,
    )
