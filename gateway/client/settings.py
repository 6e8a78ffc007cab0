"""Settings of `gateway.client.options` as types, so that a type checker finds misspelt names.

`options` documents the settings and checks them at run time; this module has only names and types. A test
keeps the two equal.
"""

from __future__ import annotations

import ssl
from typing import Literal, TypedDict

from mqgateway.gateway.client.compression import Compression
from mqgateway.gateway.client.options import ConsumeFrom, HeaderForm, MessageModel


class ClientSettings(TypedDict, total=False):
    """Settings of all clients."""

    namesrv_addr: str
    client_ip: str
    instance_name: str
    unit_name: str
    unit_mode: bool
    namespace: str
    namespace_v2: str
    poll_name_server_interval: int
    heartbeat_broker_interval: int
    persist_consumer_offset_interval: int
    pull_time_delay_mills_when_exception: int
    mq_client_api_timeout: int
    vip_channel_enabled: bool
    use_tls: bool
    tls_client_trust_cert_path: str
    tls_client_cert_path: str
    tls_client_key_path: str
    tls_client_key_password: str
    check_host_name: bool
    ssl_context: ssl.SSLContext | None
    language: str
    serialize_type: HeaderForm | Literal["JSON", "ROCKETMQ"]
    send_latency_enable: bool
    start_detector_enable: bool
    detect_timeout: int
    detect_interval: int
    access_key: str
    secret_key: str
    security_token: str
    credentials_file: str
    enable_trace: bool
    trace_topic: str
    trace_msg_batch_num: int
    trace_queue_max: int
    enable_opentelemetry: bool


class ProducerSettings(ClientSettings, total=False):
    """Further settings of producers."""

    create_topic_key: str
    default_topic_queue_nums: int
    send_msg_timeout: int
    send_msg_max_timeout_per_request: int
    compress_msg_body_over_howmuch: int
    compress_type: Compression | Literal["LZ4", "ZSTD", "ZLIB"]
    compress_level: int
    retry_times_when_send_failed: int
    retry_times_when_send_async_failed: int
    retry_another_broker_when_not_store_ok: bool
    max_message_size: int
    max_sends_in_flight: int


class ConsumerSettings(ClientSettings, total=False):
    """Further settings of all consumers."""

    message_model: MessageModel | Literal["CLUSTERING", "BROADCASTING"]
    consume_from_where: (
        ConsumeFrom
        | Literal["CONSUME_FROM_LAST_OFFSET", "CONSUME_FROM_FIRST_OFFSET", "CONSUME_FROM_TIMESTAMP"]
    )
    consume_timestamp: str
    max_reconsume_times: int
    local_offset_store_dir: str
    broker_suspend_max_time_millis: int
    consumer_timeout_millis_when_suspend: int
    consumer_pull_timeout_millis: int


class PushSettings(ConsumerSettings, total=False):
    """Further settings of push consumers."""

    consume_thread_min: int
    consume_thread_max: int
    consume_concurrently_max_span: int
    pull_threshold_for_queue: int
    pull_threshold_size_for_queue: int
    pull_threshold_for_topic: int
    pull_threshold_size_for_topic: int
    pull_interval: int
    pull_batch_size: int
    pull_batch_size_in_bytes: int
    consume_message_batch_max_size: int
    post_subscription_when_pull: bool
    suspend_current_queue_time_millis: int
    consume_timeout: int
    await_termination_millis_when_shutdown: int
    client_rebalance: bool
    pop_invisible_time: int
    pop_batch_nums: int
    pop_threshold_for_queue: int


class PullSettings(ConsumerSettings, total=False):
    """Settings of pull consumers, which have no further ones."""


class SimpleSettings(ConsumerSettings, total=False):
    """Further settings of simple consumers."""

    pop_invisible_time: int


class LitePullSettings(ConsumerSettings, total=False):
    """Further settings of lite pull consumers."""

    auto_commit: bool
    auto_commit_interval_millis: int
    pull_batch_size: int
    pull_threshold_for_all: int
    pull_threshold_for_queue: int
    pull_threshold_size_for_queue: int
    consume_max_span: int
    poll_timeout_millis: int
    topic_metadata_check_interval_millis: int
