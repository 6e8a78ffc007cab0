"""Settings of a broker for its clients: connections, assignment of queues, statistics, filters.

Standard: `BrokerConfig`.
"""

from enum import StrEnum

from mqgateway.engine.options.option import LONG_MAX, Effect, option
from mqgateway.engine.options.option_set import Options
from mqgateway.engine.options.reasons import NO_BIT_MAPS, NO_REPLICAS


class RequestMode(StrEnum):
    """Consumption mode of queues that the broker assigned. Standard: `MessageRequestMode`."""

    PULL = "PULL"
    POP = "POP"


class ConnectedClientOptions(Options):
    """Connected producers and consumers."""

    notify_consumer_ids_changed_enable: bool = option(
        True, "Notify the members of a group when a member joins or leaves."
    )
    real_time_notify_consumer_change: bool = option(
        True, "Send these notifications at once. False: at the next heartbeat."
    )
    channel_expired_timeout: int = option(
        120000, "Time without a heartbeat after which a client is removed.", unit="ms", low=1
    )
    subscription_expired_timeout: int = option(
        600000,
        "Time without renewal after which a subscription is removed.",
        unit="ms",
        low=1,
        no_effect="a subscription lives as long as its group",
    )
    enable_register_producer: bool = option(True, "Keep a table of producers.")
    lock_in_strict_mode: bool = option(
        False, "Ask the replicas as well before a queue is locked.", no_effect=NO_REPLICAS
    )
    store_reply_message_enable: bool = option(True, "Store reply messages in addition to forwarding them.")
    max_heartbeat_body_size: int = option(
        4 * 1024**2, "Maximum size of a heartbeat's body.", unit="bytes", low=1, ours=True
    )
    max_heartbeat_parts: int = option(
        100000,
        "Maximum number of commas, brackets and lines in a heartbeat. A subscription without tags has "
        "eleven.",
        low=100,
        ours=True,
    )
    max_list_size: int = option(
        12 * 1024**2,
        "Maximum size of a list of topics or groups to create.",
        unit="bytes",
        low=1024,
        ours=True,
    )
    max_list_parts: int = option(
        300000,
        "Maximum number of commas, brackets and lines in such a list. A topic has ten, a group twenty.",
        low=100,
        ours=True,
    )
    max_groups_per_client: int = option(1000, "Maximum number of groups of one client.", low=1, ours=True)
    max_subscriptions_per_group: int = option(
        1000, "Maximum number of topics that one group subscribes to.", low=1, ours=True
    )
    max_subscription_text: int = option(
        256 * 1024, "Maximum number of characters in all subscriptions of one group.", low=1, ours=True
    )
    max_name_length: int = option(
        1024,
        "Maximum number of characters in a client id, and in names that have no other limit.",
        low=1,
        ours=True,
    )
    max_clients_per_group: int = option(20000, "Maximum number of clients in one group.", low=1, ours=True)
    max_groups_online: int = option(
        100000, "Maximum number of producer and consumer groups with a connected client.", low=1, ours=True
    )
    max_queue_locks_per_group: int = option(
        100000, "Maximum number of queues that one group may lock.", low=1, ours=True
    )


class AssignmentOptions(Options):
    """Assignment of queues by the broker, for clients that request it."""

    default_message_request_mode: RequestMode = option(
        RequestMode.PULL, "Consumption mode of a group and topic for which none was set: PULL or POP."
    )
    default_pop_share_queue_num: int = option(
        -1,
        "Number of other clients that share a queue with a POP client. -1: every client pops from all "
        "queues.",
        low=-1,
    )
    server_load_balancer_enable: bool = option(
        True, "Distribute the queues over the clients. False: every client is assigned all queues."
    )
    load_balance_poll_name_server_interval: int = option(
        30000,
        "Interval between route queries for topics whose queues the broker distributes.",
        unit="ms",
        low=1,
        effect=Effect.RESTART,
    )
    max_request_modes: int = option(
        100000, "Maximum number of (topic, group) pairs with a consumption mode.", low=1, ours=True
    )


class StatisticsOptions(Options):
    """Statistics."""

    account_stats_enable: bool = option(
        True, "Keep statistics by account.", no_effect="nothing is counted by account"
    )
    enable_detail_stat: bool = option(
        True,
        "Keep statistics by topic, group and queue.",
        no_effect="counts by topic and group are always kept",
    )
    auto_delete_unused_stats: bool = option(
        True, "Delete the statistics of a topic or group together with it."
    )
    max_stats_keys: int = option(
        200000,
        "Maximum number of (topic, group) pairs with statistics. Further pairs count in the totals only.",
        low=1,
        ours=True,
    )


class FilterOptions(Options):
    """Filters by property."""

    enable_property_filter: bool = option(False, "Allow SQL92 filter expressions.")
    enable_calc_filter_bit_map: bool = option(
        False, "Evaluate filter expressions when messages are stored.", no_effect=NO_BIT_MAPS
    )
    expect_consumer_num_use_filter: int = option(
        32, "Expected number of filters, for the size of the Bloom filter.", low=1, effect=Effect.RESTART
    )
    max_error_rate_of_bloom_filter: int = option(
        20, "Maximum percentage of false matches of the Bloom filter.", low=1, high=99, effect=Effect.RESTART
    )
    filter_support_retry: bool = option(False, "Filter retried messages as well.")
    filter_data_clean_time_span: int = option(
        86400000,
        "Time for which the filter expression of a disconnected group is kept.",
        unit="ms",
        high=LONG_MAX,
    )
    max_filter_data: int = option(
        100000,
        "Maximum number of filter expressions, including those of disconnected groups.",
        low=1,
        ours=True,
    )
    max_tags_per_subscription: int = option(
        1000, "Maximum number of tags in one subscription.", low=1, ours=True
    )
