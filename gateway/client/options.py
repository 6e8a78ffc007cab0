"""Settings of producers and consumers, each under the standard's name (in camel case) and with its default.

A setting is given as a keyword argument: `Producer("group", send_msg_timeout=5000)`. Times are in ms unless
said otherwise. `checked` refuses what is out of range. Standard: `ClientConfig`, `DefaultMQProducer`,
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
    """Whether the members of a group share the messages, or each gets them all."""

    CLUSTERING = "CLUSTERING"
    BROADCASTING = "BROADCASTING"


class ConsumeFrom(StrEnum):
    """Where a group begins that has never consumed. Standard: `ConsumeFromWhere`."""

    LAST_OFFSET = "CONSUME_FROM_LAST_OFFSET"
    FIRST_OFFSET = "CONSUME_FROM_FIRST_OFFSET"
    TIMESTAMP = "CONSUME_FROM_TIMESTAMP"


class HeaderForm(StrEnum):
    """How headers are written. Standard: `rocketmq.serialize.type`."""

    JSON = "JSON"
    ROCKETMQ = "ROCKETMQ"

    @property
    def number(self) -> SerializeType:
        """As it is on the wire."""
        return SerializeType[self.value]


class ClientOptions(Options):
    """What all clients have."""

    ssl_context: ssl.SSLContext | None = None
    """What connections are made with; it has no form in text."""

    namesrv_addr: str = option(
        "", "Name servers, `host:port` joined by `;`; without any, those in NAMESRV_ADDR."
    )
    client_ip: str = option("", "Our address in the client id; empty: found out.", name="clientIP")
    instance_name: str = option("DEFAULT", "Tells clients at one address apart; DEFAULT: made up.")
    unit_name: str = option("", "Name of our unit, a part of the client id.")
    unit_mode: bool = option(False, "Whether we belong to a unit.")
    namespace: str = option("", "Put before the names of topics and groups (`ns%topic`).")
    namespace_v2: str = option("", "Namespace that brokers know of, sent with every request.")
    poll_name_server_interval: int = option(30_000, "Time between looks at routes.", unit="ms", low=10)
    heartbeat_broker_interval: int = option(30_000, "Time between heartbeats.", unit="ms", low=10)
    persist_consumer_offset_interval: int = option(
        5_000, "Time between commits of consumed offsets.", unit="ms", low=10
    )
    pull_time_delay_mills_when_exception: int = option(1_000, "Rest after a pull that failed.", unit="ms")
    mq_client_api_timeout: int = option(3_000, "Longest time for an answer.", unit="ms", low=1)
    vip_channel_enabled: bool = option(False, "Use the brokers' ports that serve no pulls (two less).")
    use_tls: bool = option(False, "Open connections with TLS.", name="useTLS")
    tls_client_trust_cert_path: str = option(
        "",
        "Authorities that host names' certificates are checked against; empty: the system's.",
        name="tls.client.trustCertPath",
    )
    tls_client_cert_path: str = option(
        "", "Certificate chain that we show servers, PEM.", name="tls.client.certPath"
    )
    tls_client_key_path: str = option("", "Its private key, PEM.", name="tls.client.keyPath")
    tls_client_key_password: str = option(
        "", "Password of that key.", name="tls.client.keyPassword", secret=True
    )
    check_host_name: bool = option(
        False,
        "With TLS: a server's certificate must be for the name or address that it is connected to by.",
        ours=True,
    )
    language: str = option("PYTHON", "What we are written in.", ours=True)
    serialize_type: HeaderForm = option(
        HeaderForm.JSON, "How headers are written.", name="rocketmq.serialize.type"
    )
    send_latency_enable: bool = option(False, "Avoid brokers that answer slowly, for a time.")
    start_detector_enable: bool = option(False, "Look whether brokers that failed can be reached again.")
    detect_timeout: int = option(200, "Longest time of such a look.", unit="ms", low=1)
    detect_interval: int = option(2_000, "Time between such looks.", unit="ms", low=1)
    access_key: str = option("", "Name under which requests are signed; empty: they are not.")
    secret_key: str = option("", "Key that requests are signed with.", secret=True)
    security_token: str = option("", "Token that is sent along.", secret=True)
    credentials_file: str = option(
        "", "File with accessKey and secretKey, as tools.yml, that may change; instead of these.", ours=True
    )
    enable_trace: bool = option(False, "Record what is sent and consumed in the trace topic.")
    trace_topic: str = option(TRACE_TOPIC, "Topic of those records.")
    trace_msg_batch_num: int = option(10, "Records that go in one message.", low=1, high=1000)
    trace_queue_max: int = option(2048, "Records that may wait; more are dropped.", low=1, ours=True)
    enable_opentelemetry: bool = option(
        False, "Make spans by OpenTelemetry's API (an extra), with the process's tracer provider.", ours=True
    )


class ProducerOptions(ClientOptions):
    """What producers have beside."""

    create_topic_key: str = option(DEFAULT_TOPIC, "Topic that new topics are copied from.")
    default_topic_queue_nums: int = option(4, "Queues of a new topic on each broker, at most.", low=1)
    send_msg_timeout: int = option(3_000, "Longest time of a send with all its tries.", unit="ms", low=1)
    send_msg_max_timeout_per_request: int = option(
        -1, "Longest time of one try while others are left; -1: what is left of the whole.", unit="ms"
    )
    compress_msg_body_over_howmuch: int = option(
        4096, "Bodies from this size on are compressed.", unit="bytes"
    )
    compress_type: Compression = option(Compression.ZLIB, "How bodies are compressed.")
    compress_level: int = option(5, "How hard is tried; zlib to 9, zstd to 22.", low=1, high=22)
    retry_times_when_send_failed: int = option(2, "Further tries of a send, on other brokers if there are.")
    retry_times_when_send_async_failed: int = option(2, "The same, of a send that is not waited for.")
    retry_another_broker_when_not_store_ok: bool = option(
        False,
        "Send again what is stored less safely than configured.",
        name="retryAnotherBrokerWhenNotStoreOK",
    )
    max_message_size: int = option(4 * 1024**2, "Largest body, and largest batch.", unit="bytes", low=1)
    max_sends_in_flight: int = option(
        10_000, "Sends that may be under way; more are refused.", low=1, ours=True
    )


class ConsumerOptions(ClientOptions):
    """What all consumers have beside."""

    message_model: MessageModel = option(
        MessageModel.CLUSTERING, "Whether members share messages or each gets all."
    )
    consume_from_where: ConsumeFrom = option(
        ConsumeFrom.LAST_OFFSET, "Where a group begins that has never consumed."
    )
    consume_timestamp: str = option(
        "", "yyyyMMddHHmmss, local time, for CONSUME_FROM_TIMESTAMP; empty: half an hour ago."
    )
    max_reconsume_times: int = option(
        -1, "Times a message comes again; -1: 16, and without end for ordered consumers.", low=-1
    )
    local_offset_store_dir: str = option(
        "~/.rocketmq_offsets",
        "Folder of the offsets of broadcasting.",
        name="rocketmq.client.localOffsetStoreDir",
    )
    broker_suspend_max_time_millis: int = option(20_000, "Time a pull waits at the broker.", unit="ms")
    consumer_timeout_millis_when_suspend: int = option(
        30_000, "Longest time for the answer to such a pull.", unit="ms", low=1
    )
    consumer_pull_timeout_millis: int = option(
        10_000, "Longest time for the answer to a pull that does not wait.", unit="ms", low=1
    )


class PushOptions(ConsumerOptions):
    """What push consumers have beside."""

    broker_suspend_max_time_millis: int = option(15_000, "Time a pull waits at the broker.", unit="ms")
    consume_thread_min: int = option(20, "Calls of the listener at once.", low=1, high=1000)
    consume_thread_max: int = option(20, "As `consumeThreadMin`; the larger counts.", low=1, high=1000)
    consume_concurrently_max_span: int = option(
        2000,
        "Offsets between the first and the last message that wait, above which nothing is pulled.",
        low=1,
        high=65535,
    )
    pull_threshold_for_queue: int = option(
        1000, "Messages of a queue that wait, above which nothing is pulled.", low=1, high=65535
    )
    pull_threshold_size_for_queue: int = option(100, "The same in bytes.", unit="MiB", low=1, high=1024)
    pull_threshold_for_topic: int = option(-1, "The same for a topic, shared by its queues.", high=6_553_500)
    pull_threshold_size_for_topic: int = option(-1, "The same in bytes.", unit="MiB", high=102_400)
    pull_interval: int = option(0, "Rest between pulls.", unit="ms", high=65535)
    pull_batch_size: int = option(32, "Messages of a pull.", low=1, high=1024)
    pull_batch_size_in_bytes: int = option(256 * 1024, "Bytes of a pull.", unit="bytes", low=1)
    consume_message_batch_max_size: int = option(
        1, "Messages given to the listener at once.", low=1, high=1024
    )
    post_subscription_when_pull: bool = option(False, "Send the tags with every pull.")
    suspend_current_queue_time_millis: int = option(
        1_000, "Rest of an ordered queue after a failure.", unit="ms", low=10, high=30_000
    )
    consume_timeout: int = option(
        15, "Time after which a message is sent back while it is consumed.", unit="min", low=1
    )
    await_termination_millis_when_shutdown: int = option(
        0, "Time that listeners are given to finish at the end.", unit="ms"
    )
    client_rebalance: bool = option(
        True, "Share queues among ourselves; false: the broker does, and may say POP."
    )
    pop_invisible_time: int = option(
        60_000, "Time after which a popped message comes again.", unit="ms", low=5_000, high=300_000
    )
    pop_batch_nums: int = option(32, "Messages of a pop.", low=1, high=32)
    pop_threshold_for_queue: int = option(
        96, "Popped messages of a queue that wait, above which nothing is popped.", low=1
    )


class PullOptions(ConsumerOptions):
    """Pull consumers have nothing beside."""


class SimpleOptions(ConsumerOptions):
    """What simple consumers have beside."""

    pop_invisible_time: int = option(
        60_000,
        "Time after which a message comes again that was not acknowledged.",
        unit="ms",
        low=1_000,
        high=43_200_000,
    )


class LitePullOptions(ConsumerOptions):
    """What lite pull consumers have beside."""

    auto_commit: bool = option(True, "Commit what was polled.")
    auto_commit_interval_millis: int = option(5_000, "Time between those commits.", unit="ms", low=1_000)
    pull_batch_size: int = option(10, "Messages of a pull.", low=1, high=1024)
    pull_threshold_for_all: int = option(10_000, "Messages that wait, above which nothing is pulled.", low=1)
    pull_threshold_for_queue: int = option(1000, "The same for a queue.", low=1, high=65535)
    pull_threshold_size_for_queue: int = option(100, "The same in bytes.", unit="MiB", low=1, high=1024)
    consume_max_span: int = option(
        2000,
        "Offsets between the first and the last message that wait, above which nothing is pulled.",
        low=1,
    )
    poll_timeout_millis: int = option(5_000, "Time that a poll waits if not told.", unit="ms")
    topic_metadata_check_interval_millis: int = option(
        30_000, "Time between looks for queues that came or went.", unit="ms", low=10
    )


def made(kind: type[T], given: Mapping[str, Any], others: Iterable[str] = ()) -> T:
    """Options from keyword arguments. Raises `BadArgument` for unknown names, wrong types and ranges.

    `others` are arguments that are no settings; one of them may be what a misspelt name was meant to be.
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
    import ssl  # for those who use it: commands start without

    return isinstance(value, ssl.SSLContext)


def _check_address(address: str) -> None:
    host, _, port = address.rpartition(":")
    if not host or not (port.isascii() and port.isdigit() and 0 < int(port) < 65536) or "/" in host:
        raise BadArgument(f"namesrv_addr={address}: pass host:port, several joined by ';', as 127.0.0.1:9876")


def _no_setting(name: str, known: list[str]) -> str:
    near = closest(snake_case(name), sorted(known))
    return f"there is no setting {name}" + (f": did you mean {near}?" if near else "")


def checked(options: T) -> T:
    """The same options, values of enumerations as such. Raises `BadArgument`."""
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
    """The name servers that are configured, here or in the environment."""
    text = options.namesrv_addr or os.environ.get("NAMESRV_ADDR", "")
    return split_addresses(text)


def shown(options: ClientOptions) -> dict[str, str]:
    """Every setting as text by the standard's name, secrets hidden: what an administrator may see."""
    return {
        one.name: HIDDEN if one.secret else format_value(getattr(options, one.attribute))
        for one in options_of(type(options))
    }
