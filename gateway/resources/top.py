"""`mqgateway top`: the groups that are furthest behind, and whether that grows.

Progress is asked for twice, some seconds apart: rates are what moved in between, so they need no counters of
the servers' and are as new as the screen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mqgateway.engine.message import DLQ_PREFIX
from mqgateway.gateway.cli.times import iso
from mqgateway.gateway.client import admin_consumers as consumers
from mqgateway.gateway.client import admin_groups as groups
from mqgateway.gateway.client.errors import BrokerError
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.mqadmin.configuration import seconds
from mqgateway.gateway.mqadmin.declaration import CommandCall, CommandOption, Row, command
from mqgateway.gateway.resources import lag, targets
from mqgateway.gateway.resources.rendering import table

INTERVAL_SECONDS = 2.0
ROWS = 20
_CALL_SECONDS = 15.0


class _Sums(NamedTuple):
    """The queues of a topic together, for one group: messages put, consumed, waiting, and past their ends."""

    put: int = 0
    consumed: int = 0
    behind: int = 0
    ahead: int = 0


_Reading = dict[tuple[str, str], _Sums]
"""By group and topic."""

_rows = table(
    "group", "topic", "behind", "inPerSecond", "outPerSecond", "clearIn", "members", nothing="no groups"
)


def _text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    found = list(rows)
    summary = "{behind} messages wait; groups: {groups}".format_map(call.summary)
    yield f"{iso(call.now())}  {summary}\n\n"
    yield from lag.with_anomalies(_rows)(call, found)


@command(
    "top",
    targets.CLUSTER,
    CommandOption("s", "span", f"seconds over which rates are measured (default: {INTERVAL_SECONDS:g})"),
    CommandOption("r", "rows", f"maximum number of rows (default: {ROWS})"),
    text=_text,
    every=0.1,
    is_live=True,
)
def top(call: CommandCall) -> Iterator[Row]:
    """One question a broker, twice; and for each row shown one for its members."""
    span = seconds(call.given, "s", INTERVAL_SECONDS)
    brokers = targets.brokers(call)
    before, began = _read(call, brokers), call.monotonic()
    call.wait(span)
    after, passed = _read(call, brokers), call.monotonic() - began
    behind = sum(one.behind for one in after.values())
    call.summary.update(groups=len({group for group, _ in after}), behind=behind)
    members: dict[str, int | None] = {}
    for key in sorted(after, key=lambda one: (-after[one].behind, one))[: call.given.number("r", ROWS)]:
        group, topic = key
        if group not in members:
            members[group] = _members(call, brokers, group)
        now = after[key]
        then = before.get(key, now)
        incoming, outgoing = (now.put - then.put) / passed, (now.consumed - then.consumed) / passed
        yield {
            "group": group,
            "topic": topic,
            "behind": now.behind,
            "ahead": now.ahead,
            "inPerSecond": incoming,
            "outPerSecond": outgoing,
            "clearIn": _duration(now.behind, outgoing - incoming),
            "members": members[group],
        }


def _read(call: CommandCall, brokers: list[tuple[str, str]]) -> _Reading:
    found: _Reading = {}
    for _, address in brokers:
        with call.servers.part(address):
            answer = call.servers.ask(groups.all_progress(), address, _CALL_SECONDS)
            for group, stats in (item for one in answer.consume_stats_list for item in one.items()):
                for queue, one in (item for each in stats for item in each.offset_table.items()):
                    if not queue.topic.startswith(DLQ_PREFIX):
                        sums = found.get((group, queue.topic), _Sums())
                        found[group, queue.topic] = _Sums(
                            sums.put + one.broker_offset,
                            sums.consumed + one.consumer_offset,
                            sums.behind + lag.behind(one),
                            sums.ahead + lag.ahead(one),
                        )
    return found


def _members(call: CommandCall, brokers: list[tuple[str, str]], group: str) -> int | None:
    """The number of connected members; None if a broker could not be asked."""
    found: set[str] = set()
    failures = len(call.servers.failures)
    for _, address in brokers:
        with call.servers.part(address):
            try:
                online = call.servers.ask(consumers.connections(group), address)
            except BrokerError as error:
                if error.code != ResponseCode.CONSUMER_NOT_ONLINE:
                    raise
                continue
            found.update(one.client_id for one in online.connection_set)
    return len(found) if len(call.servers.failures) == failures else None


def _duration(behind: int, rate: float) -> str:
    """Until nothing waits, at this rate; never where it grows."""
    if not behind:
        return "-"
    if rate <= 0:
        return "never"
    left = round(behind / rate)
    hours, rest = divmod(left, 3600)
    return f"{hours}h{rest // 60:02}m" if hours else f"{rest // 60}m{rest % 60:02}s"
