"""The commands `mqgateway store check|rebuild|stats|convert`, which run and print `engine.upkeep`. Those of
backups are in `store_backups`, the reports in `store_reports`.

Results go to standard output, as text or with `--json` as one JSON object. Errors go to standard error, and
so does progress if that is a terminal. Exit codes: 0 success, 1 damage was found, 2 the command failed, 130
interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from mqgateway.gateway.cli.ending import complain
from mqgateway.gateway.cli.examples import examples
from mqgateway.gateway.cli.later import GroupWithLater
from mqgateway.gateway.cli.plain import escaped, escaped_json
from mqgateway.gateway.cli.store_reports import (
    check_as_json,
    check_as_text,
    convert_as_json,
    convert_as_text,
    rebuild_as_json,
    rebuild_as_text,
    stats_as_json,
    stats_as_text,
)

if TYPE_CHECKING:
    from mqgateway.engine.options import StoreOptions
    from mqgateway.gateway.cli.settings import BrokerSettings

Advance = Callable[[str, int, int], None]
"""Progress display: called with the stage, the amount done and the total."""

_LOG_FOLDER, _LEDGER_FOLDER = "commitlog", "dledger-"
_IS_MEMBER = "enableDLegerCommitLog"
_BAR_WIDTH = 30

JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
QUIET = click.option("--quiet", is_flag=True, help="Do not print progress.")

BACKUPS = {
    "backup": "Back up a store to a folder of backups while its broker runs.",
    "restore": "Restore a store from a backup, up to its end, a time or an offset.",
    "backups": "List the backups in a folder.",
    "verify": "Read a whole backup and verify its checksums.",
}
"""Commands in `store_backups`."""


@click.group(
    cls=GroupWithLater,
    later=BACKUPS,
    module="store_backups",
    epilog=examples("mqgateway store check ~/store"),
)
def store() -> None:
    """Check, rebuild, count, convert, back up and restore a store on disk.

    DIR is the broker's storePathRootDir, or the folder given to --data-dir. Stores of Apache's broker are
    supported as well, including those of a DLedger member.
    """


def store_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument and flags that all of these commands have."""
    for option in (
        QUIET,
        JSON,
        click.option(
            "-c",
            "--config",
            type=click.Path(dir_okay=False),
            help=(
                "Settings file of the broker, if its store differs from the defaults: storePathCommitLog, "
                "maxHashSlotNum, maxIndexNum, messageDelayLevel."
            ),
        ),
        click.argument("folder", metavar="DIR", type=click.Path()),
    ):
        command = option(command)
    return command


EXAMPLES_CHECK = """\b
Examples:
  mqgateway store check ~/store
  mqgateway store check ~/store --json | jq '.findings[]'
  mqgateway store check /backup/store -c broker.conf"""
EXAMPLES_REBUILD = """\b
Examples:
  mqgateway store rebuild ~/store
  mqgateway store rebuild ~/store --discard"""
EXAMPLES_STATS = """\b
Examples:
  mqgateway store stats ~/store
  mqgateway store stats ~/store --top 50
  mqgateway store stats ~/store --json | jq '.topics[] | select(.messages > 1000)'"""


@store.command(epilog=EXAMPLES_CHECK)
@click.option("--force-read", is_flag=True, help="Read even if a broker has the store open.")
@click.option(
    "--limit", default=100, show_default=True, help="Maximum number of findings printed for each part."
)
@store_options
def check(folder: str, config: str | None, as_json: bool, quiet: bool, force_read: bool, limit: int) -> None:
    """Verify a whole store without changing it.

    Reads every record of the log (lengths, position, CRC), every consume queue unit, index entry, chain and
    slot, the checkpoint, and the config tables with their backups, and compares them with each other.

    Exit code 0: intact; 1: damaged, with a remedy for each finding; 2: could not be checked.
    """
    from mqgateway.engine.real_disk import ReadOnlyDisk
    from mqgateway.engine.upkeep.check import check_store

    with errors_reported(as_json), progress_shown(quiet) as advance:
        options = options_of(folder, config)
        report = check_store(
            ReadOnlyDisk(),
            options,
            force=force_read,
            limit=limit,
            progress=advance,
        )
    print_report(as_json, check_as_json(report), check_as_text(report))
    sys.exit(0 if report.is_sound else 1)


@store.command(epilog=EXAMPLES_REBUILD)
@click.option("--discard", is_flag=True, help="Delete the old consume queues and index at the end.")
@store_options
def rebuild(folder: str, config: str | None, as_json: bool, quiet: bool, discard: bool) -> None:
    """Rebuild consume queues and index from the log.

    The new files replace the old ones when all are on disk; the old ones are kept with the suffix
    ".replaced". The log is only read. The command can be interrupted at any time and run again.

    Exit code 0: done; 1: done, but parts of the log are unreadable; 2: failed, nothing has changed.
    """
    from mqgateway.engine.real_disk import RealDisk
    from mqgateway.engine.upkeep.rebuild import rebuild_store

    with errors_reported(as_json), progress_shown(quiet) as advance:
        options = options_of(folder, config)
        report = rebuild_store(RealDisk(), options, discard=discard, progress=advance)
    print_report(as_json, rebuild_as_json(report), rebuild_as_text(report))
    sys.exit(1 if report.findings.errors else 0)


@store.command(epilog=EXAMPLES_STATS)
@click.option("--top", default=10, show_default=True, help="Number of largest topics to print.")
@store_options
def stats(folder: str, config: str | None, as_json: bool, quiet: bool, top: int) -> None:
    """Count topics, queues, messages and bytes, and show the disk usage.

    The numbers are quickly computed from the consume queues. A broker may have the store open.
    """
    from mqgateway.engine.real_disk import ReadOnlyDisk
    from mqgateway.engine.upkeep.stats import count_store

    with errors_reported(as_json), progress_shown(quiet) as advance:
        figures = count_store(
            ReadOnlyDisk(),
            options_of(folder, config),
            room_of,
            progress=lambda done, total: advance("counting", done, total),
        )
    print_report(as_json, stats_as_json(figures), stats_as_text(figures, top))


EXAMPLES_CONVERT = """\b
Examples:
  mqgateway store convert ~/store ~/store-for-apache
  mqgateway store convert ~/store ~/store-by-itself -c broker-n0.conf --keep-batches --json"""


@store.command(epilog=EXAMPLES_CONVERT)
@store_options
@click.option(
    "--keep-batches", is_flag=True, help="Of a DLedger member: keep batches of Kafka whole, for mqgateway."
)
@click.argument("target", type=click.Path())
def convert(
    folder: str, target: str, config: str | None, as_json: bool, quiet: bool, keep_batches: bool
) -> None:
    """Convert the store in DIR to one in TARGET that Apache's broker can use.

    Batches of Kafka become ordinary messages at the same queue offsets, and topics of Kafka ordinary topics.
    The log of a DLedger member becomes an ordinary one; of a group that was left, convert the member with
    the longest log. Topics, groups, queue offsets and consumer offsets are kept; physical offsets, and
    message ids derived from them, change. DIR is only read, and no broker may have it open: stop it cleanly.

    Every record is read again and compared, and the new store is checked. Until then its name is
    TARGET.converting. The command can be interrupted at any time; run it again to continue.

    Exit code 0: done; 1: done, but there are damaged batches, whose messages are empty; 2: failed.
    """
    from mqgateway.engine.real_disk import RealDisk
    from mqgateway.engine.upkeep.convert import convert_store

    with errors_reported(as_json), progress_shown(quiet) as advance:
        disk, options, path = RealDisk(), options_of(folder, config), os.path.abspath(target)
        report = convert_store(disk, options, path, keeps_batches=keep_batches, progress=advance)
    print_report(as_json, convert_as_json(report), convert_as_text(report))
    sys.exit(1 if report.damaged else 0)


def options_of(folder: str, config: str | None) -> StoreOptions:
    """Return the settings of the store in a folder. Raises `ConfigError` for an unusable settings file."""
    return settings_of(folder, config).store


def settings_of(folder: str, config: str | None) -> BrokerSettings:
    """Return the settings of the broker of the store in a folder. Raises `ConfigError` for an unusable
    settings file.
    """
    from mqgateway.engine.errors import ConfigError
    from mqgateway.gateway.cli.settings import BrokerSettings, from_file

    settings = BrokerSettings()
    # The kind of log is detected on disk.
    given = [setting for setting in from_file(config) if setting.key != _IS_MEMBER]
    wrong = [problem for problem in settings.options.apply(given) if problem.severity == "error"]
    if wrong:
        raise ConfigError("; ".join(str(problem) for problem in wrong))
    root = os.path.abspath(folder)
    below = os.path.join(root, "store")
    if not _has_log(root) and _has_log(below):
        root = below
    settings.store.store_path_root_dir = root
    return settings


def _has_log(root: str) -> bool:
    if os.path.isdir(os.path.join(root, _LOG_FOLDER)):
        return True
    return os.path.isdir(root) and any(name.startswith(_LEDGER_FOLDER) for name in os.listdir(root))


def room_of(path: str) -> int:
    """Return the disk space of a file, in bytes."""
    return os.stat(path).st_blocks * 512


@contextmanager
def errors_reported(as_json: bool) -> Iterator[None]:
    """Report an error as one line on standard error and exit code 2; an interrupt as exit code 130."""
    from mqgateway.engine.errors import EngineError

    try:
        yield
    except (EngineError, OSError) as error:
        if as_json:
            print_json({"error": str(error)}, err=True)
        else:
            complain(str(error))
        sys.exit(2)
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        sys.exit(130)


@contextmanager
def progress_shown(quiet: bool) -> Iterator[Advance]:
    """Show a progress bar on standard error if that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(_BAR_WIDTH),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def advance(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield advance


def print_report(as_json: bool, value: object, lines: list[str]) -> None:
    """Print a command's report, as one JSON object or as lines."""
    if as_json:
        print_json(value)
    else:
        click.echo("\n".join(map(escaped, lines)))


def print_json(value: object, err: bool = False) -> None:
    """Print one JSON object."""
    import orjson

    click.echo(escaped_json(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()), err=err)
