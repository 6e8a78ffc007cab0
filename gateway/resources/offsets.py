"""`mqgateway offset`: shows and moves the offsets of groups; moves can be undone.

`reset` shows the present offset, the target and the distance of each queue, and requires a confirmation. It
records the present offsets before it moves any: `undo` restores them, and can be undone too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from mqgateway.gateway.client import admin_groups as groups
from mqgateway.gateway.client import admin_messages as messages
from mqgateway.gateway.client import admin_topics as topics
from mqgateway.gateway.client.errors import BrokerError, ClientError, NoBroker
from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.mqadmin.declaration import (
    CommandCall,
    CommandOption,
    NameKind,
    Row,
    UsageError,
    command,
    flag,
    operand,
)
from mqgateway.gateway.mqadmin.servers import reachable
from mqgateway.gateway.mqadmin.times import millis_of
from mqgateway.gateway.remedies.moves import GroupMove, GroupPosition, undoing
from mqgateway.gateway.resources import lag, targets
from mqgateway.gateway.resources.existing import need_group
from mqgateway.gateway.resources.rendering import table

_GROUP = operand("g", "group", "consumer group", values=NameKind.GROUP)
_TOPIC = operand("t", "topic", "topic", values=NameKind.TOPIC)
_YES = flag("y", "yes", "do not ask for confirmation")
_RESET_SECONDS = 15.0
NOTES_MAX = 100
"""Maximum number of recorded resets that can be undone, of all groups together."""
_OFFSETS_BELOW = 365 * 24 * 3600 * 1000
"""A smaller number is an offset, any other a time in ms: no queue has as many messages as a year has ms."""
_PLAN = table("brokerName", "queueId", "from", "to", "count", "state", nothing="nothing to move")


@command(
    "offset show",
    _GROUP,
    operand("t", "topic", "limit to this topic", required=False, values=NameKind.TOPIC),
    targets.CLUSTER,
    text=lag.with_anomalies(
        table(
            "topic",
            "brokerName",
            "queueId",
            "offset",
            "end",
            "behind",
            "inFlight",
            "consumedAt",
            nothing="the group has no offsets",
        )
    ),
)
def show(call: CommandCall) -> Iterator[Row]:
    """Yield the offsets of all brokers. `consumedAt` is the store time of the last consumed message."""
    topic = call.given.text("t")
    question = groups.progress(call.given.need("g"), [topic] if topic else ())
    call.summary["behind"] = 0
    is_known = False
    for _, address in targets.brokers(call):
        with call.servers.part(address):
            for queue, one in sorted(call.servers.ask(question, address).offset_table.items()):
                is_known = True
                behind = lag.behind(one)
                call.summary["behind"] += behind
                yield {
                    "topic": queue.topic,
                    "brokerName": queue.broker_name,
                    "queueId": queue.queue_id,
                    "offset": one.consumer_offset,
                    "end": one.broker_offset,
                    "behind": behind,
                    "ahead": lag.ahead(one),
                    "inFlight": max(0, one.pull_offset - one.consumer_offset),
                    "consumedAt": one.last_timestamp,
                }
    if not is_known and not call.servers.errors:
        need_group(call)


@command(
    "offset reset",
    _GROUP,
    _TOPIC,
    CommandOption(
        "",
        "to",
        "target: first, last, now, an offset, ms since the epoch or ISO 8601, as 2026-01-31T12:00:00",
    ),
    CommandOption("", "by", "number of messages to move forward; negative: backward"),
    CommandOption("q", "queue", "limit to this queue, as broker-a:3"),
    _YES,
    text=_PLAN,
)
def reset(call: CommandCall) -> Iterator[Row]:
    """Move the offsets of all queues of a topic, or of one. Connected members resume there too."""
    given = call.given
    if ("to" in given) == ("by" in given):
        raise UsageError("one of --to and --by is needed")
    group, topic = given.need("g"), given.need("t")
    need_group(call)
    found = _progress(call, group, topic)
    positions = found.positions
    if (wanted := given.text("q")) is not None:
        positions = [one for one in positions if f"{one.broker}:{one.queue_id}" == wanted]
        if not positions:
            raise NoBroker(f"the topic {topic} has no queue {wanted}: write it as broker-a:3")
    return _moved(call, found, [_requested(call, found, one) for one in positions])


@command(
    "offset undo",
    _GROUP,
    _TOPIC,
    _YES,
    text=_PLAN,
)
def undo(call: CommandCall) -> Iterator[Row]:
    """Restore the recorded offsets. Queues whose messages were deleted since resume at the oldest message."""
    group, topic = call.given.need("g"), call.given.need("t")
    notes = [one for one in _notes(call) if (one["group"], one["topic"]) == (group, topic)]
    if not notes:
        raise NoBroker(f"no reset of the group {group} in the topic {topic} is recorded on this machine")
    before = {(one["brokerName"], one["queueId"]): one["offset"] for one in notes[-1]["offsets"]}
    found = _progress(call, group, topic)
    return _moved(call, found, undoing(found.positions, before))


class _Progress(NamedTuple):
    """The positions of a group in a topic, and the address to query by broker name."""

    group: str
    topic: str
    positions: list[GroupPosition]
    addresses: dict[str, str]

    def queue(self, position: GroupPosition) -> MessageQueue:
        return MessageQueue(self.topic, position.broker, position.queue_id)


def _progress(call: CommandCall, group: str, topic: str) -> _Progress:
    """Query the brokers of a topic, one after another."""
    found = _Progress(group, topic, [], {})
    for _, address in reachable(call.servers.route(topic).broker_datas):
        ends = call.servers.ask(topics.stats(topic), address).offset_table
        known = call.servers.ask(groups.progress(group, [topic]), address).offset_table
        for queue, one in sorted(ends.items()):
            offset = known[queue].consumer_offset if queue in known else -1
            bounds = (one.min_offset, one.max_offset)
            found.positions.append(GroupPosition(queue.broker_name, queue.queue_id, *bounds, offset))
            found.addresses[queue.broker_name] = address
    return found


def _requested(call: CommandCall, found: _Progress, position: GroupPosition) -> GroupMove:
    """Return the move of a queue that `--to` or `--by` requests."""
    given = call.given
    if "by" in given:
        return position.move_by(given.number("by", 0))
    to = given.need("to")
    if to in ("first", "last"):
        return position.move_to(position.begin if to == "first" else position.end)
    if to.isdecimal() and int(to) < _OFFSETS_BELOW:
        return position.move_to(int(to))
    question = messages.offset_at(found.queue(position), millis_of(to, call.now()))
    return position.move_to(call.servers.ask(question, found.addresses[position.broker]))


def _moved(call: CommandCall, found: _Progress, plan: list[GroupMove]) -> Iterator[Row]:
    """Show the plan, and carry it out after a confirmation."""
    moving = [one for one in plan if one.is_change]
    call.summary["messages"] = sum(abs(one.distance) for one in moving)
    if call.is_dry or not moving:
        yield from (_row(one, "" if one.is_change else "stays") for one in plan)
        return
    if "y" not in call.given:
        shown = "".join(_PLAN(call, [_row(one, "") for one in moving]))
        if not call.confirm(f"{shown}move the group {found.group} in {found.topic}?"):
            raise UsageError("nothing was moved: use --yes to confirm, or --dry-run for a preview")
    _note(call, found, moving)
    for one in plan:
        if not one.is_change:
            yield _row(one, "stays")
            continue
        address = found.addresses[one.position.broker]
        with call.servers.part(address):
            _move(call, found.group, found.queue(one.position), address, one.target)
            yield _row(one, "moved")


def _move(call: CommandCall, group: str, queue: MessageQueue, address: str, target: int) -> None:
    """Reset an offset; the broker notifies connected members. If it has none, only the offset is set."""
    question = groups.reset_offsets(group, queue.topic, 0, queue_id=queue.queue_id, offset=target)
    try:
        call.servers.change(question, address, _RESET_SECONDS)
    except BrokerError as error:
        if error.code != ResponseCode.CONSUMER_NOT_ONLINE:
            raise
        call.servers.change(groups.set_offset(group, queue, target), address)


def _row(move: GroupMove, state: str) -> Row:
    return {
        "brokerName": move.position.broker,
        "queueId": move.position.queue_id,
        "from": move.position.offset,
        "to": move.target,
        "count": move.distance,
        "state": state,
    }


# Recorded resets


def _notes(call: CommandCall) -> list[dict[str, Any]]:
    try:
        return [orjson.loads(line) for line in call.notebook.read().splitlines()]
    except ValueError as error:
        raise ClientError(f"the record of offset resets cannot be read: {error}") from None


def _note(call: CommandCall, found: _Progress, moving: list[GroupMove]) -> None:
    """Record the offsets of a group before they are moved."""
    offsets = [
        {"brokerName": one.broker, "queueId": one.queue_id, "offset": max(one.offset, 0)} for one, _ in moving
    ]
    note = {"time": call.now(), "group": found.group, "topic": found.topic, "offsets": offsets}
    kept = [*_notes(call), note][-NOTES_MAX:]
    call.notebook.write("".join(orjson.dumps(one).decode() + "\n" for one in kept))
