"""`mqgateway migrate plan|run|verify|rollback`: move the broker groups of a cluster, and move them back.

Exit codes: 0 done; 1 refused or failed, the command can be run again; 2 wrong usage; 3 `verify` found
differences or `plan` found obstacles; 130 interrupted.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from datetime import UTC
from typing import TYPE_CHECKING, Any

import click

from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.cli.client_flags import NAMESRV, asking, asking_flags
from mqgateway.gateway.cli.migrate_files import (
    NOT_WELL,
    PROGRESS,
    PlanRun,
    errors_reported,
    print_row,
    write_file,
)
from mqgateway.gateway.cli.migrate_kafka import kafka
from mqgateway.gateway.cli.plain import escaped, escaped_json
from mqgateway.gateway.cli.times import iso
from mqgateway.gateway.migration.plan import (
    DRAIN_SECONDS,
    GroupPlan,
    MigrationError,
    MigrationPlan,
    Progress,
    Side,
    Way,
    as_file,
    decode,
    shared_settings,
)
from mqgateway.gateway.migration.survey import MigrationProblem, SurveyedGroup, survey
from mqgateway.gateway.runtime.name_servers import split_addresses

if TYPE_CHECKING:
    from mqgateway.gateway.migration.handover import ProcessAction
    from mqgateway.gateway.mqadmin.servers import Servers

OWN_PLACE = ("listenPort", "haListenPort", "brokerIP1", "brokerIP2", "bindAddress", "storePathRootDir")
"""Settings of an old broker that keep their values, because it stays on its machine."""

EXAMPLES_PLAN = """\b
Examples:
  mqgateway migrate plan moving.json -n 10.0.0.1:9876 --new broker-a=10.0.0.5:10911
  mqgateway migrate plan moving.json -n 10.0.0.1:9876 --in-place --new broker-a=10.0.0.2:10911"""
EXAMPLES_RUN = """\b
Examples:
  mqgateway migrate run moving.json --dry-run
  mqgateway migrate run moving.json --group broker-a"""
EXAMPLES_VERIFY = """\b
Examples:
  mqgateway migrate verify moving.json --json"""
EXAMPLES_ROLLBACK = """\b
Examples:
  mqgateway migrate rollback moving.json --group broker-a"""

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line.")
_GROUP = click.option(
    "--group", "groups", multiple=True, metavar="BROKER", help="Limit to this broker group; repeatable."
)
_PLAN = click.argument("path", metavar="PLAN", type=click.Path(dir_okay=False))
_ACCEPT = click.option(
    "--accept", "accepted", multiple=True, metavar="CODE", help="Ignore this obstacle; repeatable."
)


@click.group(epilog=EXAMPLES_PLAN)
def migrate() -> None:
    "Migrate the broker groups of a running cluster from Apache's brokers to mqgateway, and back."


migrate.add_command(kafka)


@migrate.command(epilog=EXAMPLES_PLAN)
@NAMESRV
@click.option(
    "--new",
    "pairs",
    multiple=True,
    required=True,
    metavar="BROKER=HOST:PORT",
    help="A broker group and the address of its new broker; repeatable, in the order of migration.",
)
@click.option("--in-place", is_flag=True, help="Open the stores of the old brokers on their machines.")
@click.option("--data-dir", default="mqgateway", show_default=True, help="Store folder of the new brokers.")
@click.option("--drain-seconds", type=click.FloatRange(0), default=DRAIN_SECONDS, show_default=True)
@_JSON
@asking_flags
@_PLAN
def plan(path: str, pairs: tuple[str, ...], **given: Any) -> None:
    """Inspect a cluster and write a plan of the migration of its broker groups.

    Nothing is changed. PLAN names the old and the new broker of each group. Beside it are the settings files
    with which each broker is started as slave and as master. Add the commands that start and stop your
    brokers to PLAN (`begin_slave`, `begin_master`, `end`), or `run` asks you each time.

    Exit code 3: the migration has obstacles, which the output and PLAN name.
    """
    wanted = dict(pair.partition("=")[::2] for pair in pairs)
    if wrong := [pair for pair in pairs if ":" not in pair.partition("=")[2]]:
        raise click.BadParameter(f"{wrong[0]}: write it as broker-a=10.0.0.5:10911", param_hint="--new")
    way = Way.IN_PLACE if given["in_place"] else Way.REPLICATE
    made = MigrationPlan(split_addresses(given["namesrv"]), [], given["drain_seconds"])
    room = _Room(given["data_dir"])
    with errors_reported(), asking(made.name_servers, given) as servers:
        for name, address in wanted.items():
            found = survey(servers, name, way)
            if found.way is not Way.IN_PLACE:
                found.problems += room.take(found)
            made.groups.append(_group_plan(path, name, address, found, made, given["data_dir"]))
            for line in _shown(name, found, given["as_json"]):
                click.echo(line)
        write_file(path, made.encode())
    if any(one.problems for one in made.groups):
        raise SystemExit(NOT_WELL)


@migrate.command(epilog=EXAMPLES_RUN)
@click.option(
    "--dry-run", is_flag=True, help="Check if each group can be migrated and print the steps; change nothing."
)
@_ACCEPT
@_GROUP
@_JSON
@asking_flags
@_PLAN
def run(path: str, groups: tuple[str, ...], accepted: tuple[str, ...], dry_run: bool, **given: Any) -> None:
    """Migrate the broker groups of a plan, one after the other.

    Each step waits for its condition, and the progress is recorded beside PLAN: after Ctrl-C or a failure,
    run the command again to continue. The old master is stopped when the new broker has all acknowledged
    messages.
    """
    from mqgateway.gateway.migration import moves

    made = _load(path)
    with errors_reported(), asking(made.name_servers, given) as servers:
        world = Terminal(servers, path, given["as_json"])
        chosen = moves.chosen(made, groups)
        if dry_run:
            _show_steps(world, made, chosen, accepted)
            return
        moves.run(world, made, chosen, world.progress, accepted)


@migrate.command(epilog=EXAMPLES_VERIFY)
@_GROUP
@_JSON
@asking_flags
@_PLAN
def verify(path: str, groups: tuple[str, ...], **given: Any) -> None:
    """Compare each group's master with the state of its predecessor at the handover.

    Exit code 0: everything is present; 3: differences were found, or no server answered.
    """
    from mqgateway.gateway.migration import moves

    made = _load(path)
    is_wrong = False
    with errors_reported(), asking(made.name_servers, given) as servers:
        for row in moves.verify(servers, moves.chosen(made, groups), _progress(path)):
            is_wrong |= bool(row["wrong"])
            if given["as_json"]:
                print_row(row)
                continue
            state = row["wrong"] or ("moved" if row["moved"] else "not moved")
            click.echo(escaped(f"{row['group']}  {row['master']}  {state}"))
    if is_wrong:
        raise SystemExit(NOT_WELL)


@migrate.command(epilog=EXAMPLES_ROLLBACK)
@_GROUP
@_JSON
@asking_flags
@_PLAN
def rollback(path: str, groups: tuple[str, ...], **given: Any) -> None:
    """Move groups back to their old brokers, with all messages that arrived since.

    A migrated group moves back in the same steps: the old broker joins as a slave on its old store, catches
    up and takes over. For other groups, the steps that were begun are undone.
    """
    from mqgateway.gateway.migration import moves

    made = _load(path)
    with errors_reported(), asking(made.name_servers, given) as servers:
        world = Terminal(servers, path, given["as_json"])
        moves.roll_back(world, made, moves.chosen(made, groups), world.progress)


class Terminal(PlanRun):
    """Environment of a run: this process's output, the shell, and the progress file beside the plan."""

    def __init__(self, servers: Servers, path: str, as_json: bool) -> None:
        super().__init__(path, as_json)
        self.servers = servers
        self.progress = _progress(path)

    def report(self, group: str, step: str, what: str) -> None:
        """See `HandoverEnvironment`."""
        if self._as_json:
            print_row({"group": group, "step": step, "what": what})
        else:
            now = iso(self._clock.millis(), UTC)
            click.echo(escaped(f"{now}  {group}  {step}: {what}"))

    def act(self, group: str, side: Side, act: ProcessAction) -> None:
        """See `HandoverEnvironment`."""
        commands = {"begin-slave": side.begin_slave, "begin-master": side.begin_master, "end": side.end}
        files = {"begin-slave": side.slave_file, "begin-master": side.master_file, "end": ""}
        command, file = commands[act], files[act]
        if not command:
            if self._as_json:
                print_row({"group": group, "act": act, "address": side.address, "file": file})
            else:
                how = "stop" if act == "end" else f"start with {file}"
                click.echo(escaped(f"          {group}  please {how} the broker at {side.address}"))
            return
        ended = subprocess.run(command, shell=True, check=False, stdin=subprocess.DEVNULL).returncode
        if ended:
            raise MigrationError(f"{group}: {command} ended with {ended}")

    def keep(self) -> None:
        """See `HandoverEnvironment`."""
        write_file(f"{self._path}{PROGRESS}", self.progress.encode())


def _show_steps(
    world: Terminal, made: MigrationPlan, groups: list[GroupPlan], accepted: tuple[str, ...]
) -> None:
    """Print the steps of a run. Exit with 1 if the run would be refused."""
    from mqgateway.gateway.migration import moves

    refused = False
    for group in groups:
        move = moves.hand_over(world, made, group, world.progress, moves.FORWARD)
        done = world.progress.of(group.broker_name, moves.FORWARD).done
        for line in [] if done else moves.refusals(world.servers, group, accepted):
            refused = True
            world.report(group.broker_name, "refused", line)
        for step in move.steps:
            world.report(group.broker_name, step, "is done" if step in done else "is pending")
    if refused:
        raise SystemExit(1)


class _Room:
    """Free space for the new stores, if their folder is on this machine."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.abspath(folder)
        self._is_here = RealDisk().is_dir(self._folder)
        self._free = RealDisk().usage(self._folder)[1] if self._is_here else 0

    def take(self, found: SurveyedGroup) -> list[MigrationProblem]:
        """Subtract the size of a group's log. Return a problem if the space is not sufficient."""
        self._free -= found.log[1] - found.log[0]
        if not self._is_here or self._free > 0:
            return []
        what = (
            f"{-self._free} bytes of free space are missing in {self._folder} for the logs up to this group"
        )
        return [MigrationProblem("room", what)]


def _unusable(path: str) -> list[MigrationProblem]:
    """Return the errors that mqgateway's broker finds in a settings file."""
    from mqgateway.gateway.cli.settings import BrokerSettings, from_file

    wrong = [one for one in BrokerSettings().options.apply(from_file(path)) if one.severity == "error"]
    return [MigrationProblem("settings", str(one), fatal=True) for one in wrong]


def _group_plan(
    path: str, name: str, address: str, found: SurveyedGroup, made: MigrationPlan, data_dir: str
) -> GroupPlan:
    """Return the plan of a group and write the settings files of its brokers."""
    from mqgateway.engine.options import format_value
    from mqgateway.gateway.cli.settings import BrokerSettings

    known = BrokerSettings().options
    defaults = {option: format_value(known.get(option)) for option in known.names()}
    shared = shared_settings(found.settings, defaults)
    shared |= {"brokerClusterName": found.settings.get("brokerClusterName", ""), "brokerName": name}
    shared["namesrvAddr"] = ";".join(made.name_servers)
    host, _, port = address.rpartition(":")
    place = {name: value for name in OWN_PLACE if (value := found.settings.get(name, ""))}
    new = {**shared, "listenPort": port, "brokerIP1": host}
    new["storePathRootDir"] = os.path.join(os.path.abspath(data_dir), name, "store")
    if found.way is Way.IN_PLACE:
        new["storePathRootDir"] = found.settings["storePathRootDir"]
    if commit_log := found.settings.get("storePathCommitLog"):
        place["storePathCommitLog"] = commit_log
        if found.way is Way.IN_PLACE:
            new["storePathCommitLog"] = commit_log
    old_role = found.settings.get("brokerRole", "ASYNC_MASTER")
    slave = ("brokerRole", "SLAVE"), ("brokerId", str(found.new_id))
    master = (
        ("brokerRole", "SYNC_MASTER"),
        ("brokerId", "0"),
        ("inSyncReplicas", "1"),
        ("haCopyWholeLog", "true"),
    )
    files = {
        "new-slave": as_file(new, *slave, ("haCopyWholeLog", "true")),
        "new-master": as_file(new, *master),
        "old-slave": as_file({**shared, **place}, *slave),
        "old-master": as_file({**shared, **place}, ("brokerRole", old_role), ("brokerId", "0")),
    }
    where = {kind: f"{os.path.splitext(os.path.abspath(path))[0]}-{name}-{kind}.conf" for kind in files}
    for kind, text in files.items():
        write_file(where[kind], text.encode())
    found.problems += _unusable(where["new-master"])
    return GroupPlan(
        name,
        shared["brokerClusterName"],
        found.way,
        Side(found.master, where["old-slave"], where["old-master"]),
        Side(address, where["new-slave"], where["new-master"]),
        drain=not found.only_here,
        problems=[one.to_json() for one in found.problems],
    )


def _shown(name: str, found: SurveyedGroup, as_json: bool) -> Iterator[str]:
    """Yield the lines to print about a surveyed group."""
    size = found.log[1] - found.log[0]
    if as_json:
        import json

        row = {"group": name, "master": found.master, "logBytes": size, "topics": len(found.topics)}
        row |= {"onlyHere": found.only_here, "problems": [one.to_json() for one in found.problems]}
        yield escaped_json(json.dumps(row, ensure_ascii=False))
        return
    yield escaped(f"{name}  {found.master}  {len(found.topics)} topics, {size:,} bytes of log")
    if found.only_here:
        some = ", ".join(found.only_here[:3])
        yield escaped(
            f"  producers wait during the migration: {some} ({len(found.only_here)}) exist in this group only"
        )
    for one in found.problems:
        yield escaped(f"  {'refused' if one.fatal else f'--accept {one.code}'}: {one.what}")


def _load(path: str) -> MigrationPlan:
    with errors_reported():
        return decode(RealDisk().read_bytes(path), path)


def _progress(path: str) -> Progress:
    disk, name = RealDisk(), f"{path}{PROGRESS}"
    return Progress.decode(disk.read_bytes(name) if disk.exists(name) else b"", name)
