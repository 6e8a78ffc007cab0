"""Settings of the gRPC service for clients of version 5. Standard: `ProxyConfig`."""

from enum import StrEnum

from mqgateway.engine.options import checks
from mqgateway.engine.options.option import LONG_MAX, Effect, option
from mqgateway.engine.options.option_set import Options


class MetricCollectorMode(StrEnum):
    """Collector that clients send their metrics to. Source: the class of the same name."""

    OFF = "off"
    ON = "on"
    PROXY = "proxy"


class MessageLimits(Options):
    """Limits of messages from gRPC clients."""

    enable_message_body_empty_check: bool = option(True, "Refuse messages without a body from gRPC clients.")
    enable_topic_message_type_check: bool = option(
        True, "Refuse messages from gRPC clients if their type is not the type of the topic."
    )
    check_body_digest: bool = option(
        True, "Refuse messages from gRPC clients if the body does not match its digest.", ours=True
    )
    max_inflated_body: int = option(
        16 * 1024**2,
        "Maximum size to which a compressed body is decompressed for gRPC clients.",
        unit="bytes",
        low=1024,
        ours=True,
    )
    user_property_max_num: int = option(
        128, "Maximum number of user properties in a message from a gRPC client."
    )
    max_user_property_size: int = option(
        16 * 1024,
        "Maximum total size of user properties, tag and keys in a message from a gRPC client. 0: no limit.",
        unit="bytes",
    )
    max_message_group_size: int = option(
        64, "Size of a message group must be less than this. 0: no limit.", unit="bytes"
    )
    max_lite_topic_size: int = option(64, "Maximum length of the name of a lite topic.", low=1)
    max_delay_time_mills: int = option(
        24 * 3600 * 1000,
        "Maximum delay of a message from a gRPC client. 0: no limit.",
        unit="ms",
        high=LONG_MAX,
    )
    max_transaction_recovery_second: int = option(
        3600,
        "Maximum delay of the first transaction check that a gRPC client may request. 0: no limit.",
        unit="s",
        high=LONG_MAX,
    )
    use_delay_level: bool = option(
        False, "Deliver delayed messages of gRPC clients by delay levels. False: at the exact second."
    )


class ReceivingOptions(Options):
    """Receiving by gRPC clients, and the invisible time of received messages."""

    default_invisible_time_mills: int = option(
        60000,
        "Invisible time of a received message that the broker renews automatically.",
        unit="ms",
        low=1000,
    )
    min_invisible_time_mills_for_recv: int = option(
        10000, "Minimum invisible time that a client may request.", unit="ms"
    )
    max_invisible_time_mills: int = option(
        12 * 3600 * 1000, "Maximum invisible time that a client may request.", unit="ms", low=1
    )
    enable_proxy_auto_renew: bool = option(
        True, "Renew the invisible time of received messages automatically for clients that request it."
    )
    max_renew_retry_times: int = option(3, "Maximum number of retries of a failed renewal.")
    renew_ahead_time_millis: int = option(
        10000, "Time before expiry at which the invisible time is renewed.", unit="ms", low=1
    )
    renew_max_time_millis: int = option(
        3 * 3600 * 1000,
        "Time after receipt after which a message is no longer renewed.",
        unit="ms",
        high=LONG_MAX,
    )
    renew_schedule_period_millis: int = option(
        5000, "Interval between checks for messages to renew.", unit="ms", low=100
    )
    invisible_time_millis_when_clear: int = option(
        1000,
        "Time after which the received messages of a disconnected client are visible again.",
        unit="ms",
        low=1,
    )
    max_lite_renew_num_per_channel: int = option(
        100, "Maximum number of unacknowledged messages of lite topics of one client.", low=1
    )
    max_renewed_messages: int = option(
        100000,
        "Maximum number of messages that are renewed automatically. Beyond it, receives that request "
        "renewal are refused.",
        low=1,
        ours=True,
    )
    receipt_handle_key: str = option(
        "",
        "Key that signs receipt handles, so that forged ones are refused. Empty: no signature.",
        ours=True,
        secret=True,
        effect=Effect.RESTART,
    )


class MessagingOptions(MessageLimits, ReceivingOptions):
    """Settings sent to gRPC clients, and limits of the service."""

    grpc_client_producer_max_attempts: int = option(
        3, "Maximum number of attempts of a send that gRPC producers use.", low=1
    )
    grpc_client_producer_backoff_initial_millis: int = option(
        10, "Backoff of a gRPC producer after the first attempt.", unit="ms", high=LONG_MAX
    )
    grpc_client_producer_backoff_max_millis: int = option(
        1000, "Maximum backoff of a gRPC producer.", unit="ms", high=LONG_MAX
    )
    grpc_client_producer_backoff_multiplier: int = option(
        2, "Factor by which the backoff of a gRPC producer grows with each attempt.", low=1
    )
    grpc_client_consumer_min_long_polling_timeout_millis: int = option(
        5000, "Minimum long-polling time of a gRPC consumer.", unit="ms", high=LONG_MAX
    )
    grpc_client_consumer_max_long_polling_timeout_millis: int = option(
        20000, "Maximum long-polling time of a gRPC consumer.", unit="ms", high=LONG_MAX
    )
    grpc_client_consumer_long_polling_batch_size: int = option(
        32, "Maximum number of messages that a gRPC consumer requests at once.", low=1, high=32
    )
    use_endpoint_port_from_request: bool = option(
        True, "Return the port that the client used in routes. False: grpcServerPort."
    )
    grpc_advertised_address: str = option(
        "",
        "Address of this broker in routes for gRPC clients, as host:port. Empty: the address that the "
        "client used.",
        ours=True,
        check=checks.address(8081),
    )
    metric_collector_mode: MetricCollectorMode = option(
        MetricCollectorMode.OFF,
        "Collector that gRPC clients send their metrics to: none (off), metricCollectorAddress (on) or "
        "this broker (proxy).",
    )
    metric_collector_address: str = option(
        "", "Address of the collector with metricCollectorMode=on, as host:port.", check=checks.address(8081)
    )
    max_sync_lite_subscription_rate: int = option(
        5000, "Maximum number of subscriptions to lite topics that gRPC clients may add in a second.", low=1
    )
    max_grpc_clients: int = option(
        20000, "Maximum number of gRPC clients with stored settings.", low=1, ours=True
    )
    max_remembered_transactions: int = option(
        100000, "Maximum number of open transactions whose log position is kept in memory.", low=1, ours=True
    )
