"""Steps in which one broker of a group replaces another, forward or back.

Each step checks the present state first, so it can be repeated after any interruption. All steps before
`promote` can be undone (`undo`). The old master is the master until `stop`: it is not stopped before the new
one has all acknowledged messages. After `secure`, it acknowledges nothing that the new one does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Protocol

from mqgateway.gateway.client import admin_broker
from mqgateway.gateway.client import admin_names as names
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.migration import cluster
from mqgateway.gateway.migration.cluster import TableContents
from mqgateway.gateway.migration.plan import GroupPlan, MigrationError, Moves, Side, Way
from mqgateway.gateway.mqadmin.servers import MASTER, Servers

NEAR_BYTES = 4 << 20
"""Maximum lag of the new broker's log at the end of `catch-up`."""
LONG, SHORT = 1.0, 0.1
"""Polling intervals in seconds: while no client waits, and while clients wait."""
PERM_WRITE = 2
ROUTES_LOOKED_AT = 20
ROUTE_SECONDS = 30.0


class ProcessAction(StrEnum):
    """Action on a broker's process, run by a command of the plan or by an operator."""

    BEGIN_SLAVE = "begin-slave"
    BEGIN_MASTER = "begin-master"
    END = "end"


class HandoverEnvironment(Protocol):
    """Environment of a hand-over: servers, time, output and progress."""

    servers: Servers

    def monotonic(self) -> float:
        """Return the monotonic time in seconds."""

    def wait(self, seconds: float) -> None:
        """Block for a number of seconds."""

    def report(self, group: str, step: str, what: str) -> None:
        """Report the progress of a group."""

    def act(self, group: str, side: Side, act: ProcessAction) -> None:
        """Start or stop a broker's process, or request it from an operator.

        Does not wait for the broker. Raises `MigrationError` if the command fails.
        """

    def keep(self) -> None:
        """Store the progress."""


class HandOver:
    """Hand-over of a group from the master `source` to `target`. Completed steps are recorded in `moves`."""

    def __init__(
        self,
        world: HandoverEnvironment,
        group: GroupPlan,
        source: Side,
        target: Side,
        moves: Moves,
        drain_seconds: float,
    ) -> None:
        self._world = world
        self._servers = world.servers
        self._group = group
        self._name = group.broker_name
        self._source = source
        self._target = target
        self._moves = moves
        self._drain_seconds = drain_seconds
        self._step = ""
        self._is_secured = False
        self._stopped_at: float | None = None

    @property
    def steps(self) -> dict[str, Callable[[], None]]:
        """Steps in their order."""
        if self._group.way is Way.IN_PLACE:
            return {
                "drain": self._drain,
                "remember": self._remember,
                "stop": self._stop,
                "promote": self._promote,
                "settle": self._settle,
            }
        return {
            "join": self._join,
            "catch-up": self._catch_up,
            "tables": self._take_tables,
            "drain": self._drain,
            "secure": self._secure,
            "stop": self._stop,
            "promote": self._promote,
            "settle": self._settle,
        }

    @property
    def is_done(self) -> bool:
        """True if all steps are done."""
        return set(self.steps) <= set(self._moves.done)

    def run(self) -> None:
        """Continue with the first step that is not done. Raises `MigrationError`, `ClientError`."""
        for step, work in self.steps.items():
            if step in self._moves.done:
                continue
            self._step = step
            self._report("begins")
            work()
            self._moves.done.append(step)
            self._world.keep()

    def undo(self) -> None:
        """Restore the former state, before the new broker is master."""
        self._step = "undo"
        if not cluster.is_up(self._servers, self._source.address):
            self._begin(self._source, ProcessAction.BEGIN_MASTER)
        self._give_settings_back(self._source.address)
        self._announce_again()
        same_place = self._target.address == self._source.address
        if not same_place and cluster.is_up(self._servers, self._target.address):
            self._end(self._target)
        self._report("is as it was")

    # Reports and waits.

    def _report(self, what: str) -> None:
        self._world.report(self._name, self._step, what)

    def _until(self, missing: Callable[[], str], every: float = LONG, limit: float | None = None) -> None:
        """Wait until `missing` returns nothing; a failed query counts as missing.

        Raises `MigrationError` after `limit` seconds, if given.
        """
        began, last = self._world.monotonic(), ""
        while True:
            try:
                what = missing()
            except ClientError as error:
                what = str(error)
            if not what:
                return
            if limit is not None and self._world.monotonic() - began > limit:
                raise MigrationError(f"{self._name}: {self._step}: {what}")
            if what != last:
                self._report(f"waits: {what}")
                last = what
            self._world.wait(every)

    def _begin(self, side: Side, act: ProcessAction) -> None:
        self._world.act(self._name, side, act)
        wanted_master = act is ProcessAction.BEGIN_MASTER

        def missing() -> str:
            number = cluster.id_of(self._servers, self._name, side.address)
            if number is None or (number == MASTER) is not wanted_master:
                return f"{side.address} is not registered as {'master' if wanted_master else 'a slave'} yet"
            return "" if cluster.is_up(self._servers, side.address) else f"{side.address} does not answer"

        self._until(missing, SHORT)

    def _end(self, side: Side) -> None:
        self._world.act(self._name, side, ProcessAction.END)

        def missing() -> str:
            return f"{side.address} still answers" if cluster.is_up(self._servers, side.address) else ""

        self._until(missing, SHORT)

    # Steps.

    def _join(self) -> None:
        """Start the new broker as a slave."""
        number = cluster.id_of(self._servers, self._name, self._target.address)
        if number == MASTER:
            raise MigrationError(f"{self._target.address} is the master of {self._name} already")
        self._check_master()
        if number is None:
            self._begin(self._target, ProcessAction.BEGIN_SLAVE)

    def _check_master(self) -> None:
        master = cluster.master_of(self._servers, self._name)
        if master != self._source.address:
            raise MigrationError(
                f"the master of {self._name} is {master}, the plan is for {self._source.address}: "
                "make a new plan"
            )

    def _gap(self) -> tuple[int, str]:
        """Return the new broker's lag in bytes, and the reason if its log is unusable."""
        first, end = cluster.span(self._servers, self._source.address)
        own_first, own_end = cluster.span(self._servers, self._target.address)
        if own_end and own_first > first:
            return end - own_end, (
                f"{self._target.address} has the log from {own_first}, the master from {first}: end it, "
                "remove its store, and start it with haCopyWholeLog=true"
            )
        return end - own_end, ""

    def _catch_up(self) -> None:
        def missing() -> str:
            gap, wrong = self._gap()
            if wrong:
                raise MigrationError(wrong)
            return f"{gap} bytes of the log are missing" if gap > NEAR_BYTES else ""

        self._until(missing)

    def _take_tables(self) -> None:
        def missing() -> str:
            wanted = cluster.tables(self._servers, self._source.address)
            found = cluster.tables(self._servers, self._target.address)
            return cluster.lacks(found, TableContents(wanted.topics, wanted.groups, {}, wanted.modes))

        self._until(missing)
        settings = self._servers.ask(admin_broker.settings(), self._source.address)
        if settings.get("authenticationEnabled") == "true":
            theirs, own = (
                cluster.accounts(self._servers, side.address) for side in (self._source, self._target)
            )
            if theirs - own:
                raise MigrationError(f"{self._target.address} lacks {', '.join(sorted(theirs - own)[:3])}")

    def _drain(self) -> None:
        """Remove the write permission from the routes, so that producers send to other groups."""
        if not self._group.drain:
            return
        self._moves.kept["drained"] = True
        self._world.keep()
        self._servers.change_names(names.forbid_writing(self._name))
        end = self._world.monotonic() + self._drain_seconds
        while (left := end - self._world.monotonic()) > 0:
            self._report(f"waits: producers look for routes, {left:.0f} s")
            self._world.wait(min(left, 5.0))

    def _secure(self) -> None:
        """Make the master wait for its slaves before it acknowledges a message.

        From then on, slaves lack only messages that were not acknowledged.
        """
        self._check_master()
        address = self._source.address
        self._until(self._unfollowed)
        tables = cluster.tables(self._servers, address)
        self._until(lambda: cluster.lacks(cluster.tables(self._servers, self._target.address), tables))
        followers = len(cluster.slaves(self._servers, address))
        self._change_settings({"brokerRole": "SYNC_MASTER", "inSyncReplicas": str(1 + followers)})
        self._note(tables)
        self._until(self._missing_log, SHORT)
        self._is_secured = True

    def _missing_log(self) -> str:
        gap = self._gap()[0]
        return f"{gap} bytes of the log are missing" if gap > 0 else ""

    def _unfollowed(self) -> str:
        """Return the reason if a slave lags: once the master waits for its slaves, clients wait too."""
        address = self._source.address
        end = cluster.span(self._servers, address)[1]
        wanted = len(cluster.members(self._servers, self._name)) - 1
        followers = cluster.slaves(self._servers, address)
        if wrong := [one for one, _, is_in_sync in followers if not is_in_sync]:
            return f"slaves at {', '.join(wrong)} do not keep up with {address}"
        if len(followers) < wanted:
            return f"{len(followers)} of {wanted} slaves follow {address}"
        self._world.wait(LONG)
        gap = end - cluster.span(self._servers, self._target.address)[1]
        return f"the slave is more than a second behind, {gap} bytes" if gap > 0 else ""

    def _change_settings(self, wanted: Mapping[str, str]) -> None:
        """Change settings of the master, and record the former values."""
        address = self._source.address
        now = self._servers.ask(admin_broker.settings(), address)
        change = {name: value for name, value in wanted.items() if now.get(name) != value}
        before = self._moves.kept.setdefault("settings", {}).setdefault(address, {})
        for name in change:
            if name in now:
                before.setdefault(name, now[name])
        self._world.keep()
        if change:
            self._servers.ask(admin_broker.update_settings(change), address)

    def _remember(self) -> None:
        self._note(cluster.tables(self._servers, self._source.address))

    def _note(self, tables: TableContents) -> None:
        """Record the end of the log and the tables, which the new master must have."""
        self._moves.kept["end"] = cluster.span(self._servers, self._source.address)[1]
        self._moves.kept["tables"] = tables.to_json()

    def _stop(self) -> None:
        # After an interruption, it is unknown what has changed since `secure`, so it runs again.
        is_copied = self._group.way is Way.REPLICATE and not self._is_secured
        if is_copied and cluster.is_up(self._servers, self._source.address):
            self._secure()
        self._stopped_at = self._world.monotonic()
        if cluster.id_of(self._servers, self._name, self._source.address) == MASTER or cluster.is_up(
            self._servers, self._source.address
        ):
            self._end(self._source)

    def _promote(self) -> None:
        target = self._target
        if self._group.way is Way.REPLICATE:
            self._check_target()
        if cluster.id_of(self._servers, self._name, target.address) != MASTER:
            if self._group.way is Way.REPLICATE and cluster.is_up(self._servers, target.address):
                self._end(target)
            self._begin(target, ProcessAction.BEGIN_MASTER)
        if self._stopped_at is not None:
            self._moves.kept["away"] = round(self._world.monotonic() - self._stopped_at, 1)
            self._report(f"the group had no master for {self._moves.kept['away']} s")

    def _check_target(self) -> None:
        """Check that the slave has the log that the master had at `secure`. Raises `MigrationError`."""
        if not cluster.is_up(self._servers, self._target.address):
            return
        end, known = cluster.span(self._servers, self._target.address)[1], self._moves.kept["end"]
        if end < known:
            raise MigrationError(
                f"{self._target.address} has the log up to {end}, the master had it up to {known}: start "
                f"{self._source.address} again, and run this again"
            )

    def _settle(self) -> None:
        """Wait until the new master has everything, and the routes of its topics permit writing."""
        self._give_settings_back(self._target.address)
        self._until(lambda: missing_at(self._servers, self._target.address, self._moves.kept), LONG, 60.0)
        try:
            self._until(self._unwritable, LONG, ROUTE_SECONDS)
        except MigrationError:
            self._announce_again(self._target.address)
            self._until(self._unwritable, LONG, ROUTE_SECONDS)

    def _unwritable(self) -> str:
        topics = self._moves.kept["tables"]["topics"]
        wanted = [name for name, one in topics.items() if one["perm"] & PERM_WRITE]
        for name in sorted(wanted)[:ROUTES_LOOKED_AT]:
            route = self._servers.ask_names(names.route(name))
            perms = [
                one.perm for one in (route.queue_datas if route else []) if one.broker_name == self._name
            ]
            if not any(perm & PERM_WRITE for perm in perms):
                return f"the route of {name} does not say that {self._name} can be written to"
        return ""

    def _give_settings_back(self, address: str) -> None:
        before: Mapping[str, str] = self._moves.kept.get("settings", {}).get(address, {})
        if before:
            self._servers.ask(admin_broker.update_settings(before), address)
            self._moves.kept["settings"].pop(address)
            self._world.keep()

    def _announce_again(self, address: str = "") -> None:
        """Make the master send the permissions of its topics to the name servers.

        It registers again when its own permission is set, even to the same value.
        """
        where = address or self._source.address
        permission = self._servers.ask(admin_broker.settings(), where).get("brokerPermission", "6")
        self._servers.ask(admin_broker.update_settings({"brokerPermission": permission}), where)


def missing_at(servers: Servers, address: str, kept: Mapping[str, Any]) -> str:
    """Return a description of what a broker lacks of the former master's recorded state; empty if nothing.

    Raises `ClientError`.
    """
    end = cluster.span(servers, address)[1]
    if end < kept["end"]:
        return f"{address} has the log up to {end}, the master before had it up to {kept['end']}"
    return cluster.lacks(cluster.tables(servers, address), TableContents(**kept["tables"]))
