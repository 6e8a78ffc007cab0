"""The commands `mqgateway store backup|restore|backups|verify`, with output and errors as those of `store`.

Exit codes: 0 done, and the result is intact; 1 damage was found; 2 failed, nothing is left behind; 130
interrupted.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from mqgateway.gateway.cli.store import (
    JSON,
    QUIET,
    errors_reported,
    options_of,
    print_json,
    print_report,
    progress_shown,
    store_options,
)
from mqgateway.gateway.cli.store_reports import (
    findings_as_json,
    findings_as_text,
    in_bytes,
    in_time,
    verdict,
)

if TYPE_CHECKING:
    from mqgateway.engine.upkeep.backup import BackupReport
    from mqgateway.engine.upkeep.check import CheckReport
    from mqgateway.engine.upkeep.manifest import KeptFile, Manifest
    from mqgateway.engine.upkeep.restore import RestoreReport

EXAMPLES_BACKUP = """\b
Examples:
  mqgateway store backup ~/store /backup/broker-a
  mqgateway store backup ~/store /backup/broker-a --copy --json"""
EXAMPLES_RESTORE = """\b
Examples:
  mqgateway store restore /backup/broker-a/20261125T031500Z ~/restored
  mqgateway store restore /backup/broker-a/20261125T031500Z ~/restored --until-time 2026-11-25T03:00:00Z
  mqgateway store restore /backup/broker-a ~/restored --until-offset 73014444032"""
EXAMPLES_BACKUPS = """\b
Examples:
  mqgateway store backups /backup/broker-a"""
EXAMPLES_VERIFY = """\b
Examples:
  mqgateway store verify /backup/broker-a/20261125T031500Z"""


def _moment(_: click.Context, option: click.Parameter, value: str | None) -> int | None:
    """Parse a time given in ms since the epoch or as ISO 8601, UTC without a zone. Return it in ms."""
    if value is None or value.isdecimal():
        return None if value is None else int(value)
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is not a time: use ms since the epoch or 2026-11-25T03:00:00Z", param=option
        ) from None
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


@click.command(epilog=EXAMPLES_BACKUP)
@click.option(
    "--copy", "is_copy", is_flag=True, help="Copy files instead of linking them to the store's files."
)
@store_options
@click.argument("target", metavar="BACKUPS", type=click.Path(file_okay=False))
def backup(folder: str, target: str, config: str | None, as_json: bool, quiet: bool, is_copy: bool) -> None:
    """Back up a store to a folder of backups while its broker runs.

    Each backup is a folder named by the time. Files that have not changed since the previous backup are
    linked, so each further backup stores only new data. On the file system of the store, full files of the
    log are linked and take no space. Keep backups on another disk, which survives a failure of the first.
    Any backup may be deleted (rm -r).
    """
    from mqgateway.engine.clock import SystemClock
    from mqgateway.engine.real_disk import RealDisk
    from mqgateway.engine.upkeep.backup import back_up

    with errors_reported(as_json), progress_shown(quiet) as advance:
        options = options_of(folder, config)
        now = SystemClock().millis()
        report = back_up(RealDisk(), options, os.path.abspath(target), now, is_copy=is_copy, progress=advance)
    print_report(as_json, backup_as_json(report), backup_as_text(report))


@click.command(epilog=EXAMPLES_RESTORE)
@click.option(
    "--until-time",
    metavar="TIME",
    callback=_moment,
    help="Restore up to the last message stored at this time.",
)
@click.option(
    "--until-offset", type=int, help="Restore up to the last message that ends at this offset of the log."
)
@click.option("--no-check", is_flag=True, help="Do not check the restored store.")
@store_options
@click.argument("target", metavar="STORE", type=click.Path(file_okay=False))
def restore(
    folder: str,
    target: str,
    config: str | None,
    as_json: bool,
    quiet: bool,
    until_time: int | None,
    until_offset: int | None,
    no_check: bool,
) -> None:
    """Restore a store from a backup, up to its end, a time or an offset.

    DIR is the backup, or a folder of backups, of which the newest is used. STORE must not exist or must be
    empty. Copied files are verified by their digests, queues and index are rebuilt, consumer offsets are
    limited to the ends of their queues, and the store is checked.

    Exit code 0: done and intact; 1: done, but the check found errors; 2: failed, nothing is left behind.
    """
    from mqgateway.engine.real_disk import ReadOnlyDisk, RealDisk
    from mqgateway.engine.upkeep.check import check_store
    from mqgateway.engine.upkeep.restore import Until, restore_store

    if until_time is not None and until_offset is not None:
        raise click.UsageError("--until-time and --until-offset exclude each other")
    check = None
    with errors_reported(as_json), progress_shown(quiet) as advance:
        options = options_of(target, config)
        options.store_path_root_dir = os.path.abspath(target)
        until = Until(until_time, until_offset)
        report = restore_store(RealDisk(), newest(folder), options, until, progress=advance)
        if not no_check:
            check = check_store(ReadOnlyDisk(), options, progress=advance)
    print_report(as_json, restore_as_json(report, check), restore_as_text(report, check))
    sys.exit(0 if check is None or check.is_sound else 1)


@click.command(epilog=EXAMPLES_BACKUPS)
@JSON
@click.argument("folder", metavar="BACKUPS", type=click.Path())
def backups(folder: str, as_json: bool) -> None:
    """List the backups in a folder."""
    from mqgateway.engine.errors import EngineError
    from mqgateway.engine.real_disk import RealDisk
    from mqgateway.engine.upkeep.backup import list_backups

    with errors_reported(as_json):
        if not os.path.isdir(folder):
            raise EngineError(f"{folder} is not a folder: give the folder of the backups")
        found = list_backups(RealDisk(), os.path.abspath(folder))
    if as_json:
        print_json({"backups": [{"name": name, **manifest_as_json(one)} for name, one in found.items()]})
        return
    for name, one in found.items():
        span = f"{in_time(one.first_timestamp)} to {in_time(one.last_timestamp)}"
        click.echo(f"{name}  log {one.log_start} to {one.log_end}, {span}")


@click.command(epilog=EXAMPLES_VERIFY)
@JSON
@QUIET
@click.argument("folder", metavar="BACKUP", type=click.Path())
def verify(folder: str, as_json: bool, quiet: bool) -> None:
    """Read a whole backup and verify its checksums.

    Exit code 0: intact; 1: files are missing or changed; 2: could not be read.
    """
    from mqgateway.engine.real_disk import RealDisk
    from mqgateway.engine.upkeep.manifest import damaged, load

    with errors_reported(as_json), progress_shown(quiet) as advance:
        place = newest(folder)
        found = damaged(RealDisk(), place, load(RealDisk(), place), advance)
    lines = [*found, f"{place}: {'damaged' if found else 'intact'}"]
    print_report(as_json, {"backup": place, "damaged": found}, lines)
    sys.exit(1 if found else 0)


def newest(folder: str) -> str:
    """Return the path of the newest backup in a folder of backups, else `folder` itself, a backup."""
    from mqgateway.engine.real_disk import RealDisk
    from mqgateway.engine.upkeep.manifest import backups

    place = os.path.abspath(folder)
    names = backups(RealDisk(), place)
    return f"{place}/{names[-1]}" if names else place


def _sum(files: list[KeptFile]) -> int:
    return sum(one.used for one in files)


def backup_as_text(report: BackupReport) -> list[str]:
    """Return folder, log range and sizes of a backup as lines."""
    manifest = report.manifest
    parts = (
        ("copied", report.copied, "read again"),
        ("linked", report.linked, "linked to the store"),
        ("unchanged", report.unchanged, "linked to the previous backup"),
    )
    return [
        f"{report.folder}: the log from {manifest.log_start} to {manifest.log_end}, "
        f"up to {in_time(manifest.last_timestamp)}",
        *(
            f"{name:9}  {in_bytes(_sum(files)):>10} in {len(files)} files, {what}"
            for name, files, what in parts
        ),
    ]


def manifest_as_json(manifest: Manifest) -> dict[str, Any]:
    """Return the contents of a backup for JSON."""
    return {
        "store": manifest.store,
        "made": manifest.made,
        "logStart": manifest.log_start,
        "logEnd": manifest.log_end,
        "firstTimestamp": manifest.first_timestamp,
        "lastTimestamp": manifest.last_timestamp,
    }


def backup_as_json(report: BackupReport) -> dict[str, Any]:
    """Return the report for JSON; sizes in bytes."""
    parts = {"copied": report.copied, "linked": report.linked, "unchanged": report.unchanged}
    return {
        "backup": report.folder,
        **manifest_as_json(report.manifest),
        **{name: {"files": len(files), "bytes": _sum(files)} for name, files in parts.items()},
    }


def restore_as_text(report: RestoreReport, check: CheckReport | None) -> list[str]:
    """Return the end of the restored log, the figures and the result of the check as lines."""
    lines = [
        f"{report.root}: {report.rebuilt.records:,} records of {report.backup}, the log ends at "
        f"{report.cut.offset}, {in_time(report.cut.timestamp)}",
        f"{report.rebuilt.queues:,} queues and {report.rebuilt.index_entries:,} index entries made",
    ]
    if report.moved_back:
        lines.append(f"{report.moved_back:,} consumer offsets were moved back to the ends of their queues")
    if check is not None:
        lines += findings_as_text(check.findings)
        lines.append(verdict(check))
    return lines


def restore_as_json(report: RestoreReport, check: CheckReport | None) -> dict[str, Any]:
    """Return the report for JSON; `sound` is null without a check."""
    return {
        "store": report.root,
        "backup": report.backup,
        "logEnd": report.cut.offset,
        "lastTimestamp": report.cut.timestamp,
        "records": report.rebuilt.records,
        "queues": report.rebuilt.queues,
        "movedBack": report.moved_back,
        "sound": None if check is None else check.is_sound,
        **({} if check is None else findings_as_json(check.findings)),
    }
