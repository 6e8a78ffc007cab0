"""Settings of lite topics, small topics inside a parent topic. Standard: `BrokerConfig`."""

from mqgateway.engine.options.option import LONG_MAX, option
from mqgateway.engine.options.option_set import Options


class LiteOptions(Options):
    """Events for clients, and expiry of lite topics and subscriptions."""

    enable_lite_event_mode: bool = option(
        True,
        "Notify clients of lite topics that have messages. False: each pop scans all subscribed lite topics.",
    )
    lite_event_check_interval: int = option(
        10000,
        "Interval between checks for clients that have pending events and do not pop.",
        unit="ms",
        low=1,
        high=LONG_MAX,
    )
    max_client_event_count: int = option(
        100,
        "Maximum number of lite topics with pending events of a client, unless its group sets another "
        "number.",
        low=1,
    )
    lite_event_full_dispatch_delay_time: int = option(
        10000, "Delay before a client whose events overflowed is notified again.", unit="ms", high=LONG_MAX
    )
    lite_event_full_dispatch_delay_time_for_wildcard_group: int = option(
        10000, "The same delay for groups that read every lite topic.", unit="ms", high=LONG_MAX
    )
    lite_subscription_check_interval: int = option(
        120000, "Interval between checks for clients without heartbeats.", unit="ms", low=1, high=LONG_MAX
    )
    lite_subscription_check_timeout_mills: int = option(
        180000,
        "Time without a heartbeat after which the subscriptions of a client are removed.",
        unit="ms",
        low=1,
        high=LONG_MAX,
    )
    max_lite_subscription_count: int = option(
        100000, "Maximum number of (client, lite topic) subscriptions.", low=1
    )
    lite_ttl_check_interval: int = option(
        120000, "Interval between checks for expired lite topics.", unit="ms", low=1, high=LONG_MAX
    )
    min_lite_t_tl: int = option(
        900000,
        "Minimum lifetime of a lite topic, and delay of the first expiry check.",
        unit="ms",
        name="minLiteTTl",
        high=LONG_MAX,
    )
