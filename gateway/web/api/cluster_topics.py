"""Topics of all brokers of the cluster in one list, and the queues of one of them at every broker.

Figures of a page are asked of each broker that has the topic, so a list is sorted by name only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twisted.internet.defer import DeferredList, maybeDeferred

from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.broker.operations import OperationError, Operations, Permit, Use
from mqgateway.gateway.codec.bodies import TopicStatsTable
from mqgateway.gateway.web.api.needs import of_cluster, of_topic
from mqgateway.gateway.web.api.topics import ALL, KINDS, USERS, kind_of, matches
from mqgateway.gateway.web.call import WebCall
from mqgateway.gateway.web.cluster_brokers import (
    FAILURES,
    BrokerGroup,
    ask_all,
    broker_groups,
    chosen_groups,
    rows_of,
)
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.lists import PAGE_FIELDS, page_of
from mqgateway.gateway.web.route import Role, Route, RouteField

ROWS_A_LOOK = 64


async def masters(console: Console, call: WebCall) -> dict[str, Any]:
    """List the broker groups of the cluster, and the name of this broker's."""
    groups = await broker_groups(console)
    return {
        "own": console.operations.options.broker_name,
        "rows": [{"broker": group.name, "address": group.address} for group in groups],
    }


async def cluster_topics(console: Console, call: WebCall) -> dict[str, Any]:
    """List topics of all brokers, or of one; `unanswered` are brokers whose topics are not in the list."""
    query, breathe = call.query, console.turns()
    permit, operations = console.permit(call, Use.QUERY), console.operations
    asked = await ask_all(
        await chosen_groups(console, query["broker"]), lambda group: _table(console, permit, group)
    )
    found: dict[str, list[tuple[BrokerGroup, TopicConfig]]] = {}
    for group, table in asked.answers:
        for number, config in enumerate(table.values()):
            if not number % ROWS_A_LOOK:
                await breathe()
            kind = _kind(operations, group, config)
            if matches(config.topic_name, kind, query["kind"], query["search"]):
                found.setdefault(config.topic_name, []).append((group, config))
    rows = [(name, name) for name in found]
    page = page_of(rows, query["limit"], query["cursor"], descending=query["descending"])
    return {
        "rows": await rows_of(_row(console, permit, name, found[name]) for name in page.names),
        "total": page.total,
        "cursor": page.cursor,
        "unanswered": asked.unanswered,
    }


def _kind(operations: Operations, group: BrokerGroup, config: TopicConfig) -> str:
    """Return the kind of a topic; each broker has one of its own name, which is no topic of users."""
    return "SYSTEM" if config.topic_name == group.name else kind_of(operations, config)


async def _table(console: Console, permit: Permit, group: BrokerGroup) -> Mapping[str, TopicConfig]:
    """Return the topics of a broker by name."""
    if group.is_own:
        return {config.topic_name: config for config in console.operations.topics.all()}

    async def read() -> dict[str, TopicConfig]:
        breathe = console.turns()
        table = await console.operations.other_brokers.topics(permit, group.address)
        configs = {}
        for number, (name, value) in enumerate(table.items()):
            if not number % ROWS_A_LOOK:
                await breathe()
            configs[name] = TopicConfig.from_json({**value, "topicName": name})
        return configs

    known: Mapping[str, TopicConfig] = await console.tables.get(("topics", group.address), read, FAILURES)
    return known


async def _row(
    console: Console, permit: Permit, name: str, places: list[tuple[BrokerGroup, TopicConfig]]
) -> dict[str, Any]:
    """Return a topic with the sums of its brokers' figures, and the figures of each."""
    answers: list[tuple[bool, Any]] = await DeferredList(
        [maybeDeferred(_stats, console, permit, group, name) for group, _ in places], consumeErrors=True
    )
    brokers = [
        _place(group, config, *answer) for (group, config), answer in zip(places, answers, strict=True)
    ]
    first = places[0][1]
    return {
        "topic": name,
        "kind": _kind(console.operations, places[0][0], first),
        "isKafka": first.keeps_kafka_batches,
        "isOwn": any(group.is_own for group, _ in places),
        "readQueues": sum(one["readQueues"] for one in brokers),
        "writeQueues": sum(one["writeQueues"] for one in brokers),
        "messages": sum(one["messages"] or 0 for one in brokers),
        "rate": round(sum(one["rate"] or 0 for one in brokers), 2),
        "lastTimestamp": max(one["lastTimestamp"] or 0 for one in brokers),
        "brokers": brokers,
    }


def _stats(console: Console, permit: Permit, group: BrokerGroup, name: str) -> Any:
    """Return the queues of a topic at a broker, or a Deferred of them."""
    if group.is_own:
        return console.operations.topics.stats(name)
    return console.operations.other_brokers.topic_stats(permit, group.address, name)


def _place(group: BrokerGroup, config: TopicConfig, is_answered: bool, outcome: Any) -> dict[str, Any]:
    """Show a topic at one broker; figures are None if it gives none, for the reason in `error`."""
    shown: dict[str, Any] = {
        "broker": group.name,
        "isOwn": group.is_own,
        "perm": config.perm,
        "readQueues": config.read_queue_nums,
        "writeQueues": config.write_queue_nums,
        "messages": None,
        "rate": None,
        "lastTimestamp": None,
        "error": "",
    }
    if not is_answered:
        if outcome.check(*FAILURES, OperationError) is None:
            outcome.raiseException()
        return {**shown, "error": str(outcome.value)}
    stats: TopicStatsTable = outcome
    queues = stats.offset_table.values()
    return {
        **shown,
        "messages": sum(max(0, one.max_offset - one.min_offset) for one in queues),
        "rate": round(stats.topic_put_tps, 2),
        "lastTimestamp": max((one.last_update_timestamp for one in queues), default=0),
    }


async def queues_of_topic(console: Console, call: WebCall) -> dict[str, Any]:
    """List the queues of a topic at every broker that has it."""
    permit, name = console.permit(call, Use.QUERY), call.path["topic"]

    async def ask(group: BrokerGroup) -> TopicStatsTable | None:
        if name not in await _table(console, permit, group):
            return None
        found = _stats(console, permit, group, name)
        stats: TopicStatsTable = found if group.is_own else await found
        return stats

    asked = await ask_all(await broker_groups(console), ask)
    return {
        "rows": [
            {
                "broker": group.name,
                "queueId": queue.queue_id,
                "minOffset": one.min_offset,
                "maxOffset": one.max_offset,
                "lastTimestamp": one.last_update_timestamp,
            }
            for group, stats in asked.answers
            if stats is not None
            for queue, one in sorted(stats.offset_table.items())
        ],
        "unanswered": asked.unanswered,
    }


_BROKER = RouteField("broker", str, "Name of a broker; empty for all.", "")

ROUTES = (
    Route(
        "GET",
        "/cluster/masters",
        Role.VIEWER,
        "List the broker groups of the cluster.",
        masters,
        needs=of_cluster(Action.GET),
    ),
    Route(
        "GET",
        "/cluster/topics",
        Role.VIEWER,
        "List topics of all brokers of the cluster.",
        cluster_topics,
        query=(
            *PAGE_FIELDS,
            _BROKER,
            RouteField("sort", str, "Sort key.", "name", choices=("name",)),
            RouteField("kind", str, "Kind of the topics.", USERS, choices=(USERS, ALL, *KINDS)),
        ),
        needs=of_cluster(Action.GET),
    ),
    Route(
        "GET",
        "/cluster/topics/{topic}",
        Role.VIEWER,
        "List the queues of a topic at all brokers of the cluster.",
        queues_of_topic,
        needs=of_topic(Action.GET),
    ),
)
