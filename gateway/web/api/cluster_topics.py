"""Topics of all brokers of the cluster in one list, and the queues of one of them at every broker.

Figures of a page are asked of each broker that has the topic. A list is sorted by name, or by messages or
rate: brokers return both for all topics with their names. RocketMQ's do not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

from twisted.internet.defer import DeferredList, maybeDeferred

from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.broker.operations import OperationError, Operations, Permit, Use
from mqgateway.gateway.codec.bodies import TopicStatsTable
from mqgateway.gateway.codec.bodies.tables import TopicFigures
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
BY_MESSAGES, BY_RATE = "messages", "rate"


class KnownTopic(NamedTuple):
    """A topic of a broker; its messages, and those stored in a second, if the broker returns them."""

    config: TopicConfig
    figures: TopicFigures | None

    def sort_key(self, sort: str) -> float:
        """Return the figure by which a list is sorted; 0 if it is unknown."""
        if self.figures is None:
            return 0
        return self.figures.messages if sort == BY_MESSAGES else self.figures.put_tps


async def masters(console: Console, call: WebCall) -> dict[str, Any]:
    """List the broker groups of the cluster, and the name of this broker's."""
    groups = await broker_groups(console)
    return {
        "own": console.operations.options.broker_name,
        "rows": [{"broker": group.name, "address": group.address} for group in groups],
    }


async def cluster_topics(console: Console, call: WebCall) -> dict[str, Any]:
    """List topics of all brokers, or of one. `unanswered` are brokers whose topics are not in the list, and
    `unsorted` those whose figures do not count in its order."""
    query, breathe = call.query, console.turns()
    permit, operations = console.permit(call, Use.QUERY), console.operations
    sort, is_by_figure = query["sort"], query["sort"] in (BY_MESSAGES, BY_RATE)

    async def ask(group: BrokerGroup) -> Mapping[str, KnownTopic]:
        return await _table(console, permit, group, has_figures=is_by_figure)

    asked = await ask_all(await chosen_groups(console, query["broker"]), ask)
    found: dict[str, list[tuple[BrokerGroup, TopicConfig]]] = {}
    keys: defaultdict[str, float] = defaultdict(float)
    unsorted = set()
    for group, table in asked.answers:
        for number, (name, topic) in enumerate(table.items()):
            if not number % ROWS_A_LOOK:
                await breathe()
            if matches(name, _kind(operations, group, topic.config), query["kind"], query["search"]):
                found.setdefault(name, []).append((group, topic.config))
                if is_by_figure:
                    keys[name] += topic.sort_key(sort)
                    if topic.figures is None:
                        unsorted.add(group.name)
    rows = [(keys[name] if is_by_figure else name, name) for name in found]
    page = page_of(rows, query["limit"], query["cursor"], descending=query["descending"])
    return {
        "rows": await rows_of(_row(console, permit, name, found[name]) for name in page.names),
        "total": page.total,
        "cursor": page.cursor,
        "unanswered": asked.unanswered,
        "unsorted": sorted(unsorted),
    }


def _kind(operations: Operations, group: BrokerGroup, config: TopicConfig) -> str:
    """Return the kind of a topic; each broker has one of its own name, which is no topic of users."""
    return "SYSTEM" if config.topic_name == group.name else kind_of(operations, config)


async def _table(
    console: Console, permit: Permit, group: BrokerGroup, *, has_figures: bool
) -> Mapping[str, KnownTopic]:
    """Return the topics of a broker by name, with their figures if `has_figures`."""
    topics, breathe = console.operations.topics, console.turns()
    if group.is_own:
        own = {}
        for number, config in enumerate(topics.all()):
            if not number % ROWS_A_LOOK:
                await breathe()
            name = config.topic_name
            figures = TopicFigures(topics.message_count(name), topics.put_rate(name)) if has_figures else None
            own[name] = KnownTopic(config, figures)
        return own

    async def read() -> dict[str, KnownTopic]:
        body = await console.operations.other_brokers.topics(permit, group.address, has_figures=has_figures)
        others, figures = {}, body.topic_figures or {}
        for number, (name, value) in enumerate(body.topic_config_table.items()):
            if not number % ROWS_A_LOOK:
                await breathe()
            config = TopicConfig.from_json({**value, "topicName": name})
            others[name] = KnownTopic(config, figures.get(name))
        return others

    kind = "topics with figures" if has_figures else "topics"
    known: Mapping[str, KnownTopic] = await console.tables.get((kind, group.address), read, FAILURES)
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
        if name not in await _table(console, permit, group, has_figures=False):
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
            RouteField("sort", str, "Sort key.", "name", choices=("name", BY_MESSAGES, BY_RATE)),
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
