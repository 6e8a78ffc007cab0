"""Settings of lite topics, small topics inside a parent topic. Standard: `BrokerConfig`."""

from mqgateway.engine.options.option import LONG_MAX, option
from mqgateway.engine.options.option_set import Options


class LiteOptions(Options):
    """Who is told of messages, and what ends when."""

    enable_lite_event_mode: bool = option(
        True, "Tell clients of lite topics with messages; otherwise a pop looks through all it subscribes to."
    )
    lite_event_check_interval: int = option(
        10000, "Time between looks for clients that do not pop.", unit="ms", low=1, high=LONG_MAX
    )
    max_client_event_count: int = option(
        100, "Lite topics a client is told of at once, unless its group says otherwise.", low=1
    )
    lite_event_full_dispatch_delay_time: int = option(
        10000, "After this, a client without room for more is told again.", unit="ms", high=LONG_MAX
    )
    lite_event_full_dispatch_delay_time_for_wildcard_group: int = option(
        10000, "The same for groups that read every lite topic.", unit="ms", high=LONG_MAX
    )
    lite_subscription_check_interval: int = option(
        120000, "Time between looks for clients that are silent.", unit="ms", low=1, high=LONG_MAX
    )
    lite_subscription_check_timeout_mills: int = option(
        180000,
        "Silence after which a client has no subscriptions any more.",
        unit="ms",
        low=1,
        high=LONG_MAX,
    )
    max_lite_subscription_count: int = option(
        100000, "Pairs of a client and a lite topic it subscribes to.", low=1
    )
    lite_ttl_check_interval: int = option(
        120000, "Time between looks for lite topics that have expired.", unit="ms", low=1, high=LONG_MAX
    )
    min_lite_t_tl: int = option(
        900000,
        "Time for which a lite topic is kept in any case, and before the first look.",
        unit="ms",
        name="minLiteTTl",
        high=LONG_MAX,
    )
