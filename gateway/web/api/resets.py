"""A group sent to other offsets: shown before, done, undone. It need not be connected.

The offsets before are kept in memory, for the last hundred changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.broker.operations import Permit, Restart, Use
from mqgateway.gateway.remedies.moves import GroupMove, GroupPosition, undoing
from mqgateway.gateway.web.api.needs import of_cluster, of_group
from mqgateway.gateway.web.call import WebCall
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.route import ApiError, Role, Route, RouteField

BEGINNING, END, TIME, OFFSET = "beginning", "end", "time", "offset"


def preview(console: Console, call: WebCall) -> dict[str, Any]:
    """Show where the group is and where it would resume, by queue. Nothing is changed."""
    plan = _plan(console, console.permit(call, Use.QUERY), call.path["group"], call.query)
    return {"queues": list(map(_row, plan))}


def reset(console: Console, call: WebCall) -> dict[str, Any]:
    """Set the offsets of the group: it resumes there with its next pull or start. `id` undoes it."""
    permit = console.permit(call, Use.ADMINISTER)
    group, topic, shown = call.path["group"], call.body["topic"], call.body["offsets"]
    if shown is None:
        plan = _plan(console, permit, group, call.body)
    else:
        plan = _shown_plan(console, group, topic, shown)
    before = {one.queue_id: one.offset for one, _ in plan if one.offset >= 0}
    targets = _targets(plan)
    console.operations.administration.set_offsets(permit, group, topic, targets)
    call.before, call.after = before, targets
    return {"id": console.keep_reset(call, group, topic, before), "queues": list(map(_row, plan))}


def undo(console: Console, call: WebCall) -> dict[str, Any]:
    """Set the offsets that the group had before a change: it consumes later messages again.

    Of queues in which it had no offset the new one stays, unless it had none at all. A queue that has deleted
    messages since is set to its oldest message.
    """
    permit, administration = console.permit(call, Use.ADMINISTER), console.operations.administration
    number = call.path["id"]
    done = console.resets.get(int(number)) if number.isdecimal() else None
    if done is None:
        raise ApiError(404, f"there is no change {number} to undo")
    console.entrance.check_needs(call.caller, of_group(Action.UPDATE)(_of_group(call, done.group)))
    positions = _positions(console, done.group, done.topic, done.before)
    broker = console.operations.options.broker_name
    plan = undoing(positions, {(broker, queue_id): offset for queue_id, offset in done.before.items()})
    call.before = {one.queue_id: one.offset for one in positions}
    call.after = _targets(plan)
    if plan:
        administration.set_offsets(permit, done.group, done.topic, call.after)
    else:
        administration.forget_offsets(permit, done.group, done.topic)
    del console.resets[done.id]
    return {"group": done.group, "topic": done.topic, "offsets": call.after}


def resets(console: Console, call: WebCall) -> dict[str, Any]:
    """The changes that can be undone, the newest first."""
    return {
        "rows": [
            {"id": one.id, "time": one.time, "user": one.user, "group": one.group, "topic": one.topic}
            for one in reversed(console.resets.values())
        ]
    }


def _of_group(call: WebCall, group: str) -> WebCall:
    return WebCall(call.caller, call.now, call.cluster, path={"group": group})


def _plan(console: Console, permit: Permit, group: str, given: dict[str, Any]) -> list[GroupMove]:
    to, topic, queue_id = given["to"], given["topic"], given["queueId"]
    if to in (TIME, OFFSET) and given[to] is None:
        raise ApiError(400, f"{to} is missing: the reset is to a value of {to}")
    if to == OFFSET and queue_id < 0:
        raise ApiError(400, "an offset is of one queue: state it as queueId")
    timestamp = {BEGINNING: 0, END: -1, TIME: given["time"]}.get(to, 0)
    restart = Restart(group, topic, timestamp, queue_id, given["offset"] if to == OFFSET else None)
    targets = console.operations.administration.restart_targets(permit, restart)
    return [
        GroupMove(one, one.begin if to == BEGINNING else targets[one.queue_id])
        for one in _positions(console, group, topic, sorted(targets))
    ]


def _shown_plan(console: Console, group: str, topic: str, shown: dict[str, Any]) -> list[GroupMove]:
    """Return the moves to offsets that a preview returned, by queue id as text. Raises `ApiError`."""
    if group not in console.operations.groups:
        raise ApiError(404, f"there is no group {group} on this broker")
    queues = range(console.operations.topics.known(topic).read_queue_nums)
    targets = {str(queue_id): shown[str(queue_id)] for queue_id in queues if str(queue_id) in shown}
    if not shown or targets.keys() != shown.keys():
        raise ApiError(400, f"offsets must be by ids of queues of {topic}")
    plan = [
        GroupMove(one, targets[str(one.queue_id)])
        for one in _positions(console, group, topic, map(int, targets))
    ]
    for position, target in plan:
        if type(target) is not int or not position.begin <= target <= position.end:
            limits = f"{position.begin} to {position.end}"
            raise ApiError(409, f"queue {position.queue_id} has no offset {target}: it has {limits}")
    return plan


def _positions(console: Console, group: str, topic: str, queue_ids: Iterable[int]) -> list[GroupPosition]:
    broker = console.operations.options.broker_name
    return [
        GroupPosition(broker, one.queue_id, *one.range, one.offset)
        for one in console.operations.offsets.progress(group, topic, queue_ids)
    ]


def _targets(plan: Iterable[GroupMove]) -> dict[int, int]:
    return {one.queue_id: target for one, target in plan}


def _row(move: GroupMove) -> dict[str, Any]:
    """`again` counts messages that come again, `skipped` those that never come."""
    position = move.position
    return {
        "queueId": position.queue_id,
        "offset": position.offset,
        "target": move.target,
        "again": max(0, -move.distance),
        "skipped": max(0, move.distance),
        "minOffset": position.begin,
        "maxOffset": position.end,
    }


_WHERE = (
    RouteField("topic", str, "Topic name."),
    RouteField("to", str, "Target of the reset.", TIME, choices=(BEGINNING, END, TIME, OFFSET)),
    RouteField(
        "time", int, "Store time of the first message to consume, in ms since the epoch.", None, least=0
    ),
    RouteField("queueId", int, "Queue id; -1 for all queues.", -1, least=-1),
    RouteField("offset", int, "Offset; needs `queueId`.", None, least=0),
)
_SHOWN = RouteField(
    "offsets", dict, "New offsets by queue id, as a preview returned them; used instead of `to`.", None
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
        body=(*_WHERE, _SHOWN),
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
