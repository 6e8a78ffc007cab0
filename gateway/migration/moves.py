"""Migration of all groups of a plan, one after the other, forward and back, and the check afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.migration import cluster
from mqgateway.gateway.migration.election import Election
from mqgateway.gateway.migration.handover import HandOver, HandoverEnvironment, missing_at
from mqgateway.gateway.migration.plan import GroupPlan, MigrationError, MigrationPlan, Moves, Progress, Way
from mqgateway.gateway.migration.survey import survey
from mqgateway.gateway.mqadmin.servers import MASTER, Servers

FORWARD, BACK = "forward", "back"


def chosen(plan: MigrationPlan, names: Sequence[str]) -> list[GroupPlan]:
    """Return the groups with these names, or all. Raises `MigrationError` for an unknown name."""
    if unknown := set(names) - {one.broker_name for one in plan.groups}:
        raise MigrationError(f"the plan has no group {', '.join(sorted(unknown))}")
    return [one for one in plan.groups if not names or one.broker_name in names]


def hand_over(
    world: HandoverEnvironment, plan: MigrationPlan, group: GroupPlan, progress: Progress, direction: str
) -> HandOver:
    """Return the hand-over of a group in one direction."""
    sides = (group.old, group.new) if direction == FORWARD else (group.new, group.old)
    moves = progress.of(group.broker_name, direction)
    kind = Election if group.way is Way.ELECT else HandOver
    return kind(world, group, *sides, moves, plan.drain_seconds)


def refusals(servers: Servers, group: GroupPlan, accepted: Sequence[str]) -> list[str]:
    """Return the present obstacles of a group, without the accepted ones. Raises `ClientError`,
    `MigrationError`."""
    found = survey(servers, group.broker_name, group.way)
    lines = [
        f"{group.broker_name}: {one.what}" + ("" if one.fatal else f" (--accept {one.code})")
        for one in found.problems
        if one.fatal or one.code not in accepted
    ]
    if found.master != group.old.address:
        lines.append(
            f"{group.broker_name}: the master is {found.master}, the plan is for {group.old.address}: "
            "make a new plan"
        )
    return lines


def run(
    world: HandoverEnvironment,
    plan: MigrationPlan,
    groups: Sequence[GroupPlan],
    progress: Progress,
    accepted: Sequence[str],
) -> None:
    """Move groups one after the other. Raises `MigrationError`, `ClientError`."""
    for group in groups:
        move = hand_over(world, plan, group, progress, FORWARD)
        if move.is_done:
            continue
        if not progress.of(group.broker_name, FORWARD).done and (
            wrong := refusals(world.servers, group, accepted)
        ):
            raise MigrationError("; ".join(wrong))
        progress.forget(group.broker_name, BACK)
        move.run()


def roll_back(
    world: HandoverEnvironment, plan: MigrationPlan, groups: Sequence[GroupPlan], progress: Progress
) -> None:
    """Roll groups back, the last one first: move migrated ones back, and undo the steps of others.

    Raises `MigrationError`, `ClientError`.
    """
    for group in reversed(groups):
        name = group.broker_name
        forward = progress.of(name, FORWARD)
        if not forward.done and not forward.kept:
            continue
        if not _has_moved(world, group, forward):
            hand_over(world, plan, group, progress, FORWARD).undo()
        else:
            back = progress.of(name, BACK)
            # Settings that the way forward changed at the old master are restored once it is master again.
            for address, settings in forward.kept.get("settings", {}).items():
                back.kept.setdefault("settings", {}).setdefault(address, settings)
            hand_over(world, plan, group, progress, BACK).run()
        progress.forget(name, FORWARD)
        world.keep()


def _has_moved(world: HandoverEnvironment, group: GroupPlan, forward: Moves) -> bool:
    """Return True if the new broker may have acknowledged messages."""
    is_master = cluster.members(world.servers, group.broker_name).get(MASTER) == group.new.address
    is_begun = "stop" in forward.done or group.way is Way.ELECT
    return "promote" in forward.done or (is_begun and is_master)


def verify(servers: Servers, groups: Sequence[GroupPlan], progress: Progress) -> Iterator[dict[str, Any]]:
    """Yield the master and the problem of each group; `wrong` is empty without a problem."""
    for group in groups:
        name = group.broker_name
        directions = ((FORWARD, group.new), (BACK, group.old))
        moved = [pair for pair in directions if "promote" in progress.of(name, pair[0]).done]
        direction, side = moved[0] if moved else ("", group.old)
        row: dict[str, Any] = {"group": name, "moved": direction == FORWARD, "master": None, "wrong": ""}
        try:
            row["master"] = cluster.master_of(servers, name)
            if row["master"] != side.address:
                row["wrong"] = f"its master is {row['master']}, not {side.address}"
            elif moved:
                kept = progress.of(name, direction).kept
                row["wrong"] = missing_at(servers, side.address, kept)
                row["away"] = kept.get("away")
            row["log"] = cluster.span(servers, row["master"])
        except (ClientError, MigrationError) as error:
            row["wrong"] = str(error)
        yield row
