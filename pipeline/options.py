"""Every option of source, sink and store reader: name, type, default, unit and meaning.

Spark lower-cases names; here case is ignored. Options of the Apache connector have its names and defaults;
the others are marked as ours. Options are checked when a query is planned: `BadOption` names the option
and a valid value. Standard: rocketmq-spark's `RocketMQSourceProvider`, `RocketMQConf`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from mqgateway.engine.names import validate_group, validate_topic
from mqgateway.engine.options import TlsOptions
from mqgateway.engine.options.option import BadValue, Option, closest, format_value, option, options_of
from mqgateway.engine.options.option_set import Options
from mqgateway.pipeline.errors import BadOption

T = TypeVar("T", bound=Options)

SPARK_OWN = frozenset({"path", "checkpointlocation", "queryname", "outputmode"})
"""Options that Spark itself adds."""
REFUSED = {
    "group": "queries do not share messages and keep their offsets in their checkpoints; "
    "use consumerGroup to set the group name that the broker sees",
    "path": "set the topic with the option topic",
}


class ServerOptions(Options):
    """Servers, credentials and retries."""

    name_server: str = option("", "Name servers as `host:port`, separated by `;`.")
    topic: str = option(
        "", "Topics, separated by `,`. A sink has one topic, which overrides the column topic."
    )
    access_key: str = option(
        "", "Access key that requests are signed with. Empty: requests are not signed.", ours=True
    )
    secret_key: str = option("", "Secret key that requests are signed with.", secret=True, ours=True)
    security_token: str = option("", "Security token sent with signed requests.", secret=True, ours=True)
    credentials_file: str = option(
        "",
        "File on each node with accessKey and secretKey, as tools.yml. A changed file is read again.",
        ours=True,
    )
    use_tls: bool = option(False, "Open connections with TLS.", name="useTLS", ours=True)
    namespace: str = option("", "Namespace of the topics.", ours=True)
    num_retries: int = option(
        3, "Number of retries of a request that a server did not answer.", name="fetchOffset.numRetries"
    )
    retry_interval_ms: int = option(
        1000, "Delay between retries.", unit="ms", low=1, name="fetchOffset.retryIntervalMs"
    )
    connect_timeout_ms: int = option(
        5_000,
        "Time for which a server is retried that has not answered in this query yet.",
        unit="ms",
        ours=True,
    )
    unreachable_timeout_ms: int = option(
        60_000,
        "Time for which a server is retried that has answered in this query before.",
        unit="ms",
        ours=True,
    )


class SourceOptions(ServerOptions):
    """Options of the source `rocketmq`."""

    topic_pattern: str = option("", "Regular expression that matches whole topic names.", ours=True)
    starting_offsets: str = option(
        "", "Start position: earliest, latest or JSON. Empty: latest for streams, earliest for batches."
    )
    ending_offsets: str = option("", "End position of a batch: latest or JSON. Empty: latest.")
    starting_timestamp: str = option("", "Start with messages stored at this time or later.", ours=True)
    ending_timestamp: str = option("", "End before messages stored at this time, for batches.", ours=True)
    starting_offsets_by_timestamp: str = option("", "Start times by queue, as JSON, in ms.", ours=True)
    ending_offsets_by_timestamp: str = option("", "End times by queue, as JSON, in ms.", ours=True)
    fail_on_data_loss: bool = option(True, "Fail if messages to be read no longer exist. False: continue.")
    sub_expression: str = option("*", "Filter that the broker applies: tags separated by `||`, or SQL92.")
    expression_type: str = option("TAG", "Language of subExpression: TAG or SQL92.", ours=True)
    pull_timeout_ms: int = option(120_000, "Timeout of a pull.", unit="ms", low=1)
    pull_batch_size: int = option(32, "Maximum number of messages in a pull.", low=1, high=1024)
    pulls_in_flight: int = option(
        3, "Maximum number of pulls in flight of one task.", low=1, high=64, ours=True
    )
    max_offsets_per_trigger: int = option(0, "Maximum number of messages in a micro-batch. 0: no limit.")
    max_messages_per_trigger: int = option(0, "Another name of maxOffsetsPerTrigger.", ours=True)
    min_partitions: int = option(0, "Minimum number of tasks. Queues are split to reach it.", ours=True)
    max_partitions_per_queue: int = option(
        64, "Maximum number of tasks that one queue is split into.", low=1, ours=True
    )
    include_columns: str = option(
        "", "Columns to read, separated by `,`. Empty: the nine columns of the Apache connector.", ours=True
    )
    push_down_filters: bool = option(
        False,
        "Apply Spark's filters on queue, offset and store time when reading. Requires "
        "spark.sql.python.filterPushdown.enabled=true.",
        ours=True,
    )
    arrow_batch_rows: int = option(
        4096, "Maximum number of rows in an Arrow batch.", low=1, high=1 << 20, ours=True
    )
    task_memory_bytes: int = option(
        32 << 20,
        "Approximate memory that a task uses for messages.",
        unit="bytes",
        low=1 << 20,
        high=1 << 30,
        ours=True,
    )
    consumer_group: str = option("spark-rocketmq", "Consumer group of the pulls.", ours=True)

    @property
    def limit_per_trigger(self) -> int:
        """Return the maximum number of messages in a micro-batch; 0 for no limit."""
        return self.max_offsets_per_trigger or self.max_messages_per_trigger


class SinkOptions(ServerOptions):
    """Options of the sink `rocketmq`."""

    producer_group: str = option("spark-rocketmq-sink", "Producer group of the sends.", ours=True)
    order_column: str = option(
        "", "Column that selects the queue: rows with the same value go to one queue in order.", ours=True
    )
    idempotence_key: str = option(
        "",
        "Prefix of the property SPARK_ID of every message, which identifies repeats after a retried "
        "task. `query` stands for the id of the streaming query.",
        ours=True,
    )
    transactional: bool = option(False, "Make rows visible only when the batch is committed.", ours=True)
    transaction_log: str = option(
        "",
        "Folder (path or URI) in which the driver records transactions. Default for streams: "
        "`rocketmq-transactions` in the checkpoint.",
        ours=True,
    )
    send_timeout_ms: int = option(
        10_000, "Timeout of a send, including all attempts.", unit="ms", low=1, ours=True
    )
    send_batch_size: int = option(64, "Maximum number of messages in one send.", low=1, high=4096, ours=True)
    send_batch_bytes: int = option(
        1 << 20, "Approximate maximum size of one send.", unit="bytes", low=1024, high=4 << 20, ours=True
    )
    pace_column: str = option(
        "", "Timestamp column: rows are sent with the delays between its values, see paceFrom.", ours=True
    )
    pace_from: int = option(
        0, "Time in paceColumn that corresponds to paceAt.", unit="ms", high=1 << 53, ours=True
    )
    pace_at: int = option(
        0,
        "Time at which rows with the time paceFrom are sent, in ms since the epoch. It must be the same "
        "for all tasks.",
        unit="ms",
        high=1 << 53,
        ours=True,
    )
    pace_speed: float = option(
        1.0, "Factor by which rows are sent faster than recorded.", low=0.001, high=1e6, ours=True
    )
    sends_in_flight: int = option(
        8, "Maximum number of sends in flight of one task.", low=1, high=1024, ours=True
    )


class StoreReadOptions(Options):
    """Options of the offline reader `rocketmq-store`."""

    store_dir: str = option("", "Folder of the store, or its commitlog folder.", ours=True)
    topic: str = option("", "Topics to read, separated by `,`. Empty: all topics except system topics.")
    include_system_topics: bool = option(False, "Read system topics as well.", ours=True)
    include_columns: str = option(
        "", "Columns to read, separated by `,`. Empty: the default columns of the store reader.", ours=True
    )
    broker_name: str = option("", "Value of the column brokerName.", ours=True)
    split_bytes: int = option(
        64 << 20,
        "Approximate size of the part of the log that one task reads.",
        unit="bytes",
        low=1 << 12,
        ours=True,
    )
    skip_corrupt: bool = option(True, "Skip and count damaged records. False: fail.", ours=True)
    corrupt_rows: bool = option(
        False,
        "Return a row for every damaged position, with the reason in the column `corrupt`.",
        ours=True,
    )
    check_crc: bool = option(True, "Verify the checksums of bodies.", ours=True)
    arrow_batch_rows: int = option(
        4096, "Maximum number of rows in an Arrow batch.", low=1, high=1 << 20, ours=True
    )
    task_memory_bytes: int = option(
        32 << 20,
        "Approximate memory that a task uses for messages.",
        unit="bytes",
        low=1 << 20,
        high=1 << 30,
        ours=True,
    )


def parse(kind: type[T], given: Mapping[str, str], *, spark_own: Iterable[str] = SPARK_OWN) -> T:
    """Parse options from Spark: names in any case, values as text. Raises `BadOption`."""
    known = {one.name.lower(): one for one in options_of(kind)}
    chosen: dict[str, Any] = {}
    for name, text in given.items():
        lower = name.lower()
        if lower.startswith("tls.") and kind is not StoreReadOptions:
            continue
        one = known.get(lower)
        if one is not None:
            chosen[one.attribute] = _value(one, text)
        elif lower in REFUSED and not (lower == "path" and "path" in spark_own):
            raise BadOption(name, text, "is not supported", REFUSED[lower])
        elif lower not in spark_own:
            raise BadOption(name, text, "is not an option", _meant(lower, known))
    return kind(**chosen)


def parse_tls(given: Mapping[str, str]) -> TlsOptions:
    """Return the TLS options among `given`, by RocketMQ's names (`tls.client.trustCertPath` ...)."""
    known = {one.name.lower(): one for one in options_of(TlsOptions)}
    tls = TlsOptions()
    for name, text in given.items():
        if name.lower().startswith("tls."):
            one = known.get(name.lower())
            if one is None:
                raise BadOption(name, text, "is not an option", _meant(name.lower(), known))
            setattr(tls, one.attribute, _value(one, text))
    return tls


def of_servers(given: Mapping[str, str]) -> dict[str, str]:
    """Return the options of servers without the topic, which source and sinks of a query share."""
    known = {one.name.lower() for one in options_of(ServerOptions)} - {"topic"}
    return {
        name: text for name, text in given.items() if name.lower() in known or name.lower().startswith("tls.")
    }


def required(options: Options, *attributes: str) -> None:
    """Refuse empty options that are required. Raises `BadOption`."""
    for one in options_of(type(options)):
        if one.attribute in attributes and not getattr(options, one.attribute):
            raise BadOption(one.name, "", "is needed", one.meaning)


def check_servers(options: ServerOptions, given: Mapping[str, str]) -> TlsOptions:
    """Return the TLS options after checking addresses, credentials and TLS. Raises `BadOption`."""
    required(options, "name_server")
    for address in options.name_server.split(";"):
        host, _, port = address.strip().rpartition(":")
        if address.strip() and not (host and "/" not in host and port.isdigit() and 0 < int(port) < 65536):
            what, right = (
                f"{address.strip()!r} is not an address",
                "write host:port, separated by `;`",
            )
            raise BadOption("nameServer", options.name_server, what, right)
    if options.access_key and not options.secret_key:
        raise BadOption("secretKey", "", "is needed", "accessKey and secretKey belong together")
    if not options.access_key and (options.secret_key or options.security_token):
        raise BadOption("accessKey", "", "is needed", "accessKey and secretKey belong together")
    if options.access_key and options.credentials_file:
        raise BadOption(
            "credentialsFile",
            options.credentials_file,
            "accessKey is given as well",
            "remove one of them",
        )
    tls = parse_tls(given)
    set_up = [name for name in given if name.lower().startswith("tls.")]
    if set_up and not options.use_tls:
        raise BadOption("useTLS", "false", f"{set_up[0]} is given as well", "set useTLS to true or remove it")
    if tls.tls_client_auth_server and tls.tls_test_mode_enable:
        what, right = "test mode does not verify servers", "set it to false for tls.client.authServer"
        raise BadOption("tls.test.mode.enable", "true", what, right)
    return tls


def check_names(option: str, text: str, chosen: Iterable[str], *, is_group: bool = False) -> None:
    """Refuse invalid names of topics or groups. Raises `BadOption`."""
    for name in chosen:
        remark = (validate_group if is_group else validate_topic)(name)
        if remark:
            raise BadOption(option, text, remark.rstrip("."))


def names(text: str) -> list[str]:
    """Split names at `,`, without blanks and duplicates."""
    return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def table(kind: type[Options]) -> list[tuple[str, str, str, str]]:
    """Return name, default, unit and meaning of every option, for the documentation."""
    return [(one.name, format_value(one.default), one.unit, one.meaning) for one in options_of(kind)]


def _value(one: Option, text: str) -> Any:
    try:
        return one.parse(text)
    except BadValue as error:
        right = f"use {error.suggestion}" if error.suggestion else one.meaning
        raise BadOption(one.name, text, error.what, right) from None


def _meant(lower: str, known: Mapping[str, Option]) -> str:
    near = closest(lower, list(known))
    if near:
        return f"did you mean {known[near].name}?"
    return "valid options are " + ", ".join(sorted(one.name for one in known.values()))
