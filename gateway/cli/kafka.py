"""`mqgateway kafka groups|group|transactions|producers|records|doctor`: what Kafka's clients do.

The commands speak Kafka's protocol, so they work with Apache Kafka's clusters too. Nothing is changed.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import Event
from typing import TYPE_CHECKING, Any, Final

import click

from mqgateway.engine.clock import SystemClock
from mqgateway.gateway.cli.client_flags import reports_errors
from mqgateway.gateway.cli.migrate_files import print_row
from mqgateway.gateway.cli.migrate_kafka import addresses_in, security_of
from mqgateway.gateway.cli.plain import body_text, escaped, escaped_json

if TYPE_CHECKING:
    from mqgateway.gateway.cli.kafka_queries import KafkaGroupDetails
    from mqgateway.gateway.cli.kafka_records import ShownRecord
    from mqgateway.gateway.migration.kafka.cluster import KafkaCluster, Partition

ANSWER_SECONDS: Final = 15.0
"""Time that an answer may take."""
SHOWN_MAX: Final = 500
"""Maximum bytes of a key, a value or a header in a line."""
FOUND: Final = 5
"""Exit code of `doctor` if it found a problem, as of `mqgateway doctor`."""
EXAMPLES = """\b
Examples:
  mqgateway kafka groups
  mqgateway kafka group orders-app -b 10.0.0.5:9092
  mqgateway kafka transactions
  mqgateway kafka producers orders
  mqgateway kafka records orders -p 0 -o 1200 -l 5
  mqgateway kafka doctor"""

Command = Callable[..., Any]


@click.group(epilog=EXAMPLES)
def kafka() -> None:
    """Show groups, transactions, producers and records of a Kafka cluster, and find problems."""


def _flags(command: Command) -> Command:
    """Add the flags of all commands."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line."),
        click.option(
            "--command-config",
            "config",
            default="",
            metavar="FILE",
            help="Client properties for TLS and authentication, as for Kafka's commands.",
        ),
        click.option(
            "-b",
            "--bootstrap-server",
            "bootstrap",
            default="127.0.0.1:9092",
            show_default=True,
            metavar="HOST:PORT",
            help="Brokers, separated by ','.",
        ),
    ):
        command = option(command)
    return command


@contextlib.contextmanager
def _cluster(bootstrap: str, config: str) -> Iterator[KafkaCluster]:
    from mqgateway.gateway.migration.kafka.cluster import KafkaCluster

    found = KafkaCluster(addresses_in(bootstrap), security_of(config), ANSWER_SECONDS)
    with contextlib.closing(found):
        yield found


def _print(names: Sequence[str], rows: Iterable[dict[str, Any]], as_json: bool, nothing: str) -> None:
    """Print rows as JSON, or as a table of these members."""
    from mqgateway.gateway.resources.rendering import lines

    if as_json:
        for row in rows:
            print_row(row)
    else:
        click.echo("".join(lines(names, rows, nothing)), nl=False)


@kafka.command(epilog="\b\nExamples:\n  mqgateway kafka groups --json")
@_flags
@reports_errors
def groups(bootstrap: str, config: str, as_json: bool) -> None:
    """List the groups of all types with their members and their lag."""
    from mqgateway.gateway.cli.kafka_queries import details_of
    from mqgateway.gateway.migration.kafka.groups import read_groups

    with _cluster(bootstrap, config) as cluster:
        rows = [_group_row(details_of(cluster, one)) for one in read_groups(cluster)]
    _print(("group", "type", "state", "assignor", "members", "lag"), rows, as_json, "no groups")


def _group_row(group: KafkaGroupDetails) -> dict[str, Any]:
    return {
        "group": group.name,
        "type": group.kind,
        "state": group.state,
        "assignor": group.assignor,
        "members": len(group.members),
        "lag": group.lag,
    }


@kafka.command(epilog="\b\nExamples:\n  mqgateway kafka group orders-app")
@click.argument("name", metavar="GROUP")
@_flags
@reports_errors
def group(name: str, bootstrap: str, config: str, as_json: bool) -> None:
    """Show the members of GROUP, and its offset and lag in each partition.

    OFFSET is the next one to read; of a share group it is the first one without an outcome.
    """
    from mqgateway.gateway.cli.kafka_queries import UNKNOWN_LAG, describe_group

    with _cluster(bootstrap, config) as cluster:
        found = describe_group(cluster, name)
    members = [
        {
            "member": one.member_id,
            "client": one.client_id,
            "host": one.host,
            "instance": one.instance_id,
            "partitions": list(map(str, one.partitions)),
        }
        for one in found.members
    ]
    positions = [
        {
            "topic": one.partition.topic,
            "partition": one.partition.number,
            "offset": one.offset,
            "lag": None if one.lag == UNKNOWN_LAG else one.lag,
        }
        for one in found.positions
    ]
    if as_json:
        print_row(_group_row(found) | {"members": members, "offsets": positions})
        return
    _print(tuple(_group_row(found)), [_group_row(found)], False, "")
    click.echo()
    _print(("member", "client", "host", "instance", "partitions"), members, False, "no members")
    click.echo()
    _print(("topic", "partition", "offset", "lag"), positions, False, "no offsets")


@kafka.command(epilog="\b\nExamples:\n  mqgateway kafka transactions --all")
@click.option("--all", "is_all", is_flag=True, help="Include transactional ids without an open transaction.")
@_flags
@reports_errors
def transactions(is_all: bool, bootstrap: str, config: str, as_json: bool) -> None:
    """List the open transactions, the oldest first."""
    from mqgateway.gateway.cli import kafka_queries as queries

    with _cluster(bootstrap, config) as cluster:
        found = queries.transactions(cluster, () if is_all else queries.UNFINISHED)
    rows = [
        {
            "transactionalId": one.transactional_id,
            "state": one.state,
            "producer": one.producer_id,
            "epoch": one.epoch,
            "startedAt": one.started,
            "timeoutSeconds": one.timeout / 1000,
            "partitions": list(map(str, sorted(one.partitions))),
        }
        for one in found
    ]
    names = ("transactionalId", "state", "producer", "epoch", "startedAt", "timeoutSeconds", "partitions")
    _print(names, rows, as_json, "no transactions")


@kafka.command(epilog="\b\nExamples:\n  mqgateway kafka producers orders")
@click.argument("topic")
@_flags
@reports_errors
def producers(topic: str, bootstrap: str, config: str, as_json: bool) -> None:
    """List the idempotent and transactional producers of TOPIC.

    OPEN SINCE is the first offset of a transaction that has not ended in the partition.
    """
    from mqgateway.gateway.cli import kafka_queries as queries

    with _cluster(bootstrap, config) as cluster:
        found = queries.producers(cluster, queries.partitions_of(cluster, [topic]))
    rows = [
        {
            "partition": one.partition.number,
            "producer": one.producer_id,
            "epoch": one.epoch,
            "lastSequence": one.last_sequence,
            "lastTimestamp": one.last_timestamp,
            "openSince": None if one.open_since == queries.NOT_OPEN else one.open_since,
        }
        for one in found
    ]
    names = ("partition", "producer", "epoch", "lastSequence", "lastTimestamp", "openSince")
    _print(names, rows, as_json, "no producers")


@kafka.command(epilog="\b\nExamples:\n  mqgateway kafka records orders -p 3 -o 1200 -l 1 --json")
@click.argument("topic")
@click.option("-p", "--partition", default=0, show_default=True, type=click.IntRange(0), help="Partition.")
@click.option("-o", "--offset", type=click.IntRange(0), help="First offset.  [default: the newest records]")
@click.option(
    "-l", "--limit", default=10, show_default=True, type=click.IntRange(1), help="Maximum number of records."
)
@_flags
@reports_errors
def records(
    topic: str, partition: int, offset: int | None, limit: int, bootstrap: str, config: str, as_json: bool
) -> None:
    """Show records of a partition of TOPIC: time, key, value, headers, producer and transaction.

    Records of aborted and open transactions are shown too, and the markers that end transactions. An open
    transaction may have been committed already, if an earlier one still keeps readers from it. Bytes that are
    no UTF-8 are shown in hexadecimal.
    """
    from mqgateway.gateway.cli.kafka_records import records as records_of
    from mqgateway.gateway.migration.kafka.cluster import Partition

    with _cluster(bootstrap, config) as cluster:
        place = Partition(topic, partition)
        begin = _newest(cluster, place, limit) if offset is None else offset
        for one in records_of(cluster, place, begin, limit):
            click.echo(_record_json(one) if as_json else _record_line(one))


def _newest(cluster: KafkaCluster, partition: Partition, count: int) -> int:
    """Return the offset from which on a partition has at most so many records."""
    from mqgateway.gateway.migration.kafka.reading import EARLIEST, LATEST, offsets

    ends, begins = (offsets(cluster, [partition], which) for which in (LATEST, EARLIEST))
    return max(begins.get(partition, 0), ends.get(partition, 0) - count)


def _record_line(one: ShownRecord) -> str:
    from mqgateway.gateway.cli.times import iso

    if one.marker:
        words = [f"marker: {one.marker}"]
    else:
        words = [f"{_brief(one.key)}: {_brief(one.value)}"]
        words += [f"{escaped(name)}={_brief(value)}" for name, value in one.headers]
    if one.producer_id >= 0:
        words.append(f"producer={one.producer_id}/{one.epoch}/{one.sequence}")
    if one.transaction:
        words.append(f"transaction={one.transaction}")
    return "  ".join((str(one.offset), iso(one.timestamp), *words))


def _brief(data: bytes | None) -> str:
    if data is None:
        return "null"
    more = f" ... {len(data)} bytes" if len(data) > SHOWN_MAX else ""
    try:
        data.decode()
    except UnicodeDecodeError:
        return f"0x{data[:SHOWN_MAX].hex()}{more}"
    return body_text(data[:SHOWN_MAX]) + more


def _record_json(one: ShownRecord) -> str:
    shown: dict[str, Any] = {"offset": one.offset, "timestamp": one.timestamp}
    if one.marker:
        shown["marker"] = one.marker
    else:
        shown |= _fields("key", one.key) | _fields("value", one.value)
        shown["headers"] = [{"name": name, **_fields("value", value)} for name, value in one.headers]
    if one.producer_id >= 0:
        shown |= {"producer": one.producer_id, "epoch": one.epoch, "sequence": one.sequence}
    if one.transaction:
        shown["transaction"] = one.transaction
    return escaped_json(json.dumps(shown, ensure_ascii=False))


def _fields(name: str, data: bytes | None) -> dict[str, Any]:
    """Return bytes as text, or with another name in hexadecimal if they are none."""
    try:
        return {name: None if data is None else data.decode()}
    except UnicodeDecodeError:
        assert data is not None
        return {f"{name}Hex": data.hex()}


@kafka.command(
    epilog="\b\nExamples:\n  mqgateway kafka doctor\n  mqgateway kafka doctor orders-app --watch 30"
)
@click.argument("name", metavar="[GROUP]", required=False)
@click.option(
    "--watch",
    default=5.0,
    show_default=True,
    type=click.FloatRange(0.1),
    metavar="SECONDS",
    help="Time after which a group that waits must have made progress.",
)
@_flags
@reports_errors
def doctor(name: str | None, watch: float, bootstrap: str, config: str, as_json: bool) -> None:
    """Find stuck groups, hanging transactions, and transactions that should have ended.

    With GROUP only this group is examined, and the transactions of the topics that it has offsets in. Exit
    code 5: something was found.
    """
    from mqgateway.gateway.cli.kafka_doctor import examine_cluster

    with _cluster(bootstrap, config) as cluster:
        topics = _topics_of(_examined(cluster, name)) if name else None
        found = examine_cluster(
            cluster,
            lambda: _examined(cluster, name),
            topics,
            now=SystemClock().millis(),
            watch=watch,
            wait=Event().wait,
        )
    for one in found:
        if as_json:
            print_row(one._asdict())
        else:
            click.echo(escaped(f"{one.check}: {one.what}") + "\n" + escaped(f"  -> {one.cure}"))
    if found:
        raise SystemExit(FOUND)
    if not as_json:
        click.echo("nothing was found")


def _examined(cluster: KafkaCluster, name: str | None) -> list[KafkaGroupDetails]:
    from mqgateway.gateway.cli.kafka_queries import describe_group, details_of
    from mqgateway.gateway.migration.kafka.groups import read_groups

    if name:
        return [describe_group(cluster, name)]
    return [details_of(cluster, one) for one in read_groups(cluster)]


def _topics_of(groups: Iterable[KafkaGroupDetails]) -> list[str]:
    return sorted({one.partition.topic for group in groups for one in group.positions})
