"""Settings of the gRPC service that clients of version 5 speak to. Standard: `ProxyConfig`."""

from enum import StrEnum

from mqgateway.engine.options import checks
from mqgateway.engine.options.option import LONG_MAX, Effect, option
from mqgateway.engine.options.option_set import Options


class MetricCollectorMode(StrEnum):
    """Where clients are told to send their metrics. Standard: the class of the same name."""

    OFF = "off"
    ON = "on"
    PROXY = "proxy"


class MessageLimits(Options):
    """What messages of gRPC clients may be like."""

    enable_message_body_empty_check: bool = option(True, "Refuse messages of gRPC clients without a body.")
    enable_topic_message_type_check: bool = option(
        True, "Refuse messages of gRPC clients whose type is not that of the topic."
    )
    check_body_digest: bool = option(
        True, "Refuse messages of gRPC clients whose body has not the digest they say.", ours=True
    )
    max_inflated_body: int = option(
        16 * 1024**2,
        "Size up to which a compressed body is made whole for gRPC clients.",
        unit="bytes",
        low=1024,
        ours=True,
    )
    user_property_max_num: int = option(128, "Properties of a user that a gRPC client's message may have.")
    max_user_property_size: int = option(
        16 * 1024, "Size of those, tags and keys too; 0: no limit.", unit="bytes"
    )
    max_message_group_size: int = option(64, "Size of a message group, and one more.", unit="bytes")
    max_lite_topic_size: int = option(64, "Length of the name of a lite topic.", low=1)
    max_delay_time_mills: int = option(
        24 * 3600 * 1000, "How far ahead a gRPC client's message may be due.", unit="ms", high=LONG_MAX
    )
    max_transaction_recovery_second: int = option(
        3600, "How long a gRPC client may ask not to be asked about a transaction.", unit="s", high=LONG_MAX
    )
    use_delay_level: bool = option(False, "Delay messages of gRPC clients by levels, not to the second.")


class ReceivingOptions(Options):
    """How gRPC clients receive, and how long what they received is theirs."""

    default_invisible_time_mills: int = option(
        60000, "How long a received message is invisible that is renewed by itself.", unit="ms", low=1000
    )
    min_invisible_time_mills_for_recv: int = option(
        10000, "Shortest time that a client may ask for.", unit="ms"
    )
    max_invisible_time_mills: int = option(
        12 * 3600 * 1000, "Longest time that a client may ask for.", unit="ms", low=1
    )
    enable_proxy_auto_renew: bool = option(
        True, "Renew the time of received messages for clients that ask for it."
    )
    max_renew_retry_times: int = option(3, "How often a renewal is tried that fails.")
    renew_ahead_time_millis: int = option(
        10000, "How long before its end the time is renewed.", unit="ms", low=1
    )
    renew_max_time_millis: int = option(
        3 * 3600 * 1000, "How long after it was received a message is renewed.", unit="ms", high=LONG_MAX
    )
    renew_schedule_period_millis: int = option(
        5000, "Time between looks for what is to be renewed.", unit="ms", low=100
    )
    invisible_time_millis_when_clear: int = option(
        1000, "When messages come again whose client has gone.", unit="ms", low=1
    )
    max_lite_renew_num_per_channel: int = option(
        100, "Messages of lite topics that a client may have received and not acknowledged.", low=1
    )
    max_renewed_messages: int = option(
        100000, "Messages that are renewed at once; more cannot be received so.", low=1, ours=True
    )
    receipt_handle_key: str = option(
        "",
        "Signs receipt handles, so that forged ones are refused; empty: they are not signed.",
        ours=True,
        secret=True,
        effect=Effect.RESTART,
    )


class MessagingOptions(MessageLimits, ReceivingOptions):
    """What gRPC clients are told, and what they may cost."""

    grpc_client_producer_max_attempts: int = option(3, "How often a gRPC producer tries.", low=1)
    grpc_client_producer_backoff_initial_millis: int = option(
        10, "How long it waits after the first try.", unit="ms", high=LONG_MAX
    )
    grpc_client_producer_backoff_max_millis: int = option(
        1000, "How long it waits at most.", unit="ms", high=LONG_MAX
    )
    grpc_client_producer_backoff_multiplier: int = option(2, "How much longer each time.", low=1)
    grpc_client_consumer_min_long_polling_timeout_millis: int = option(
        5000, "Shortest time for which a gRPC consumer waits for messages.", unit="ms", high=LONG_MAX
    )
    grpc_client_consumer_max_long_polling_timeout_millis: int = option(
        20000, "Longest time for which it waits.", unit="ms", high=LONG_MAX
    )
    grpc_client_consumer_long_polling_batch_size: int = option(
        32, "Messages that it asks for at once.", low=1, high=32
    )
    use_endpoint_port_from_request: bool = option(
        True, "Routes name the port that the client used; otherwise grpcServerPort."
    )
    grpc_advertised_address: str = option(
        "",
        "Where routes say that gRPC clients reach this broker, host:port; empty: where the client did.",
        ours=True,
        check=checks.address(8081),
    )
    metric_collector_mode: MetricCollectorMode = option(
        MetricCollectorMode.OFF,
        "Where gRPC clients send metrics: nowhere, to metricCollectorAddress, or where they connect to.",
    )
    metric_collector_address: str = option(
        "", "Where to with metricCollectorMode=on, host:port.", check=checks.address(8081)
    )
    max_sync_lite_subscription_rate: int = option(
        5000, "Subscriptions to lite topics that gRPC clients may add in a second.", low=1
    )
    max_grpc_clients: int = option(20000, "gRPC clients whose settings are known at once.", low=1, ours=True)
    max_remembered_transactions: int = option(
        100000, "Open transactions whose place in the log is kept in memory.", low=1, ours=True
    )
