"""Settings of a broker whose role a controller decides. Standard: `BrokerConfig`."""

from mqgateway.engine.options import checks
from mqgateway.engine.options.option import Effect, option
from mqgateway.engine.options.option_set import Options
from mqgateway.engine.options.reasons import NO_LOOKUP


class ControlledOptions(Options):
    """A broker and its controller."""

    enable_controller_mode: bool = option(
        False,
        "Let a controller elect the master. brokerRole and brokerId have no effect then.",
        effect=Effect.RESTART,
    )
    controller_addr: str = option(
        "", "Controllers as host:port, separated by semicolons.", check=checks.addresses(9878)
    )
    fetch_controller_addr_by_dns_lookup: bool = option(
        False, "Resolve controllers by a DNS name.", unavailable={"true": NO_LOOKUP}, effect=Effect.RESTART
    )
    controller_heart_beat_timeout_mills: int = option(
        10000,
        "Time without a heartbeat after which the controller elects another master. A master stops "
        "accepting sends before that.",
        unit="ms",
        low=1000,
    )
    prompt_heart_beat_timeout_mills: int = option(
        2500,
        "Shorter heartbeat timeout for a broker whose in-sync replicas all send frequent heartbeats, as "
        "mqgateway's do. The master also removes a silent replica from the in-sync set after this time.",
        unit="ms",
        low=2000,
        ours=True,
    )
    sync_controller_metadata_period: int = option(
        10000, "Interval between queries for the leading controller.", unit="ms", low=1
    )
    sync_broker_metadata_period: int = option(
        5000, "Interval between queries for the master of the broker set.", unit="ms", low=1
    )
    check_sync_state_set_period: int = option(
        5000, "Interval at which a master checks which replicas are in sync.", unit="ms", low=1
    )
    broker_election_priority: int = option(
        2**31 - 1,
        "Priority in elections: of equal candidates, the one with the lowest number becomes master.",
    )
    enable_master_lease: bool = option(
        True,
        "Stop acknowledging once another master may have been elected. False: as Apache's brokers, where "
        "a paused master can lose acknowledged messages.",
        ours=True,
        effect=Effect.RESTART,
    )
