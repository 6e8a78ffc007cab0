"""The command `mqgateway tier restore`: the store of a broker whose disk was lost, from its tier alone.

Exit codes: 0 done and intact; 1 done, but something of the tier could not be read, or the check found errors;
2 failed, and what was written is continued with by the next restore; 130 interrupted, likewise.
"""

from __future__ import annotations

import os
import secrets
import sys
from typing import TYPE_CHECKING, Any

import click

from mqgateway.gateway.cli.store import (
    JSON,
    QUIET,
    errors_reported,
    options_of,
    print_report,
    progress_shown,
)
from mqgateway.gateway.cli.store_reports import findings_as_json, findings_as_text, in_bytes, in_time, verdict
from mqgateway.gateway.cli.tier import BROKER, CLUSTER, URL, broker_of

if TYPE_CHECKING:
    from mqgateway.engine.tier.restoring import TierRestoreReport
    from mqgateway.engine.upkeep.check import CheckReport

EXAMPLES = """\b
Examples:
  mqgateway tier restore file:///mnt/archive ~/store
  mqgateway tier restore s3://bucket/mq /data/store --broker-name broker-a -c broker.conf --take-over"""


@click.command(epilog=EXAMPLES)
@click.option(
    "--take-over",
    is_flag=True,
    help="Restore although a broker wrote to the tier in the last 15 min. What it saves from now on is "
    "ignored: stop it, and its clients, before.",
)
@click.option(
    "--lazy",
    is_flag=True,
    help="Leave messages in the tier: the broker starts in seconds, and reads them from there. It has to be "
    "started with tieredStorePath.",
)
@click.option("--no-check", is_flag=True, help="Do not check the restored store.")
@URL
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
@click.option(
    "-c",
    "--config",
    type=click.Path(dir_okay=False),
    help="Settings file of the broker, for lengths of files that the tier does not have: "
    "mappedFileSizeCommitLog, mappedFileSizeConsumeQueue.",
)
@CLUSTER
@BROKER
@JSON
@QUIET
def restore(
    url: str,
    folder: str,
    config: str | None,
    cluster: str | None,
    broker_name: str | None,
    as_json: bool,
    quiet: bool,
    take_over: bool,
    lazy: bool,
    no_check: bool,
) -> None:
    """Restore the store of a broker whose disk was lost, from its tier alone.

    DIR must not exist or must be empty. It gets the log with all messages that are saved, at their positions
    and offsets; queues and index, which are rebuilt; topics, groups, consumer offsets, users and settings as
    they were saved last. Apache's broker opens it too. Then saving continues where it ended.

    With --lazy DIR gets an empty log, which begins after the end of the tier, and all else. Queues begin at
    their ends in the tier; the broker reads older messages from there, Apache's broker does not have them.

    What the tier does not have is not restored: messages that were not saved yet, that have expired, of
    compacted topics, of LMQ queues, and of the broker itself (delayed, timed, prepared, popped ones).

    It is refused while the lost broker may be running. If it is interrupted, run it again: it continues.

    Exit code 0: done and intact; 1: done, but parts of the tier could not be read; 2: failed.
    """
    from mqgateway.engine.clock import SystemClock
    from mqgateway.engine.real_disk import ReadOnlyDisk, RealDisk
    from mqgateway.engine.tables.jsonfile import save_table
    from mqgateway.engine.tier.restoring import restore_tier
    from mqgateway.engine.upkeep.check import check_store
    from mqgateway.gateway.broker.older_messages import NOTE

    check = None
    with errors_reported(as_json), progress_shown(quiet) as advance:
        options = options_of(folder, config)
        options.store_path_root_dir = os.path.abspath(folder)
        store, names = broker_of(url, cluster, broker_name)
        report = restore_tier(
            RealDisk(),
            store,
            names,
            options,
            writer=secrets.token_hex(8),
            now=SystemClock().millis(),
            takes_over=take_over,
            lazy=lazy,
            progress=advance,
        )
        # Else an empty mount point would count as a tier without messages.
        save_table(RealDisk(), f"{options.store_path_root_dir}/{NOTE}", {"url": url})
        if not no_check:
            options.store_path_commit_log = ""
            check = check_store(ReadOnlyDisk(), options, progress=advance)
    print_report(as_json, restored_as_json(report, check), restored_as_text(report, check))
    sys.exit(1 if report.damaged or (check is not None and not check.is_sound) else 0)


def restored_as_text(report: TierRestoreReport, check: CheckReport | None) -> list[str]:
    """Return the restored log, what is missing, and the result of the check as lines."""
    records = f"{report.records:,} records {'stay in' if report.lazy else 'of'} {report.tier}"
    lines = [
        f"{report.root}: {records}, {in_bytes(report.record_bytes)}, the "
        f"log from {report.log_start} to {report.log_end}, up to {in_time(report.last_time)}",
        "not restored: messages that were stored later, if there were any",
    ]
    if report.lazy:
        lines.append(
            "older messages are read from the tier: start the broker with tieredStorePath. Apache's broker "
            "does not have them"
        )
    if report.lazy and report.has_batches:
        lines.append(
            "not restored: sequences of Kafka producers, so batches that they repeat may be stored twice; "
            "and which transactions were aborted that another broker group coordinated, so consumers of "
            "committed records get their records too"
        )
    if report.left_out:
        lines.append(
            f"not restored: {report.left_out:,} records of the broker itself, LMQ queues and compacted "
            "topics, which were not saved"
        )
    if report.expired:
        lines.append(f"not restored: {report.expired:,} blocks of messages that have expired")
    if report.before_holes:
        lines.append(
            f"not restored: {report.before_holes:,} blocks that are lost, or whose queues lack later "
            "messages; a broker with this tier reads the latter from there"
        )
    lines += [f"not restored: the log from {begin} to {end}, never saved" for begin, end in report.gaps]
    if report.tables_made:
        lines.append(f"topics, groups, offsets and settings are those of {in_time(report.tables_made)}")
    else:
        lines.append("not restored: topics' settings, groups and offsets, of which nothing was saved")
    if report.moved_back:
        lines.append(f"{report.moved_back:,} consumer offsets were moved back to the ends of their queues")
    lines += [f"error  {what}" for what in report.damaged]
    if check is not None:
        lines += findings_as_text(check.findings)
        lines.append(verdict(check))
    return lines


def restored_as_json(report: TierRestoreReport, check: CheckReport | None) -> dict[str, Any]:
    """Return the report for JSON; `sound` is null without a check, `tablesTimestamp` without tables."""
    rebuilt = report.rebuilt
    return {
        "store": report.root,
        "tier": report.tier,
        "lazy": report.lazy,
        "epoch": report.epoch,
        "logStart": report.log_start,
        "logEnd": report.log_end,
        "lastTimestamp": report.last_time,
        "records": report.records,
        "recordBytes": report.record_bytes,
        "queues": rebuilt.queues if rebuilt is not None else 0,
        "notSaved": report.left_out,
        "expiredBlocks": report.expired,
        "blocksBeforeHoles": report.before_holes,
        "gaps": report.gaps,
        "tablesTimestamp": report.tables_made or None,
        "movedBack": report.moved_back,
        "damaged": report.damaged,
        "sound": None if check is None else check.is_sound,
        **({} if check is None else findings_as_json(check.findings)),
    }
