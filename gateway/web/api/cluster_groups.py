"""Consumer groups of all brokers of the cluster in one list: state, members and lag in all and by broker.

Figures of a page are asked of each broker that has the group. A list is sorted by name, or by lag: brokers
return the lags of all groups with their names. RocketMQ's do not.
"""

from __future__ import annotations

from collections import Counter
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from twisted.internet.defer import DeferredList, maybeDeferred

from mqgateway.engine.names import is_system_group
from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.broker.operations import Permit, Use
from mqgateway.gateway.codec.bodies import ConsumeStats
from mqgateway.gateway.web.api.groups import consumed_topics, group_lag
from mqgateway.gateway.web.api.needs import of_cluster
from mqgateway.gateway.web.call import WebCall
from mqgateway.gateway.web.cluster_brokers import FAILURES, BrokerGroup, ask_all, chosen_groups, rows_of
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.group_state import group_state
from mqgateway.gateway.web.lists import PAGE_FIELDS, has, page_of
from mqgateway.gateway.web.route import Role, Route, RouteField

ROWS_A_LOOK = 64
BY_LAG = "behind"

Lags = dict[str, int | None]
"""Lags of groups by name; None if the lag of a group is known only when it is asked for."""


class GroupFigures(NamedTuple):
    """Figures of a consumer group at a broker: members by client id, lag, and messages a second.

    Members of Kafka's protocol may have the same client id. `idle_millis` is the time for which messages have
    waited and the offsets have not moved, None if it is unknown. `kafka_state` is empty for other groups.
    """

    members: Counter[str]
    lag: int
    rate: float
    idle_millis: int | None
    kafka_state: str

    @property
    def state(self) -> str:
        """The state of the group at the broker."""
        return group_state(
            members=self.members.total(),
            lag=self.lag,
            kafka_state=self.kafka_state,
            idle_millis=self.idle_millis,
        )


async def cluster_groups(console: Console, call: WebCall) -> dict[str, Any]:
    """List groups of all brokers, or of one. `unanswered` are brokers whose groups are not in the list, and
    `unsorted` those whose lags do not count in its order."""
    query, breathe = call.query, console.turns()
    permit, is_by_lag = console.permit(call, Use.QUERY), query["sort"] == BY_LAG

    async def ask(group: BrokerGroup) -> Lags:
        return await _lags(console, permit, group, is_by_lag=is_by_lag)

    asked = await ask_all(await chosen_groups(console, query["broker"]), ask)
    found: dict[str, list[BrokerGroup]] = {}
    total: Counter[str] = Counter()
    for group, lags in asked.answers:
        for number, (name, lag) in enumerate(lags.items()):
            if not number % ROWS_A_LOOK:
                await breathe()
            if has(name, query["search"]) and (query["system"] or not is_system_group(name)):
                found.setdefault(name, []).append(group)
                total[name] += lag or 0
    rows = [(total[name] if is_by_lag else name, name) for name in found]
    page = page_of(rows, query["limit"], query["cursor"], descending=query["descending"])
    return {
        "rows": await rows_of(_row(console, permit, name, found[name], call.now) for name in page.names),
        "total": page.total,
        "cursor": page.cursor,
        "unanswered": asked.unanswered,
        "unsorted": [group.name for group, lags in asked.answers if is_by_lag and None in lags.values()],
    }


async def _lags(console: Console, permit: Permit, group: BrokerGroup, *, is_by_lag: bool) -> Lags:
    """Return the consumer groups of a broker. This broker's have lags only in a list by lag."""
    operations = console.operations
    if not group.is_own:

        async def read() -> Lags:
            return await operations.other_brokers.group_lags(permit, group.address)

        known: Lags = await console.tables.get(("groups", group.address), read, FAILURES)
        return known
    lags: Lags = dict.fromkeys([*operations.groups.names(), *operations.clients.consumer_groups()])
    if is_by_lag:
        breathe, topics = console.turns(), await consumed_topics(console)
        for number, name in enumerate(lags):
            if not number % ROWS_A_LOOK:
                await breathe()
            lags[name] = group_lag(operations, name, topics.get(name, []))
    return lags


async def _row(
    console: Console, permit: Permit, name: str, groups: list[BrokerGroup], now: int
) -> dict[str, Any]:
    """Return a consumer group with the sums of its brokers' figures, and the figures of each.

    A member is connected to several brokers, and counts once. The group is stuck if it is at one broker.
    """
    answers: list[tuple[bool, Any]] = await DeferredList(
        [maybeDeferred(_figures, console, permit, group, name, now) for group in groups], consumeErrors=True
    )
    places = list(zip(groups, answers, strict=True))
    known: list[GroupFigures] = [figures for _, (is_answered, figures) in places if is_answered]
    waiting = [one.idle_millis for one in known if one.lag and one.idle_millis is not None]
    total = GroupFigures(
        reduce(or_, (one.members for one in known), Counter[str]()),
        sum(one.lag for one in known),
        sum(one.rate for one in known),
        max(waiting, default=None),
        next((one.kafka_state for one in known if one.kafka_state), ""),
    )
    return {
        "group": name,
        "isOwn": any(group.is_own for group in groups),
        **_shown(total),
        "kafkaState": total.kafka_state,
        "brokers": [_place(group, *answer) for group, answer in places],
    }


def _shown(figures: GroupFigures) -> dict[str, Any]:
    return {
        "members": figures.members.total(),
        "behind": figures.lag,
        "rate": round(figures.rate, 2),
        "state": figures.state,
    }


def _place(group: BrokerGroup, is_answered: bool, outcome: Any) -> dict[str, Any]:
    """Show a group at one broker; figures are None if it gives none, for the reason in `error`."""
    shown: dict[str, Any] = {"broker": group.name, "isOwn": group.is_own, "kafkaState": "", "error": ""}
    if is_answered:
        figures: GroupFigures = outcome
        return {**shown, **_shown(figures), "kafkaState": figures.kafka_state}
    if outcome.check(*FAILURES) is None:
        outcome.raiseException()
    nothing = dict.fromkeys(("members", "behind", "rate", "state"))
    return {**shown, **nothing, "error": str(outcome.value)}


async def _figures(console: Console, permit: Permit, group: BrokerGroup, name: str, now: int) -> GroupFigures:
    operations = console.operations
    if not group.is_own:
        other = operations.other_brokers
        stats: ConsumeStats = await other.consume_stats(permit, group.address, name)
        queues = stats.offset_table.values()
        lag = sum(max(0, one.broker_offset - one.consumer_offset) for one in queues)
        consumed = sum(one.consumer_offset for one in queues)
        idle = console.movements.idle_millis((group.name, name), now, lag, consumed)
        members: list[str] = await other.members(permit, group.address, name)
        return GroupFigures(Counter(members), lag, stats.consume_tps, idle, "")
    topics = [topic for topic in operations.offsets.topics_of(name) if topic in operations.topics]
    online, coordinated = operations.clients.consumers(name), operations.coordinated.group(name)
    ids = [one.client_id for one in (() if online is None else online.clients)]
    ids += [one.client_id for one in (() if coordinated is None else coordinated.members)]
    return GroupFigures(
        Counter(ids),
        group_lag(operations, name, topics),
        sum(operations.groups.get_rate(name, topic) for topic in topics),
        console.lags.idle_millis(name),
        "" if coordinated is None else coordinated.state,
    )


ROUTES = (
    Route(
        "GET",
        "/cluster/groups",
        Role.VIEWER,
        "List consumer groups of all brokers of the cluster.",
        cluster_groups,
        query=(
            *PAGE_FIELDS,
            RouteField("broker", str, "Name of a broker; empty for all.", ""),
            RouteField("sort", str, "Sort key.", "name", choices=("name", BY_LAG)),
            RouteField("system", bool, "Include system groups.", False),
        ),
        needs=of_cluster(Action.GET),
    ),
)
