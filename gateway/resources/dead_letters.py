"""`mqgateway dlq`: what consumers gave up.

`replay` sends such messages again: to the retry topic of their group, from where only this group gets them,
or with `--to origin` to the topic they came from, where all its groups see them. The dead letter stays where
it is; the new message says in the property `REPLAY_OF` of which one it is a copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from mqgateway.engine.message import DLQ_PREFIX, RETRY_PREFIX
from mqgateway.gateway.client import admin_consumers as consumers
from mqgateway.gateway.client import admin_messages as messages
from mqgateway.gateway.client import admin_names as names
from mqgateway.gateway.client import admin_topics as topics
from mqgateway.gateway.client.errors import ClientError, NoBroker
from mqgateway.gateway.client.message import Message
from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.gateway.doctor.running import consumes_in_order
from mqgateway.gateway.mqadmin.commands import reading
from mqgateway.gateway.mqadmin.commands.sends import Sender
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
from mqgateway.gateway.remedies.replays import ReplayRefused, check_target, copied_properties, origin_of
from mqgateway.gateway.resources.messages import TIME, brief
from mqgateway.gateway.resources.rendering import table

_FILTERS = (
    CommandOption("", "tag", "select messages with this tag"),
    CommandOption("", "key", "select messages with this key"),
    CommandOption("", "origin", "select messages from this original topic", values=NameKind.TOPIC),
    CommandOption("", "contains", "select messages with this text in the body"),
    CommandOption("", "since", f"first time of becoming a dead letter: {TIME}"),
    CommandOption("", "until", f"end of that time, exclusive: {TIME}"),
    CommandOption("l", "limit", "maximum number of messages"),
)


def _list_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    if "g" not in call.given:
        return table("group", "count", "lastAt", nothing="no dead letters")(call, rows)
    columns = ("storedAt", "origin", "tags", "keys", "msgId", "place", "body")
    shown = ({**brief(row), "origin": origin_of(row["properties"])} for row in rows)
    return table(*columns, nothing="no such dead letters")(call, shown)


@command(
    "dlq list",
    operand("g", "group", "consumer group", required=False, values=NameKind.GROUP),
    *_FILTERS,
    text=_list_text,
)
def list_letters(call: CommandCall) -> Iterator[Row]:
    """The oldest first, queue by queue."""
    if "g" in call.given:
        yield from _letters(call, call.given.need("g"))
        return
    known: set[str] = call.servers.ask_names(names.all_topics())
    for topic in sorted(one for one in known if one.startswith(DLQ_PREFIX)):
        count, last = 0, 0
        for _, address in reachable(call.servers.route(topic).broker_datas):
            with call.servers.part(address):
                for one in call.servers.ask(topics.stats(topic), address).offset_table.values():
                    count += one.max_offset - one.min_offset
                    last = max(last, one.last_update_timestamp)
        if count:
            yield {"group": topic.removeprefix(DLQ_PREFIX), "count": count, "lastAt": last}


@command(
    "dlq replay",
    operand("g", "group", "consumer group", values=NameKind.GROUP),
    *_FILTERS,
    CommandOption(
        "", "to", "target: group (default) for this group only, origin for the original topics, or a topic"
    ),
    flag("y", "yes", "do not ask for confirmation"),
    text=table("storedAt", "msgId", "topic", "state", "newId", nothing="no such dead letters"),
)
def replay(call: CommandCall) -> Iterator[Row]:
    """A row for each; one that cannot be sent does not keep the others from it."""
    group = call.given.need("g")
    found = list(_letters(call, group))
    call.summary["messages"] = len(found)
    if found:
        _check_target(call, group)
    if call.is_dry:
        yield from (
            {**_outcome_row(row, _target(call, group, row)), "state": "would be sent"} for row in found
        )
        return
    if found and "y" not in call.given and not call.confirm(f"send {len(found)} messages again?"):
        raise UsageError("nothing was sent: use --yes to confirm, or --dry-run for a preview")
    senders: dict[str, Sender] = {}
    for number, row in enumerate(found, 1):
        topic = _target(call, group, row)
        fields = _outcome_row(row, topic)
        with call.servers.part(topic):
            sender = senders.get(topic) or senders.setdefault(topic, Sender(call, topic, makes_topic=False))
            result = sender.send(_copy(row, topic), sender.queues[number % len(sender.queues)])
            yield {**fields, "state": "sent", "newId": result.message_id if result else None}
        call.note(f"{number} of {len(found)}")
    call.note("")


def _check_target(call: CommandCall, group: str) -> None:
    """Refuse copies that the group would not get. Raises `UsageError`."""
    target = call.given.text("to") or "group"
    try:
        check_target(
            RETRY_PREFIX + group if target == "group" else target,
            group,
            lambda name: _consumes_in_order(call, name),
        )
    except ReplayRefused as error:
        raise UsageError(f"{error} (--to origin)") from None


def _consumes_in_order(call: CommandCall, group: str) -> bool:
    """Return True if connected members consume in order: all do or none, so the first report decides.

    False if no member reports.
    """
    for _, address in reachable(call.servers.route(DLQ_PREFIX + group).broker_datas):
        for client_id in _members(call, group, address):
            try:
                return consumes_in_order(call.servers.ask(consumers.running_info(group, client_id), address))
            except ClientError:
                continue
    return False


def _members(call: CommandCall, group: str, address: str) -> list[str]:
    try:
        online = call.servers.ask(consumers.connections(group), address)
    except ClientError:
        return []
    return [one.client_id for one in online.connection_set]


def _outcome_row(row: Row, topic: str) -> dict[str, Any]:
    fields = {"storedAt": row["storeTimestamp"], "msgId": row["msgId"], "topic": topic}
    return {**fields, "tags": row["tags"], "keys": row["keys"]}


def _target(call: CommandCall, group: str, row: Row) -> str:
    """Which topic a copy goes to. Raises `ClientError` for a letter that does not say where it came from."""
    to = call.given.text("to") or "group"
    if to == "group":
        return RETRY_PREFIX + group
    if to != "origin":
        return to
    origin = origin_of(row["properties"])
    if origin is None:
        raise ClientError(f"the dead letter {row['msgId']} has no original topic: use --to TOPIC")
    return origin


def _copy(row: Row, topic: str) -> Message:
    copied = Message(topic, reading.body_of(row), flag=row["flag"])
    copied.properties = copied_properties(row["properties"], topic, row["msgId"])
    return copied


def _letters(call: CommandCall, group: str) -> Iterator[Row]:
    """The dead letters that were chosen. Raises `NoBroker` for a group that never had one."""
    topic, left = DLQ_PREFIX + group, call.given.number("l", 2**31)
    try:
        route = call.servers.route(topic)
    except NoBroker:
        raise NoBroker(f"the group {group} has no dead letters") from None
    for broker, address in reachable(route.broker_datas):
        with call.servers.part(address):
            for queue, ends in sorted(call.servers.ask(topics.stats(topic), address).offset_table.items()):
                for row in _read(call, MessageQueue(topic, broker, queue.queue_id), address, ends.max_offset):
                    if left <= 0:
                        return
                    if _is_chosen(call, row):
                        left -= 1
                        yield row


def _read(call: CommandCall, queue: MessageQueue, address: str, end: int) -> Iterator[Row]:
    """The messages of a queue, from the first that is late enough."""
    begin = call.servers.ask(messages.min_offset(queue), address)
    if (since := call.given.text("since")) is not None:
        begin = max(begin, call.servers.ask(messages.offset_at(queue, millis_of(since, call.now())), address))
    for _, rows in reading.pulled(call, queue, address, begin, end):
        yield from (row for row in rows if row["queueOffset"] < end)


def _is_chosen(call: CommandCall, row: Row) -> bool:
    given = call.given
    until = given.text("until")
    return (
        given.text("tag") in (None, row["tags"])
        and given.text("origin") in (None, origin_of(row["properties"]))
        and ("key" not in given or given.need("key") in (row["keys"] or "").split())
        and (given.text("contains") or "").encode() in reading.body_of(row)
        and (until is None or row["storeTimestamp"] < millis_of(until, call.now()))
    )
