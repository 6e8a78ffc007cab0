"""A group sent to other offsets: shown before, done, undone. It need not be connected.

The offsets before are kept in memory, for the last hundred changes.
"""

from __future__ import annotations

from typing import Any

from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.broker.operations import Permit, Restart, Use
from mqgateway.gateway.web.api.needs import of_cluster, of_group
from mqgateway.gateway.web.call import Call
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.route import ApiError, Field, Role, Route

BEGINNING, END, TIME, OFFSET = "beginning", "end", "time", "offset"


def preview(console: Console, call: Call) -> dict[str, Any]:
    """Show where the group is and where it would resume, by queue. Nothing is changed."""
    targets = _targets(console, console.permit(call, Use.QUERY), call.path["group"], call.query)
    return {"queues": _rows(console, call.path["group"], call.query["topic"], targets)}


def reset(console: Console, call: Call) -> dict[str, Any]:
    """Set the offsets of the group: it resumes there with its next pull or start. `id` undoes it."""
    permit = console.permit(call, Use.ADMINISTER)
    group, topic = call.path["group"], call.body["topic"]
    targets = _targets(console, permit, group, call.body)
    rows = _rows(console, group, topic, targets)
    before = {row["queueId"]: row["offset"] for row in rows if row["offset"] >= 0}
    console.operations.administration.set_offsets(permit, group, topic, targets)
    call.before, call.after = before, targets
    return {"id": console.keep_reset(call, group, topic, before, targets), "queues": rows}


def undo(console: Console, call: Call) -> dict[str, Any]:
    """Set the offsets that the group had before a change: it consumes later messages again.

    Of queues in which it had no offset the new one stays, unless it had none at all.
    """
    permit, administration = console.permit(call, Use.ADMINISTER), console.operations.administration
    number = call.path["id"]
    done = console.resets.get(int(number)) if number.isdecimal() else None
    if done is None:
        raise ApiError(404, f"there is no change {number} to undo")
    console.entrance.check_needs(call.caller, of_group(Action.UPDATE)(_of_group(call, done.group)))
    progress = console.operations.offsets.progress(done.group, done.topic, done.before)
    call.before = {one.queue_id: one.offset for one in progress}
    call.after = done.before
    if done.before:
        administration.set_offsets(permit, done.group, done.topic, done.before)
    else:
        administration.forget_offsets(permit, done.group, done.topic)
    del console.resets[done.id]
    return {"group": done.group, "topic": done.topic, "offsets": done.before}


def resets(console: Console, call: Call) -> dict[str, Any]:
    """The changes that can be undone, the newest first."""
    return {
        "rows": [
            {"id": one.id, "time": one.time, "user": one.user, "group": one.group, "topic": one.topic}
            for one in reversed(console.resets.values())
        ]
    }


def _of_group(call: Call, group: str) -> Call:
    return Call(call.caller, call.now, call.cluster, path={"group": group})


def _targets(console: Console, permit: Permit, group: str, given: dict[str, Any]) -> dict[int, int]:
    to, queue_id = given["to"], given["queueId"]
    if to == OFFSET and queue_id < 0:
        raise ApiError(400, "an offset is of one queue: say which by queueId")
    timestamp = {BEGINNING: 0, END: -1, TIME: given["time"]}.get(to, 0)
    restart = Restart(group, given["topic"], timestamp, queue_id, given["offset"] if to == OFFSET else None)
    targets = console.operations.administration.restart_targets(permit, restart)
    if to != BEGINNING:
        return targets
    return {queue: console.operations.offsets.range(given["topic"], queue).begin for queue in targets}


def _rows(console: Console, group: str, topic: str, targets: dict[int, int]) -> list[dict[str, Any]]:
    """`again` counts messages that come again, `skipped` those that never come."""
    rows = []
    for one in console.operations.offsets.progress(group, topic, sorted(targets)):
        target, resumes = targets[one.queue_id], max(one.offset, 0)
        rows.append(
            {
                "queueId": one.queue_id,
                "offset": one.offset,
                "target": target,
                "again": max(0, resumes - target),
                "skipped": max(0, target - resumes),
                "minOffset": one.range.begin,
                "maxOffset": one.range.end,
            }
        )
    return rows


_WHERE = (
    Field("topic", str, "Topic name."),
    Field("to", str, "Target of the reset.", TIME, choices=(BEGINNING, END, TIME, OFFSET)),
    Field("time", int, "Store time of the first message to consume, in ms since the epoch.", 0, least=0),
    Field("queueId", int, "Queue id; -1 for all queues.", -1, least=-1),
    Field("offset", int, "Offset; needs `queueId`.", 0, least=0),
)

ROUTES = (
    Route(
        "GET",
        "/groups/{group}/reset-preview",
        Role.VIEWER,
        "Preview the offsets that a reset would set.",
        preview,
        query=_WHERE,
        needs=of_group(Action.GET),
    ),
    Route(
        "POST",
        "/groups/{group}/reset",
        Role.OPERATOR,
        "Reset the offsets of a group.",
        reset,
        body=_WHERE,
        needs=of_group(Action.UPDATE),
    ),
    Route(
        "GET",
        "/resets",
        Role.VIEWER,
        "List offset changes that can be undone.",
        resets,
        needs=of_cluster(Action.GET),
    ),
    Route("POST", "/resets/{id}/undo", Role.OPERATOR, "Undo a change of offsets.", undo),
)
