"""Consumer groups of all brokers of the cluster in one list, with members and lag in all and by broker.

Figures of a page are asked of each broker that has the group, so a list is sorted by name only.
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
from mqgateway.gateway.web.api.groups import group_lag
from mqgateway.gateway.web.api.needs import of_cluster
from mqgateway.gateway.web.call import WebCall
from mqgateway.gateway.web.cluster_brokers import FAILURES, BrokerGroup, ask_all, chosen_groups, rows_of
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.lists import PAGE_FIELDS, has, page_of
from mqgateway.gateway.web.route import Role, Route, RouteField

ROWS_A_LOOK = 64


class GroupFigures(NamedTuple):
    """Figures of a consumer group at a broker: members by client id, lag, and messages a second.

    Members of Kafka's protocol may have the same client id.
    """

    members: Counter[str]
    lag: int
    rate: float


async def cluster_groups(console: Console, call: WebCall) -> dict[str, Any]:
    """List groups of all brokers, or of one; `unanswered` are brokers whose groups are not in the list."""
    query, breathe = call.query, console.turns()
    permit = console.permit(call, Use.QUERY)
    asked = await ask_all(
        await chosen_groups(console, query["broker"]), lambda group: _names(console, permit, group)
    )
    found: dict[str, list[BrokerGroup]] = {}
    for group, names in asked.answers:
        for number, name in enumerate(names):
            if not number % ROWS_A_LOOK:
                await breathe()
            if has(name, query["search"]) and (query["system"] or not is_system_group(name)):
                found.setdefault(name, []).append(group)
    rows = [(name, name) for name in found]
    page = page_of(rows, query["limit"], query["cursor"], descending=query["descending"])
    return {
        "rows": await rows_of(_row(console, permit, name, found[name]) for name in page.names),
        "total": page.total,
        "cursor": page.cursor,
        "unanswered": asked.unanswered,
    }


async def _names(console: Console, permit: Permit, group: BrokerGroup) -> set[str]:
    """Return the names of the consumer groups of a broker."""
    operations = console.operations
    if group.is_own:
        return {*operations.groups.names(), *operations.clients.consumer_groups()}

    async def read() -> set[str]:
        return set(await operations.other_brokers.groups(permit, group.address))

    known: set[str] = await console.tables.get(("groups", group.address), read)
    return known


async def _row(console: Console, permit: Permit, name: str, groups: list[BrokerGroup]) -> dict[str, Any]:
    """Return a consumer group with the sums of its brokers' figures, and the figures of each.

    A member is connected to several brokers, and counts once.
    """
    answers: list[tuple[bool, Any]] = await DeferredList(
        [maybeDeferred(_figures, console, permit, group, name) for group in groups], consumeErrors=True
    )
    places = list(zip(groups, answers, strict=True))
    known: list[GroupFigures] = [figures for _, (is_answered, figures) in places if is_answered]
    return {
        "group": name,
        "isOwn": any(group.is_own for group in groups),
        "members": reduce(or_, (one.members for one in known), Counter[str]()).total(),
        "behind": sum(one.lag for one in known),
        "rate": round(sum(one.rate for one in known), 2),
        "brokers": [_place(group, *answer) for group, answer in places],
    }


def _place(group: BrokerGroup, is_answered: bool, outcome: Any) -> dict[str, Any]:
    """Show a group at one broker; figures are None if it gives none, for the reason in `error`."""
    shown: dict[str, Any] = {"broker": group.name, "isOwn": group.is_own}
    if not is_answered:
        if outcome.check(*FAILURES) is None:
            outcome.raiseException()
        return {**shown, "members": None, "behind": None, "rate": None, "error": str(outcome.value)}
    figures: GroupFigures = outcome
    return {
        **shown,
        "members": figures.members.total(),
        "behind": figures.lag,
        "rate": round(figures.rate, 2),
        "error": "",
    }


async def _figures(console: Console, permit: Permit, group: BrokerGroup, name: str) -> GroupFigures:
    operations = console.operations
    if not group.is_own:
        other = operations.other_brokers
        stats: ConsumeStats = await other.consume_stats(permit, group.address, name)
        lag = sum(max(0, one.broker_offset - one.consumer_offset) for one in stats.offset_table.values())
        members: list[str] = await other.members(permit, group.address, name)
        return GroupFigures(Counter(members), lag, stats.consume_tps)
    topics = [topic for topic in operations.offsets.topics_of(name) if topic in operations.topics]
    online, coordinated = operations.clients.consumers(name), operations.coordinated.group(name)
    ids = [one.client_id for one in (() if online is None else online.clients)]
    ids += [one.client_id for one in (() if coordinated is None else coordinated.members)]
    rate = sum(operations.groups.get_rate(name, topic) for topic in topics)
    return GroupFigures(Counter(ids), group_lag(operations, name, topics), rate)


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
            RouteField("sort", str, "Sort key.", "name", choices=("name",)),
            RouteField("system", bool, "Include system groups.", False),
        ),
        needs=of_cluster(Action.GET),
    ),
)
