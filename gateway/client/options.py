"""Settings of producers and consumers, each with RocketMQ's name (in camel case) and default.

A setting is given as a keyword argument: `Producer("group", send_msg_timeout=5000)`. Times are in ms unless
stated otherwise. `checked` refuses values out of range. Standard: `ClientConfig`, `DefaultMQProducer`,
`DefaultMQPushConsumer`, `DefaultMQPullConsumer`, `DefaultLitePullConsumer`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from mqgateway.engine.message import DEFAULT_TOPIC, TRACE_TOPIC
from mqgateway.engine.options.option import BadValue, closest, format_value, option, options_of, snake_case
from mqgateway.engine.options.option_set import HIDDEN, Options
from mqgateway.gateway.client.compression import Compression
from mqgateway.gateway.client.errors import BadArgument
from mqgateway.gateway.codec.codes import LanguageCode, SerializeType
from mqgateway.gateway.runtime.name_servers import split_addresses

if TYPE_CHECKING:
    import ssl

T = TypeVar("T", bound="ClientOptions")


class MessageModel(StrEnum):
    """Distribution of messages among the members of a group."""

    CLUSTERING = "CLUSTERING"
    BROADCASTING = "BROADCASTING"


class ConsumeFrom(StrEnum):
    """Start position of a group without committed offsets. Standard: `ConsumeFromWhere`."""

    LAST_OFFSET = "CONSUME_FROM_LAST_OFFSET"
    FIRST_OFFSET = "CONSUME_FROM_FIRST_OFFSET"
    TIMESTAMP = "CONSUME_FROM_TIMESTAMP"


class HeaderForm(StrEnum):
    """Encoding of request headers. Standard: `rocketmq.serialize.type`."""

    JSON = "JSON"
    ROCKETMQ = "ROCKETMQ"

    @property
    def number(self) -> SerializeType:
        """Return the code on the wire."""
        return SerializeType[self.value]


class ClientOptions(Options):
    """Settings of all clients."""

    ssl_context: ssl.SSLContext | None = None
    """SSL context of connections; it has no text form."""

    namesrv_addr: str = option(
        "", "Name servers as `host:port`, separated by `;`. Empty: those in NAMESRV_ADDR."
    )
    client_ip: str = option(
        "", "Address of the client in its client id. Empty: the first local address.", name="clientIP"
    )
    instance_name: str = option(
        "DEFAULT", "Name that distinguishes clients at one address. DEFAULT: a generated name."
    )
    unit_name: str = option("", "Name of the client's unit, which becomes part of the client id.")
    unit_mode: bool = option(False, "Mark the client as a member of a unit.")
    namespace: str = option("", "Prefix of topic and group names (`ns%topic`).")
    namespace_v2: str = option("", "Namespace that is sent with every request and resolved by the broker.")
    poll_name_server_interval: int = option(30_000, "Interval between route updates.", unit="ms", low=10)
    heartbeat_broker_interval: int = option(30_000, "Interval between heartbeats.", unit="ms", low=10)
    persist_consumer_offset_interval: int = option(
        5_000, "Interval between commits of consumed offsets.", unit="ms", low=10
    )
    pull_time_delay_mills_when_exception: int = option(1_000, "Delay after a failed pull.", unit="ms")
    mq_client_api_timeout: int = option(3_000, "Timeout of a request.", unit="ms", low=1)
    vip_channel_enabled: bool = option(False, "Send through the brokers' VIP port (listenPort - 2).")
    use_tls: bool = option(False, "Open connections with TLS.", name="useTLS")
    tls_client_trust_cert_path: str = option(
        "",
        "CA certificates that verify servers. Empty: those of the system.",
        name="tls.client.trustCertPath",
    )
    tls_client_cert_path: str = option("", "Client certificate chain (PEM).", name="tls.client.certPath")
    tls_client_key_path: str = option(
        "", "Private key (PEM) of tls.client.certPath.", name="tls.client.keyPath"
    )
    tls_client_key_password: str = option(
        "", "Password of tls.client.keyPath.", name="tls.client.keyPassword", secret=True
    )
    check_host_name: bool = option(
        False,
        "With TLS, require that a server's certificate matches the name or address used to connect.",
        ours=True,
    )
    language: str = option("PYTHON", "Language of the client that servers see.", ours=True)
    serialize_type: HeaderForm = option(
        HeaderForm.JSON, "Encoding of request headers: JSON or ROCKETMQ.", name="rocketmq.serialize.type"
    )
    send_latency_enable: bool = option(False, "Avoid slow brokers for a time.")
    start_detector_enable: bool = option(False, "Check if brokers that failed are reachable again.")
    detect_timeout: int = option(200, "Timeout of such a check.", unit="ms", low=1)
    detect_interval: int = option(2_000, "Interval between such checks.", unit="ms", low=1)
    access_key: str = option("", "Access key that requests are signed with. Empty: requests are not signed.")
    secret_key: str = option("", "Secret key that requests are signed with.", secret=True)
    security_token: str = option("", "Security token sent with signed requests.", secret=True)
    credentials_file: str = option(
        "",
        "File with accessKey and secretKey, as tools.yml, used instead of access_key and secret_key. A "
        "changed file is read again.",
        ours=True,
    )
    enable_trace: bool = option(False, "Record sends and consumption in the trace topic.")
    trace_topic: str = option(TRACE_TOPIC, "Topic of trace records.")
    trace_msg_batch_num: int = option(10, "Maximum number of trace records in one message.", low=1, high=1000)
    trace_queue_max: int = option(
        2048,
        "Maximum number of trace records that wait to be sent. Further records are dropped.",
        low=1,
        ours=True,
    )
    enable_opentelemetry: bool = option(
        False, "Create spans through OpenTelemetry (an extra) with the process's tracer provider.", ours=True
    )


class ProducerOptions(ClientOptions):
    """Additional settings of producers."""

    create_topic_key: str = option(DEFAULT_TOPIC, "Topic that new topics are copied from.")
    default_topic_queue_nums: int = option(
        4, "Maximum number of queues of a new topic on each broker.", low=1
    )
    send_msg_timeout: int = option(3_000, "Timeout of a send, including all attempts.", unit="ms", low=1)
    send_msg_max_timeout_per_request: int = option(
        -1, "Timeout of one attempt while others are left. -1: the time left of send_msg_timeout.", unit="ms"
    )
    compress_msg_body_over_howmuch: int = option(
        4096, "Minimum size of a body to be compressed.", unit="bytes"
    )
    compress_type: Compression = option(Compression.ZLIB, "Compression of bodies: ZLIB, LZ4 or ZSTD.")
    compress_level: int = option(5, "Compression level, up to 9 for zlib and 22 for zstd.", low=1, high=22)
    retry_times_when_send_failed: int = option(
        2, "Number of retries of a send, on other brokers if possible."
    )
    retry_times_when_send_async_failed: int = option(2, "Number of retries of an asynchronous send.")
    retry_another_broker_when_not_store_ok: bool = option(
        False,
        "Retry a send that was stored with less durability than configured.",
        name="retryAnotherBrokerWhenNotStoreOK",
    )
    max_message_size: int = option(4 * 1024**2, "Maximum size of a body and of a batch.", unit="bytes", low=1)
    max_sends_in_flight: int = option(
        10_000, "Maximum number of sends in flight. Further sends are refused.", low=1, ours=True
    )


class ConsumerOptions(ClientOptions):
    """Additional settings of all consumers."""

    message_model: MessageModel = option(
        MessageModel.CLUSTERING,
        "Share messages among the members of the group (CLUSTERING) or deliver all to each member "
        "(BROADCASTING).",
    )
    consume_from_where: ConsumeFrom = option(
        ConsumeFrom.LAST_OFFSET, "Start position of a group that has no committed offset."
    )
    consume_timestamp: str = option(
        "", "Start time for CONSUME_FROM_TIMESTAMP as yyyyMMddHHmmss in local time. Empty: half an hour ago."
    )
    max_reconsume_times: int = option(
        -1, "Maximum number of retries of a message. -1: 16, and unlimited for ordered consumers.", low=-1
    )
    local_offset_store_dir: str = option(
        "~/.rocketmq_offsets",
        "Folder of the offsets of broadcasting consumers.",
        name="rocketmq.client.localOffsetStoreDir",
    )
    broker_suspend_max_time_millis: int = option(
        20_000, "Maximum time that the broker holds a pull.", unit="ms"
    )
    consumer_timeout_millis_when_suspend: int = option(
        30_000, "Timeout of a pull that the broker may hold.", unit="ms", low=1
    )
    consumer_pull_timeout_millis: int = option(
        10_000, "Timeout of a pull that the broker does not hold.", unit="ms", low=1
    )


class PushOptions(ConsumerOptions):
    """Additional settings of push consumers."""

    broker_suspend_max_time_millis: int = option(
        15_000, "Maximum time that the broker holds a pull.", unit="ms"
    )
    consume_thread_min: int = option(20, "Number of threads that call the listener.", low=1, high=1000)
    consume_thread_max: int = option(
        20,
        "Number of threads that call the listener. The larger of this and consumeThreadMin counts.",
        low=1,
        high=1000,
    )
    consume_concurrently_max_span: int = option(
        2000,
        "Maximum distance between the offsets of the first and the last buffered message of a queue. "
        "Beyond it, pulling pauses.",
        low=1,
        high=65535,
    )
    pull_threshold_for_queue: int = option(
        1000, "Maximum number of buffered messages of a queue. Beyond it, pulling pauses.", low=1, high=65535
    )
    pull_threshold_size_for_queue: int = option(
        100,
        "Maximum size of the buffered messages of a queue. Beyond it, pulling pauses.",
        unit="MiB",
        low=1,
        high=1024,
    )
    pull_threshold_for_topic: int = option(
        -1,
        "Maximum number of buffered messages of a topic, divided among its queues. -1: no limit.",
        high=6_553_500,
    )
    pull_threshold_size_for_topic: int = option(
        -1,
        "Maximum size of the buffered messages of a topic, divided among its queues. -1: no limit.",
        unit="MiB",
        high=102_400,
    )
    pull_interval: int = option(0, "Delay between pulls.", unit="ms", high=65535)
    pull_batch_size: int = option(32, "Maximum number of messages in a pull.", low=1, high=1024)
    pull_batch_size_in_bytes: int = option(
        256 * 1024, "Maximum size of the messages in a pull.", unit="bytes", low=1
    )
    consume_message_batch_max_size: int = option(
        1, "Maximum number of messages in one call of the listener.", low=1, high=1024
    )
    post_subscription_when_pull: bool = option(False, "Send the tags with every pull.")
    suspend_current_queue_time_millis: int = option(
        1_000, "Delay before an ordered queue is retried after a failure.", unit="ms", low=10, high=30_000
    )
    consume_timeout: int = option(
        15, "Processing time after which a message is sent back to the broker.", unit="min", low=1
    )
    await_termination_millis_when_shutdown: int = option(
        0, "Maximum time that a stop waits for listeners.", unit="ms"
    )
    client_rebalance: bool = option(
        True, "Distribute queues among the clients. False: the broker does, and may select POP."
    )
    pop_invisible_time: int = option(
        60_000, "Invisible time of popped messages.", unit="ms", low=5_000, high=300_000
    )
    pop_batch_nums: int = option(32, "Maximum number of messages in a pop.", low=1, high=32)
    pop_threshold_for_queue: int = option(
        96, "Maximum number of buffered popped messages of a queue. Beyond it, popping pauses.", low=1
    )


class PullOptions(ConsumerOptions):
    """Settings of pull consumers, which have no additional ones."""


class SimpleOptions(ConsumerOptions):
    """Additional settings of simple consumers."""

    pop_invisible_time: int = option(
        60_000,
        "Invisible time of received messages.",
        unit="ms",
        low=1_000,
        high=43_200_000,
    )


class LitePullOptions(ConsumerOptions):
    """Additional settings of lite pull consumers."""

    auto_commit: bool = option(True, "Commit polled messages automatically.")
    auto_commit_interval_millis: int = option(
        5_000, "Interval between automatic commits.", unit="ms", low=1_000
    )
    pull_batch_size: int = option(10, "Maximum number of messages in a pull.", low=1, high=1024)
    pull_threshold_for_all: int = option(
        10_000, "Maximum number of buffered messages of all queues. Beyond it, pulling pauses.", low=1
    )
    pull_threshold_for_queue: int = option(
        1000, "Maximum number of buffered messages of a queue. Beyond it, pulling pauses.", low=1, high=65535
    )
    pull_threshold_size_for_queue: int = option(
        100,
        "Maximum size of the buffered messages of a queue. Beyond it, pulling pauses.",
        unit="MiB",
        low=1,
        high=1024,
    )
    consume_max_span: int = option(
        2000,
        "Maximum distance between the offsets of the first and the last buffered message of a queue. "
        "Beyond it, pulling pauses.",
        low=1,
    )
    poll_timeout_millis: int = option(5_000, "Default timeout of a poll.", unit="ms")
    topic_metadata_check_interval_millis: int = option(
        30_000, "Interval between checks for new and removed queues.", unit="ms", low=10
    )


def made(kind: type[T], given: Mapping[str, Any], others: Iterable[str] = ()) -> T:
    """Return options from keyword arguments. Raises `BadArgument` for unknown names, types and ranges.

    `others` are arguments that are not settings; a misspelt name may be meant as one of them.
    """
    known = {one.attribute for one in options_of(kind)} | {"ssl_context"}
    unknown = sorted(set(given) - known)
    if unknown:
        raise BadArgument("; ".join(_no_setting(name, [*known, *others]) for name in unknown))
    context = given.get("ssl_context")
    if context is not None and not _is_ssl_context(context):
        raise BadArgument(f"ssl_context={context!r}: pass an ssl.SSLContext, not {type(context).__name__}")
    options = checked(kind(**given))
    if options.language not in LanguageCode.__members__:
        raise BadArgument(f"language={options.language}: not one of {', '.join(LanguageCode.__members__)}")
    if bool(options.access_key) != bool(options.secret_key):
        given_one, other = (
            ("access_key", "secret_key") if options.access_key else ("secret_key", "access_key")
        )
        raise BadArgument(f"{other} is missing: {given_one} needs it, and requests are signed with both")
    for address in split_addresses(options.namesrv_addr):
        _check_address(address)
    return options


def _is_ssl_context(value: object) -> bool:
    import ssl  # slow to load, and most commands do not need it

    return isinstance(value, ssl.SSLContext)


def _check_address(address: str) -> None:
    host, _, port = address.rpartition(":")
    if not host or not (port.isascii() and port.isdigit() and 0 < int(port) < 65536) or "/" in host:
        raise BadArgument(f"namesrv_addr={address}: pass host:port, several joined by ';', as 127.0.0.1:9876")


def _no_setting(name: str, known: list[str]) -> str:
    near = closest(snake_case(name), sorted(known))
    return f"there is no setting {name}" + (f": did you mean {near}?" if near else "")


def checked(options: T) -> T:
    """Return the options with enumeration values converted. Raises `BadArgument`."""
    for one in options_of(type(options)):
        value = getattr(options, one.attribute)
        is_right = (
            isinstance(value, str) if isinstance(one.default, str) else type(value) is type(one.default)
        )
        if not is_right:
            expected, given = type(one.default).__name__, type(value).__name__
            written = HIDDEN if one.secret else repr(value)
            raise BadArgument(f"{one.attribute}={written}: pass {expected}, not {given}")
        try:
            parsed = value if type(one.default) is str else one.parse(format_value(value))
        except BadValue as error:
            raise BadArgument(f"{one.attribute}={value}: {error.what}") from None
        setattr(options, one.attribute, parsed)
    return options


def name_servers_of(options: ClientOptions) -> list[str]:
    """Return the configured name servers, from the options or the environment."""
    text = options.namesrv_addr or os.environ.get("NAMESRV_ADDR", "")
    return split_addresses(text)


def shown(options: ClientOptions) -> dict[str, str]:
    """Return every setting as text by its RocketMQ name, with secrets hidden, for administrators."""
    return {
        one.name: HIDDEN if one.secret else format_value(getattr(options, one.attribute))
        for one in options_of(type(options))
    }
