"""Every option of source, sink and store reader: name, type, default, unit, meaning, and who may say what.

Spark lower-cases names; here they are found in any spelling. What the stock connector knows has its name and
default; the rest is marked as ours. Options are judged when a query is planned: `BadOption` names the option
and what would be right. Standard: rocketmq-spark's `RocketMQSourceProvider`, `RocketMQConf`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from mqgateway.engine.message import validate_group, validate_topic
from mqgateway.engine.options import TlsOptions
from mqgateway.engine.options.option import BadValue, Option, closest, format_value, option, options_of
from mqgateway.engine.options.option_set import Options
from mqgateway.pipeline.errors import BadOption

T = TypeVar("T", bound=Options)

SPARK_OWN = frozenset({"path", "checkpointlocation", "queryname", "outputmode"})
"""What Spark itself puts among the options."""
REFUSED = {
    "group": "every query reads for itself and keeps its offsets in its checkpoint; "
    "use consumerGroup if the broker is to know the readers by a name",
    "path": "a topic is named with the option topic",
}


class ServerOptions(Options):
    """Whom to ask, and how."""

    name_server: str = option("", "Name servers, `host:port` joined by `;`.")
    topic: str = option("", "Topic; several are joined by `,`. Of the sink: goes before the column topic.")
    access_key: str = option("", "Name under which requests are signed; empty: they are not.", ours=True)
    secret_key: str = option("", "Key that requests are signed with.", secret=True, ours=True)
    security_token: str = option("", "Token that is sent along.", secret=True, ours=True)
    credentials_file: str = option(
        "", "File on each node with accessKey and secretKey, as tools.yml, that may change.", ours=True
    )
    use_tls: bool = option(False, "Open connections with TLS.", name="useTLS", ours=True)
    namespace: str = option("", "Namespace of the topics.", ours=True)
    num_retries: int = option(
        3, "Further tries of a question that a server did not answer.", name="fetchOffset.numRetries"
    )
    retry_interval_ms: int = option(
        1000, "Rest between them.", unit="ms", low=1, name="fetchOffset.retryIntervalMs"
    )
    connect_timeout_ms: int = option(
        5_000, "Time for which servers are tried that have not answered the query yet.", unit="ms", ours=True
    )
    unreachable_timeout_ms: int = option(
        60_000, "Time for which a server is tried again that has answered before.", unit="ms", ours=True
    )


class SourceOptions(ServerOptions):
    """What the source `rocketmq` knows."""

    topic_pattern: str = option("", "Regular expression for whole names of topics.", ours=True)
    starting_offsets: str = option(
        "", "earliest, latest or JSON; empty: latest for streams, earliest for batches."
    )
    ending_offsets: str = option("", "latest or JSON, for batches; empty: latest.")
    starting_timestamp: str = option("", "Begin with what was stored then or later.", ours=True)
    ending_timestamp: str = option("", "End before what was stored then, for batches.", ours=True)
    starting_offsets_by_timestamp: str = option("", "The same by queue, as JSON, in ms.", ours=True)
    ending_offsets_by_timestamp: str = option("", "The same by queue, as JSON, in ms.", ours=True)
    fail_on_data_loss: bool = option(True, "Fail when messages to be read are gone, else go on.")
    sub_expression: str = option("*", "Messages wanted, chosen by the broker: tags joined by `||`, or SQL92.")
    expression_type: str = option("TAG", "TAG or SQL92: what subExpression is written in.", ours=True)
    pull_timeout_ms: int = option(120_000, "Longest time for the answer to a pull.", unit="ms", low=1)
    pull_batch_size: int = option(32, "Messages asked for with one pull.", low=1, high=1024)
    pulls_in_flight: int = option(3, "Pulls of one task under way at a time.", low=1, high=64, ours=True)
    max_offsets_per_trigger: int = option(0, "Messages of a micro-batch, at most; 0: no limit.")
    max_messages_per_trigger: int = option(0, "The same.", ours=True)
    min_partitions: int = option(0, "Tasks wanted at least; queues are split for it.", ours=True)
    max_partitions_per_queue: int = option(
        64, "Tasks that one queue is split into at most.", low=1, ours=True
    )
    include_columns: str = option(
        "", "Columns wanted, joined by `,`; empty: the connector's nine.", ours=True
    )
    push_down_filters: bool = option(
        False,
        "Let Spark's filters on queue, offset and store time narrow what is read; needs "
        "spark.sql.python.filterPushdown.enabled=true.",
        ours=True,
    )
    arrow_batch_rows: int = option(4096, "Rows of an Arrow batch, at most.", low=1, high=1 << 20, ours=True)
    task_memory_bytes: int = option(
        32 << 20,
        "Bytes of messages that a task holds, about.",
        unit="bytes",
        low=1 << 20,
        high=1 << 30,
        ours=True,
    )
    consumer_group: str = option("spark-rocketmq", "Group that pulls are made for.", ours=True)

    @property
    def limit_per_trigger(self) -> int:
        """Messages of a micro-batch; 0 for no limit."""
        return self.max_offsets_per_trigger or self.max_messages_per_trigger


class SinkOptions(ServerOptions):
    """What the sink `rocketmq` knows."""

    producer_group: str = option("spark-rocketmq-sink", "Group that sends.", ours=True)
    order_column: str = option(
        "", "Rows with the same value go to the same queue, in the order they come in.", ours=True
    )
    idempotence_key: str = option(
        "",
        "Begin of a property SPARK_ID that every message gets, by which repeats of a task are known; "
        "`query` stands for the id of the streaming query.",
        ours=True,
    )
    transactional: bool = option(
        False, "Let rows be seen when the batch is committed, and not before.", ours=True
    )
    transaction_log: str = option(
        "",
        "Folder of the driver (path or URI) in which transactions are noted; of streams by default "
        "`rocketmq-transactions` in the checkpoint.",
        ours=True,
    )
    send_timeout_ms: int = option(
        10_000, "Longest time of a send with all its tries.", unit="ms", low=1, ours=True
    )
    send_batch_size: int = option(64, "Messages sent together, at most.", low=1, high=4096, ours=True)
    send_batch_bytes: int = option(
        1 << 20, "Bytes sent together, about.", unit="bytes", low=1024, high=4 << 20, ours=True
    )
    pace_column: str = option(
        "", "A timestamp: rows are sent as far apart as their times are; see paceFrom.", ours=True
    )
    pace_from: int = option(
        0, "The time in paceColumn that is to be now.", unit="ms", high=1 << 53, ours=True
    )
    pace_at: int = option(
        0, "What now is, in ms since the epoch; the same for all tasks.", unit="ms", high=1 << 53, ours=True
    )
    pace_speed: float = option(1.0, "How much faster than it was.", low=0.001, high=1e6, ours=True)
    sends_in_flight: int = option(8, "Batches of one task under way at a time.", low=1, high=1024, ours=True)


class StoreReadOptions(Options):
    """What the offline reader `rocketmq-store` knows."""

    store_dir: str = option("", "The store's folder, or its commitlog folder.", ours=True)
    topic: str = option("", "Only these topics, joined by `,`; empty: all but the broker's own.")
    include_system_topics: bool = option(False, "Also the broker's own topics.", ours=True)
    include_columns: str = option("", "Columns wanted, joined by `,`; empty: the store reader's.", ours=True)
    broker_name: str = option("", "What the column brokerName says.", ours=True)
    split_bytes: int = option(
        64 << 20, "Bytes of the log that one task reads, about.", unit="bytes", low=1 << 12, ours=True
    )
    skip_corrupt: bool = option(
        True, "Pass over records that are damaged, and count them; else fail.", ours=True
    )
    corrupt_rows: bool = option(
        False,
        "Give a row for every damaged place, with the column `corrupt` saying what is wrong.",
        ours=True,
    )
    check_crc: bool = option(True, "Compare bodies with their checksums.", ours=True)
    arrow_batch_rows: int = option(4096, "Rows of an Arrow batch, at most.", low=1, high=1 << 20, ours=True)
    task_memory_bytes: int = option(
        32 << 20,
        "Bytes of messages that a task holds, about.",
        unit="bytes",
        low=1 << 20,
        high=1 << 30,
        ours=True,
    )


def parse(kind: type[T], given: Mapping[str, str], *, spark_own: Iterable[str] = SPARK_OWN) -> T:
    """Options as Spark gives them: names in any case, values as text. Raises `BadOption`."""
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
            raise BadOption(name, text, "cannot be given", REFUSED[lower])
        elif lower not in spark_own:
            raise BadOption(name, text, "is no option", _meant(lower, known))
    return kind(**chosen)


def parse_tls(given: Mapping[str, str]) -> TlsOptions:
    """The options of TLS among them, under the standard's names (`tls.client.trustCertPath` ...)."""
    known = {one.name.lower(): one for one in options_of(TlsOptions)}
    tls = TlsOptions()
    for name, text in given.items():
        if name.lower().startswith("tls."):
            one = known.get(name.lower())
            if one is None:
                raise BadOption(name, text, "is no option", _meant(name.lower(), known))
            setattr(tls, one.attribute, _value(one, text))
    return tls


def of_servers(given: Mapping[str, str]) -> dict[str, str]:
    """What says whom to ask and how, without the topic: the same for a source and the sinks of one query."""
    known = {one.name.lower() for one in options_of(ServerOptions)} - {"topic"}
    return {
        name: text for name, text in given.items() if name.lower() in known or name.lower().startswith("tls.")
    }


def required(options: Options, *attributes: str) -> None:
    """Refuse options that are empty though they are needed. Raises `BadOption`."""
    for one in options_of(type(options)):
        if one.attribute in attributes and not getattr(options, one.attribute):
            raise BadOption(one.name, "", "is needed", one.meaning)


def check_servers(options: ServerOptions, given: Mapping[str, str]) -> TlsOptions:
    """Refuse what cannot reach a server: no address or none that is one, half a key, TLS that is set up and
    off. The options of TLS are given back. Raises `BadOption`."""
    required(options, "name_server")
    for address in options.name_server.split(";"):
        host, _, port = address.strip().rpartition(":")
        if address.strip() and not (host and "/" not in host and port.isdigit() and 0 < int(port) < 65536):
            what, right = f"{address.strip()!r} is no address", "write host:port, several joined by `;`"
            raise BadOption("nameServer", options.name_server, what, right)
    if options.access_key and not options.secret_key:
        raise BadOption("secretKey", "", "is needed", "accessKey and secretKey belong together")
    if not options.access_key and (options.secret_key or options.security_token):
        raise BadOption("accessKey", "", "is needed", "accessKey and secretKey belong together")
    if options.access_key and options.credentials_file:
        raise BadOption("credentialsFile", options.credentials_file, "accessKey is given as well", "drop one")
    tls = parse_tls(given)
    set_up = [name for name in given if name.lower().startswith("tls.")]
    if set_up and not options.use_tls:
        raise BadOption(
            "useTLS", "false", f"{set_up[0]} is given as well", "set useTLS to true, or leave it out"
        )
    if tls.tls_client_auth_server and tls.tls_test_mode_enable:
        what, right = "no server is checked in test mode", "set it to false for tls.client.authServer"
        raise BadOption("tls.test.mode.enable", "true", what, right)
    return tls


def check_names(option: str, text: str, chosen: Iterable[str], *, is_group: bool = False) -> None:
    """Refuse names of topics, or of groups, that no broker would take. Raises `BadOption`."""
    for name in chosen:
        remark = (validate_group if is_group else validate_topic)(name)
        if remark:
            raise BadOption(option, text, remark.rstrip("."))


def names(text: str) -> list[str]:
    """Names joined by `,`, blanks removed, each once."""
    return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def table(kind: type[Options]) -> list[tuple[str, str, str, str]]:
    """Name, default, unit and meaning of every option, for the documentation."""
    return [(one.name, format_value(one.default), one.unit, one.meaning) for one in options_of(kind)]


def _value(one: Option, text: str) -> Any:
    try:
        return one.parse(text)
    except BadValue as error:
        right = f"{error.suggestion} would be right" if error.suggestion else one.meaning
        raise BadOption(one.name, text, error.what, right) from None


def _meant(lower: str, known: Mapping[str, Option]) -> str:
    near = closest(lower, list(known))
    if near:
        return f"did you mean {known[near].name}?"
    return "known are " + ", ".join(sorted(one.name for one in known.values()))
