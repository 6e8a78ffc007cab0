"""`mqgateway offset`: where groups are, and moving them with a way back.

`reset` shows each queue with where the group is, where it is to go on and how many messages lie between,
asks, and notes where the group was before it moves anything: `undo` goes back there, and can be undone too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from mqgateway.gateway.client import admin_groups as groups
from mqgateway.gateway.client import admin_messages as messages
from mqgateway.gateway.client import admin_topics as topics
from mqgateway.gateway.client.errors import BrokerError, ClientError, NoBroker
from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.mqadmin.commands.offsets import millis_of
from mqgateway.gateway.mqadmin.declaration import Call, Known, Option, Row, UsageError, command, flag, operand
from mqgateway.gateway.mqadmin.servers import reachable
from mqgateway.gateway.nouns import lag, whom
from mqgateway.gateway.nouns.borrowed import borrow
from mqgateway.gateway.nouns.existing import need_group
from mqgateway.gateway.nouns.rendering import table

_GROUP = operand("g", "group", "consumer group", values=Known.GROUP)
_TOPIC = operand("t", "topic", "topic", values=Known.TOPIC)
_YES = flag("y", "yes", "do not ask for confirmation")
_RESET_SECONDS = 15.0
NOTES_MAX = 100
"""Resets that can be undone, of all groups together."""
_OFFSETS_BELOW = 365 * 24 * 3600 * 1000
"""A smaller number is an offset, any other a time: queues do not come to hold as much as a year has ms."""
_PLAN = table("brokerName", "queueId", "from", "to", "count", "state", nothing="nothing to move")


@command(
    "offset show",
    _GROUP,
    operand("t", "topic", "limit to this topic", required=False, values=Known.TOPIC),
    whom.CLUSTER,
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
def show(call: Call) -> Iterator[Row]:
    """All brokers are asked. `consumedAt` is when the message consumed last was stored."""
    topic = call.given.text("t")
    question = groups.progress(call.given.need("g"), [topic] if topic else ())
    call.summary["behind"] = 0
    is_known = False
    for _, address in whom.brokers(call):
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


borrow("offset clone", "cloneGroupOffset", table("from", "to", "topic", "queues"), s="source", d="target")


@command(
    "offset reset",
    _GROUP,
    _TOPIC,
    Option(
        "",
        "to",
        "target: first, last, now, an offset, ms since the epoch or ISO 8601, as 2026-01-31T12:00:00",
    ),
    Option("", "by", "number of messages to move forward; negative: backward"),
    Option("q", "queue", "limit to this queue, as broker-a:3"),
    _YES,
    text=_PLAN,
)
def reset(call: Call) -> Iterator[Row]:
    """Every queue of the topic, or one. Members that are connected go on from there too."""
    given = call.given
    if ("to" in given) == ("by" in given):
        raise UsageError("one of --to and --by is needed")
    group, topic = given.need("g"), given.need("t")
    need_group(call)
    places = _places(call, group, topic)
    if (wanted := given.text("q")) is not None:
        places = [one for one in places if f"{one[0].broker_name}:{one[0].queue_id}" == wanted]
        if not places:
            raise NoBroker(f"the topic {topic} has no queue {wanted}: write it as broker-a:3")
    plan = []
    for queue, address, low, high, now_at in places:
        target = min(max(_target(call, queue, address, low, high, now_at), low), high)
        plan.append((queue, address, now_at, target))
    return _moved(call, group, topic, plan)


@command(
    "offset undo",
    _GROUP,
    _TOPIC,
    _YES,
    text=_PLAN,
)
def undo(call: Call) -> Iterator[Row]:
    """Queues that have lost messages since go on with the oldest that is left."""
    group, topic = call.given.need("g"), call.given.need("t")
    notes = [one for one in _notes(call) if (one["group"], one["topic"]) == (group, topic)]
    if not notes:
        raise NoBroker(f"no reset of the group {group} in the topic {topic} is recorded on this machine")
    before = {(one["brokerName"], one["queueId"]): one["offset"] for one in notes[-1]["offsets"]}
    plan = []
    for queue, address, low, high, now_at in _places(call, group, topic):
        offset = before.get((queue.broker_name, queue.queue_id))
        if offset is not None:
            plan.append((queue, address, now_at, min(max(offset, low), high)))
    return _moved(call, group, topic, plan)


_Place = tuple[MessageQueue, str, int, int, int]
_Move = tuple[MessageQueue, str, int, int]


def _places(call: Call, group: str, topic: str) -> list[_Place]:
    """Every queue with whom to ask about it, its ends, and where the group is; -1 where it never was."""
    found: list[_Place] = []
    for _, address in reachable(call.servers.route(topic).broker_datas):
        ends = call.servers.ask(topics.stats(topic), address).offset_table
        known = call.servers.ask(groups.progress(group, [topic]), address).offset_table
        for queue, one in sorted(ends.items()):
            at = known[queue].consumer_offset if queue in known else -1
            found.append((queue, address, one.min_offset, one.max_offset, at))
    return found


def _target(call: Call, queue: MessageQueue, address: str, low: int, high: int, at: int) -> int:
    """Where a queue goes on, as it was asked for."""
    given = call.given
    if "by" in given:
        return max(at, low) + given.number("by", 0)
    to = given.need("to")
    if to in ("first", "last"):
        return low if to == "first" else high
    if to.isdecimal() and int(to) < _OFFSETS_BELOW:
        return int(to)
    return call.servers.ask(messages.offset_at(queue, millis_of(to, call.now())), address)


def _moved(call: Call, group: str, topic: str, plan: list[_Move]) -> Iterator[Row]:
    """Show the plan, and carry it out where it is consented to."""
    moving = [one for one in plan if one[2] != one[3]]
    call.summary["messages"] = sum(abs(target - max(at, 0)) for _, _, at, target in moving)
    if call.is_dry or not moving:
        yield from (_told(one, "" if one in moving else "stays") for one in plan)
        return
    if "y" not in call.given:
        shown = "".join(_PLAN(call, [_told(one, "") for one in moving]))
        if not call.confirm(f"{shown}move the group {group} in {topic}?"):
            raise UsageError("nothing was moved: use --yes to confirm, or --dry-run for a preview")
    _note(call, group, topic, moving)
    for one in plan:
        queue, address, _, target = one
        if one not in moving:
            yield _told(one, "stays")
            continue
        with call.servers.part(address):
            _move(call, group, queue, address, target)
            yield _told(one, "moved")


def _move(call: Call, group: str, queue: MessageQueue, address: str, target: int) -> None:
    """Members are told by the broker; where it has none to tell, the offset is set as it is."""
    question = groups.reset_offsets(group, queue.topic, 0, queue_id=queue.queue_id, offset=target)
    try:
        call.servers.change(question, address, _RESET_SECONDS)
    except BrokerError as error:
        if error.code != ResponseCode.CONSUMER_NOT_ONLINE:
            raise
        call.servers.change(groups.set_offset(group, queue, target), address)


def _told(move: _Move, state: str) -> Row:
    queue, _, at, target = move
    return {
        "brokerName": queue.broker_name,
        "queueId": queue.queue_id,
        "from": at,
        "to": target,
        "count": target - max(at, 0),
        "state": state,
    }


# What can be undone


def _notes(call: Call) -> list[dict[str, Any]]:
    try:
        return [orjson.loads(line) for line in call.notebook.read().splitlines()]
    except ValueError as error:
        raise ClientError(f"the record of offset resets cannot be read: {error}") from None


def _note(call: Call, group: str, topic: str, moving: list[_Move]) -> None:
    """Keep where the group is, before it is moved."""
    offsets = [
        {"brokerName": queue.broker_name, "queueId": queue.queue_id, "offset": max(at, 0)}
        for queue, _, at, _ in moving
    ]
    note = {"time": call.now(), "group": group, "topic": topic, "offsets": offsets}
    kept = [*_notes(call), note][-NOTES_MAX:]
    call.notebook.write("".join(orjson.dumps(one).decode() + "\n" for one in kept))
