"""The commands `mqgateway tier save|status|check`, with output and errors as those of `store`.

Exit codes: 0 done, and the tier is intact; 1 damage was found; 2 the command failed, ranges that were saved
before count; 130 interrupted.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from mqgateway.gateway.cli.examples import examples
from mqgateway.gateway.cli.later import GroupWithLater
from mqgateway.gateway.cli.store import (
    JSON,
    QUIET,
    errors_reported,
    print_report,
    progress_shown,
    settings_of,
    store_options,
)
from mqgateway.gateway.cli.store_reports import in_bytes, in_time

if TYPE_CHECKING:
    from mqgateway.engine.tier.checking import TierCheck, TierStatus
    from mqgateway.engine.tier.format.names import TierNames
    from mqgateway.engine.tier.object_store import ObjectStore
    from mqgateway.engine.tier.saving import SaveReport

EXAMPLES_SAVE = """\b
Examples:
  mqgateway tier save ~/store --to file:///mnt/archive -c broker.conf
  mqgateway tier save ~/store --to s3://bucket/mq --broker-name broker-a --json"""
EXAMPLES_STATUS = """\b
Examples:
  mqgateway tier status file:///mnt/archive
  mqgateway tier status s3://bucket/mq --json | jq '.brokers[].savedTo'"""
EXAMPLES_CHECK = """\b
Examples:
  mqgateway tier check file:///mnt/archive
  mqgateway tier check s3://bucket/mq --broker-name broker-a --indexes-only --json"""

HOUR_MILLIS = 3_600_000
LATER = {
    "read": "Print messages of a queue from OFFSET on, one JSON object a line.",
    "restore": "Restore the store of a broker whose disk was lost, from its tier alone.",
}
"""Commands in `tier_read` and `tier_restore`."""


@click.group(
    cls=GroupWithLater,
    later=LATER,
    module="tier_{}",
    epilog=examples("mqgateway tier status file:///mnt/archive"),
)
def tier() -> None:
    """Save the log of a broker to an object store, check what is there, and restore it.

    URL is file:///folder, s3://bucket/prefix, gs://bucket/prefix or az://container/prefix.
    """


CLUSTER = click.option("--cluster", metavar="NAME", help="Only this cluster.")
BROKER = click.option("--broker-name", metavar="NAME", help="Only this broker.")
URL = click.argument("url", metavar="URL")


def tier_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument and flags of commands that read a tier."""
    for option in (QUIET, JSON, BROKER, CLUSTER, URL):
        command = option(command)
    return command


@tier.command(epilog=EXAMPLES_SAVE)
@click.option("--to", "url", metavar="URL", required=True, help="Object store that keeps the tier.")
@click.option("--cluster", metavar="NAME", help="Name of the cluster.  [default: brokerClusterName]")
@click.option(
    "--broker-name", metavar="NAME", help="Name of the broker.  [default: brokerName, or the host name]"
)
@click.option(
    "--accept-gap", is_flag=True, help="Continue although files were deleted before they were saved."
)
@store_options
def save(
    folder: str,
    config: str | None,
    as_json: bool,
    quiet: bool,
    url: str,
    cluster: str | None,
    broker_name: str | None,
    accept_gap: bool,
) -> None:
    """Save the log of the store in DIR to a tier, from where the tier ends.

    The store is only read, and its broker may run: records are saved that its checkpoint says are on stable
    storage. Topics of the broker itself, LMQ queues, and compacted topics are left out. Tables that have
    changed are saved too: topics, groups, offsets, users, settings.

    Run it again and again, more often than files of the log are deleted. If it is interrupted, the next run
    continues where the last whole range ended.
    """
    from mqgateway.engine.clock import SystemClock
    from mqgateway.engine.real_disk import ReadOnlyDisk
    from mqgateway.engine.tier.collect import Collector
    from mqgateway.engine.tier.format.names import TierNames
    from mqgateway.engine.tier.local_log import batch_topics_in, classes_in, open_log
    from mqgateway.engine.tier.saving import TierWriter
    from mqgateway.engine.tier.table_saving import TableSaver
    from mqgateway.engine.upkeep.layout import Layout
    from mqgateway.gateway.cli.settings import host_name
    from mqgateway.gateway.object_stores.opening import open_for_writing

    with errors_reported(as_json), progress_shown(quiet) as advance:
        settings = settings_of(folder, config)
        now, options = SystemClock().millis(), settings.broker
        names = TierNames(
            cluster or options.broker_cluster_name, broker_name or options.broker_name or host_name()
        )
        layout = Layout(ReadOnlyDisk(), settings.store)
        local = open_log(layout)
        store = open_for_writing(url, now)
        writer = TierWriter(store, names, secrets.token_hex(8), now, accepts_gap=accept_gap)
        collector = Collector(
            local.files,
            batch_topics_in(layout),
            classes_in(layout, settings.store.tiered_store_file_reserved_time * HOUR_MILLIS),
            lambda done, total: advance("reading the log", done, total),
        )
        report = writer.save(local, collector, advance)

        def claimed() -> TierWriter:
            if report.epoch < 0:
                writer.claim(local)
            return writer

        has_tables = TableSaver(layout, names, SystemClock()).save(store, local.files.file_size, claimed)
    lines = save_as_text(names, report)
    lines += [f"the tables of {layout.root} were saved"] if has_tables else []
    print_report(as_json, {**save_as_json(names, report), "tablesSaved": has_tables}, lines)


@tier.command(epilog=EXAMPLES_STATUS)
@tier_options
def status(url: str, cluster: str | None, broker_name: str | None, as_json: bool, quiet: bool) -> None:
    """Show what is saved of each broker: range of the log, times, segments and bytes."""
    from mqgateway.engine.tier.checking import tier_status

    with errors_reported(as_json), progress_shown(quiet) as advance:
        store, brokers = brokers_of(url, cluster, broker_name)
        found = []
        for number, names in enumerate(brokers):
            advance("reading", number, len(brokers))
            found.append((names, tier_status(store, names)))
    lines = [line for names, one in found for line in status_as_text(names, one)]
    print_report(as_json, {"brokers": [status_as_json(*each) for each in found]}, lines)


@tier.command(epilog=EXAMPLES_CHECK)
@click.option("--indexes-only", is_flag=True, help="Read indexes and the list of segments, not the records.")
@click.option("--repair", is_flag=True, help="Delete orphans before, as a running broker does once a day.")
@tier_options
def check(
    url: str,
    cluster: str | None,
    broker_name: str | None,
    as_json: bool,
    quiet: bool,
    indexes_only: bool,
    repair: bool,
) -> None:
    """Verify a whole tier. Nothing is changed without --repair.

    Reads the index of every range (digest, bounds), compares the ranges with each other, and reads every
    record (CRC, lengths, topic, queue and offsets). Segments that no index names are listed as unused: a save
    that was interrupted left them, or one that runs now has not committed them yet. The former are orphans
    a day after the next writer began: --repair deletes them, also while brokers run.

    Exit code 0: intact; 1: damaged; 2: could not be checked.
    """
    from mqgateway.engine.clock import SystemClock
    from mqgateway.engine.tier.checking import check_tier
    from mqgateway.engine.tier.removal import delete_old_orphans

    with errors_reported(as_json), progress_shown(quiet) as advance:
        store, brokers = brokers_of(url, cluster, broker_name)
        now = SystemClock().millis()
        deleted = [delete_old_orphans(store, names, now) if repair else (0, 0) for names in brokers]
        found = [
            (names, check_tier(store, names, reads_records=not indexes_only, progress=advance))
            for names in brokers
        ]
    each = [(*one, gone) for one, gone in zip(found, deleted, strict=True)]
    lines = [line for one in each for line in check_as_text(*one)]
    print_report(as_json, {"brokers": [check_as_json(*one) for one in each]}, lines)
    sys.exit(1 if any(one.damaged for _, one in found) else 0)


def brokers_of(url: str, cluster: str | None, broker: str | None) -> tuple[ObjectStore, list[TierNames]]:
    """Return the store of a URL, and the chosen brokers in it. Raises `StoreError` without any."""
    from mqgateway.engine.errors import StoreError
    from mqgateway.engine.tier.survey import brokers_in
    from mqgateway.gateway.object_stores.opening import open_object_store

    store = open_object_store(url)
    found = brokers_in(store)
    chosen = [names for names in found if cluster in (None, names.cluster) and broker in (None, names.broker)]
    if not chosen:
        known = ", ".join(f"{names.broker} of {names.cluster}" for names in found) or "no broker"
        raise StoreError(f"{url} has no tier of such a broker; there is {known}")
    return store, chosen


def broker_of(url: str, cluster: str | None, broker: str | None) -> tuple[ObjectStore, TierNames]:
    """Return the store of a URL, and the chosen broker in it. Raises `StoreError` without one, or if there
    are several."""
    from mqgateway.engine.errors import StoreError

    store, brokers = brokers_of(url, cluster, broker)
    if len(brokers) > 1:
        names = ", ".join(f"{each.broker} of {each.cluster}" for each in brokers)
        raise StoreError(f"{url} has several brokers: choose one by --broker-name and --cluster ({names})")
    return store, brokers[0]


def save_as_text(names: TierNames, report: SaveReport) -> list[str]:
    """Return the saved range and its figures as lines."""
    title = f"{names.broker} of {names.cluster}"
    if not report.ranges:
        return [f"{title}: nothing new, the log is saved up to {report.saved_to}"]
    lines = [
        f"{title}: the log from {report.saved_from} to {report.saved_to} was saved in epoch {report.epoch}",
        f"{report.records:,} records in {report.ranges} ranges, {in_bytes(report.object_bytes)} in "
        f"{report.objects} objects; {report.left_out:,} records of the broker itself were left out",
    ]
    if report.cut_ranges:
        lines.append(
            f"{report.cut_ranges} ranges no longer count: the log is another one from {report.saved_from} on"
        )
    if report.skipped:
        lines.append(f"{in_bytes(report.skipped)} of the log before were deleted and not saved")
    lines += [f"the log has no valid record from {begin} to {end}" for begin, end in report.holes]
    return lines


def save_as_json(names: TierNames, report: SaveReport) -> dict[str, Any]:
    """Return the report for JSON; sizes in bytes, `epoch` null if nothing was saved."""
    return {
        "cluster": names.cluster,
        "broker": names.broker,
        "epoch": report.epoch if report.epoch >= 0 else None,
        "savedFrom": report.saved_from,
        "savedTo": report.saved_to,
        "ranges": report.ranges,
        "records": report.records,
        "recordBytes": report.record_bytes,
        "leftOut": report.left_out,
        "objects": report.objects,
        "objectBytes": report.object_bytes,
        "cutRanges": report.cut_ranges,
        "skippedBytes": report.skipped,
        "holes": report.holes,
    }


def status_as_text(names: TierNames, status: TierStatus) -> list[str]:
    """Return what is saved of a broker as lines."""
    lines = [f"{names.broker} of {names.cluster}"]
    if status.saved_to < 0:
        return [*lines, "  nothing is saved"]
    total = sum(status.bytes_by_class.values())
    lines += [
        f"  log from {status.saved_from} to {status.saved_to}, {in_time(status.first_time)} to "
        f"{in_time(status.last_time)}",
        f"  ranges {status.ranges}, epochs {status.epochs}, segments {status.segments} with "
        f"{in_bytes(total)}",
        *(
            f"  {in_bytes(size):>10} {f'kept up to {days} days' if days else 'kept without limit'}"
            for days, size in sorted(status.bytes_by_class.items(), key=lambda each: each[0] or sys.maxsize)
        ),
    ]
    if status.expired:
        lines.append(f"  {status.expired} segments with {in_bytes(status.expired_bytes)} have expired")
    if status.orphans:
        lines.append(f"  {status.orphans} orphans with {in_bytes(status.orphan_bytes)}")
    if status.ignored:
        lines.append(f"  {status.ignored} ranges do not count: a later epoch replaced them")
    return lines


def status_as_json(names: TierNames, status: TierStatus) -> dict[str, Any]:
    """Return what is saved of a broker for JSON; offsets and times are null if nothing is."""
    is_saved = status.saved_to >= 0
    return {
        "cluster": names.cluster,
        "broker": names.broker,
        "epochs": status.epochs,
        "ranges": status.ranges,
        "ignoredRanges": status.ignored,
        "savedFrom": status.saved_from if is_saved else None,
        "savedTo": status.saved_to if is_saved else None,
        "firstTimestamp": status.first_time if is_saved else None,
        "lastTimestamp": status.last_time if is_saved else None,
        "segments": status.segments,
        "expiredSegments": status.expired,
        "expiredBytes": status.expired_bytes,
        "orphans": status.orphans,
        "orphanBytes": status.orphan_bytes,
        "bytesByDays": {str(days): size for days, size in sorted(status.bytes_by_class.items())},
    }


def check_as_text(names: TierNames, report: TierCheck, deleted: tuple[int, int]) -> list[str]:
    """Return the findings of a check as lines, errors last. `deleted` are number and bytes of orphans."""
    title = f"{names.broker} of {names.cluster}"
    unused = sum(size for _, size in report.unused)
    marked, left = report.expired
    return [
        f"{title}: {report.records:,} records in {report.ranges} ranges, the log from "
        f"{max(0, report.saved_from)} to {max(0, report.saved_to)}",
        *(f"note   {end - begin} bytes from {begin} on were never saved" for begin, end in report.gaps),
        *(f"note   the log has no valid record from {begin} to {end}" for begin, end in report.holes),
        *([f"note   {deleted[0]} orphans with {in_bytes(deleted[1])} were deleted"] if deleted[0] else []),
        *([f"note   {marked} segments have expired, {in_bytes(left)} are not deleted yet"] if marked else []),
        *([f"note   {len(report.unused)} unused segments with {in_bytes(unused)}"] if unused else []),
        *(f"error  {what}" for what in report.damaged),
        f"{title}: {'damaged' if report.damaged else 'intact'}",
    ]


def check_as_json(names: TierNames, report: TierCheck, deleted: tuple[int, int]) -> dict[str, Any]:
    """Return the findings of a check for JSON. `deleted` are number and bytes of orphans."""
    return {
        "cluster": names.cluster,
        "broker": names.broker,
        "ranges": report.ranges,
        "queues": report.queues,
        "records": report.records,
        "recordBytes": report.record_bytes,
        "savedFrom": report.saved_from if report.ranges else None,
        "savedTo": report.saved_to if report.ranges else None,
        "gaps": report.gaps,
        "holes": report.holes,
        "deletedOrphans": deleted[0],
        "deletedBytes": deleted[1],
        "expiredSegments": report.expired[0],
        "expiredBytes": report.expired[1],
        "unused": [{"name": name, "bytes": size} for name, size in report.unused],
        "damaged": report.damaged,
        "sound": not report.damaged,
    }
