"""`mqgateway migrate kafka plan|run|verify`: move topics, records and groups of a Kafka cluster.

Exit codes are those of `mqgateway migrate`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import UTC
from typing import TYPE_CHECKING, Any

import click

from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.cli.migrate_files import (
    NOT_WELL,
    PROGRESS,
    PlanRun,
    errors_reported,
    print_row,
    write_file,
)
from mqgateway.gateway.cli.plain import escaped
from mqgateway.gateway.cli.times import iso
from mqgateway.gateway.migration.plan import MigrationError

if TYPE_CHECKING:
    from mqgateway.gateway.migration.kafka.cluster import KafkaCluster
    from mqgateway.gateway.migration.kafka.plan import KafkaPlan, KafkaProgress
    from mqgateway.gateway.migration.kafka.security import ClusterSecurity

ANSWER_SECONDS = 60.0
"""Time that an answer may take; a broker may wait 30 s for its replicas before it answers."""
LOCK = ".lock"
"""End of the name of the file that a run has locked."""
EXAMPLES_PLAN = """\b
Examples:
  mqgateway migrate kafka plan moving.json --from 10.0.0.1:9092 --to 10.0.0.5:9092
  mqgateway migrate kafka plan moving.json --from 10.0.0.1:9092 --to 10.0.0.5:9092 --topic orders
  mqgateway migrate kafka plan moving.json --from a:9093 --from-config client.properties --to b:9092"""
EXAMPLES_RUN = """\b
Examples:
  mqgateway migrate kafka run moving.json
  mqgateway migrate kafka run moving.json --finish"""
EXAMPLES_VERIFY = """\b
Examples:
  mqgateway migrate kafka verify moving.json --json"""

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line.")
_PLAN = click.argument("path", metavar="PLAN", type=click.Path(dir_okay=False))


@click.group(epilog=EXAMPLES_PLAN)
def kafka() -> None:
    "Copy topics, records and committed offsets of a Kafka cluster, and keep following it until clients move."


@kafka.command(epilog=EXAMPLES_PLAN)
@click.option(
    "--from",
    "source",
    required=True,
    metavar="HOST:PORT",
    help="Brokers of the Kafka cluster, separated by ','.",
)
@click.option(
    "--to",
    "target",
    required=True,
    metavar="HOST:PORT",
    help="Kafka listeners of mqgateway, separated by ','.",
)
@click.option(
    "--from-config", "source_config", default="", metavar="FILE", help="Client properties for --from."
)
@click.option("--to-config", "target_config", default="", metavar="FILE", help="Client properties for --to.")
@click.option("--topic", "topics", multiple=True, metavar="NAME", help="Limit to this topic; repeatable.")
@_JSON
@_PLAN
def plan(path: str, source: str, target: str, topics: tuple[str, ...], as_json: bool, **configs: str) -> None:
    """Inspect a Kafka cluster and write a plan of its migration.

    Nothing is changed. PLAN has the topics and the groups with their settings, the access control lists and
    the quotas; edit it to leave some of them out.

    Exit code 3: the output and PLAN name what differs at the target, and what is not moved.
    """
    from mqgateway.gateway.migration.kafka.plan import KafkaPlan
    from mqgateway.gateway.migration.kafka.survey import survey

    sides = KafkaPlan(addresses_in(source), addresses_in(target), *_paths(configs))
    with errors_reported(), _clusters(sides) as (old, new):
        made = survey(old, new, topics)
        made.source_config, made.target_config = sides.source_config, sides.target_config
        write_file(path, made.encode())
    counts = {"topics": len(made.topics), "partitions": len(made.partitions())}
    counts |= {"groups": len(made.groups) + len(made.share_groups), "acls": len(made.acls)}
    counts |= {"users": len(made.users), "quotas": len(made.client_quotas)}
    counts |= {"groups with settings": len(made.group_settings)}
    if as_json:
        print_row({**counts, "problems": made.problems})
    else:
        click.echo("  ".join(f"{count} {name}" for name, count in counts.items()))
        for problem in made.problems:
            click.echo(escaped(f"  {problem}"))
    if made.problems:
        raise SystemExit(NOT_WELL)


@kafka.command(epilog=EXAMPLES_RUN)
@click.option("--once", is_flag=True, help="End when everything that the source has now is copied.")
@click.option(
    "--finish",
    is_flag=True,
    help="All clients have stopped: copy the rest, and end the migration so that clients may use the target.",
)
@_JSON
@_PLAN
def run(path: str, once: bool, finish: bool, as_json: bool) -> None:
    """Make the topics of a plan, copy their records, and follow the source.

    Committed offsets of groups are translated and follow too. The progress is recorded beside PLAN: after
    Ctrl-C or a failure, run the command again to continue.
    """
    from mqgateway.gateway.migration.kafka.run import Migration

    with errors_reported():
        made = _load(path)
        with _only_run(path), _clusters(made) as (old, new):
            progress = _progress(path)
            terminal = KafkaTerminal(path, progress, as_json)
            migration = Migration(terminal, old, new, made, progress)
            migration.prepare()
            try:
                if finish:
                    migration.finish()
                else:
                    migration.follow(until_caught_up=once)
            finally:
                terminal.keep()


@kafka.command(epilog=EXAMPLES_VERIFY)
@_JSON
@_PLAN
def verify(path: str, as_json: bool) -> None:
    """Compare the copied records of each partition with those of the source, by number and checksum.

    The settings of groups at the target are compared with those of PLAN. Exit code 0: they are equal; 3:
    differences were found, or a cluster did not answer.
    """
    from mqgateway.gateway.migration.kafka.group_settings import different_settings
    from mqgateway.gateway.migration.kafka.verification import compare

    is_wrong = False
    with errors_reported():
        made, progress = _load(path), _progress(path)
        configs = {topic.name: topic.configs for topic in made.kafka_topics()}
        with _clusters(made) as (old, new):
            for partition in made.partitions():
                one = progress.partitions.get(partition)
                row: dict[str, Any]
                if one is None:
                    row = {"partition": str(partition), "problem": "it was not copied"}
                else:
                    found = compare(old, new, partition, one, configs[partition.topic])
                    row = {
                        "partition": str(partition),
                        "source": found.source_records,
                        "target": found.target_records,
                        "checksum": found.checksum,
                        "problem": found.problem,
                    }
                is_wrong |= bool(row["problem"])
                _show(row, as_json)
            problems = different_settings(new, made.group_settings)
        for name in made.group_settings:
            problem = problems.get(name, "")
            is_wrong |= bool(problem)
            _show_group({"group": name, "problem": problem}, as_json)
    if is_wrong:
        raise SystemExit(NOT_WELL)


def _show(row: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_row(row)
    else:
        state = row["problem"] or f"{row['source']} records, {row['checksum'][:16]}"
        click.echo(escaped(f"{row['partition']}  {state}"))


def _show_group(row: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_row(row)
    else:
        click.echo(escaped(f"group {row['group']}  {row['problem'] or 'settings are equal'}"))


class KafkaTerminal(PlanRun):
    """Environment of a run: this process's output, and the progress file beside the plan."""

    def __init__(self, path: str, progress: KafkaProgress, as_json: bool) -> None:
        super().__init__(path, as_json)
        self._progress = progress

    def report(self, subject: str, what: str) -> None:
        """See `MigrationEnvironment`."""
        if self._as_json:
            print_row({"subject": subject, "what": what})
        else:
            click.echo(escaped(f"{iso(self._clock.millis(), UTC)}  {subject}: {what}"))

    def keep(self) -> None:
        """See `MigrationEnvironment`."""
        write_file(f"{self._path}{PROGRESS}", self._progress.encode())


@contextlib.contextmanager
def _only_run(path: str) -> Iterator[None]:
    """Exclude other runs of a plan, which would copy records twice. Raises `MigrationError`, `OSError`."""
    try:
        lock = RealDisk().lock(f"{path}{LOCK}")
    except BlockingIOError:
        raise MigrationError(f"{path} is run by another process already") from None
    with contextlib.closing(lock):
        yield


@contextlib.contextmanager
def _clusters(plan: KafkaPlan) -> Iterator[tuple[KafkaCluster, KafkaCluster]]:
    """Yield the source and the target of a plan."""
    from mqgateway.gateway.migration.kafka.cluster import KafkaCluster

    source, target = security_of(plan.source_config), security_of(plan.target_config)
    with (
        contextlib.closing(KafkaCluster(plan.source, source, ANSWER_SECONDS)) as old,
        contextlib.closing(KafkaCluster(plan.target, target, ANSWER_SECONDS)) as new,
    ):
        yield old, new


def security_of(path: str) -> ClusterSecurity:
    """Return the connection settings of a properties file; plain TCP without one."""
    from mqgateway.gateway.migration.kafka.security import ClusterSecurity, read_security
    from mqgateway.gateway.mqadmin.connection import plain

    return read_security(RealDisk().read_bytes(path), path) if path else ClusterSecurity(plain)


def _paths(configs: dict[str, str]) -> tuple[str, str]:
    """Return the absolute paths of both properties files, empty for none."""
    source, target = (
        os.path.abspath(path) if path else "" for path in (configs["source_config"], configs["target_config"])
    )
    return source, target


def addresses_in(text: str) -> list[str]:
    """Return the addresses in a text, which are separated by commas."""
    return [address.strip() for address in text.split(",") if address.strip()]


def _load(path: str) -> KafkaPlan:
    from mqgateway.gateway.migration.kafka.plan import decode

    return decode(RealDisk().read_bytes(path), path)


def _progress(path: str) -> KafkaProgress:
    from mqgateway.gateway.migration.kafka.plan import KafkaProgress

    disk, name = RealDisk(), f"{path}{PROGRESS}"
    return KafkaProgress.decode(disk.read_bytes(name) if disk.exists(name) else b"", name)
