"""Lite topics: parents, the clients that read their lite topics, and the lag of groups."""

from __future__ import annotations

from heapq import nlargest
from typing import Any

from mqgateway.engine.lite.names import split_name
from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.broker.operations import LiteGroup, LiteParent
from mqgateway.gateway.web.api.needs import of_cluster, of_topic
from mqgateway.gateway.web.call import WebCall
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.lists import PAGE_FIELDS, has, page_of
from mqgateway.gateway.web.route import ApiError, Role, Route

TOP = 10


async def parents(console: Console, call: WebCall) -> dict[str, Any]:
    """List topics that have lite topics, with counts of all."""
    lite, query = console.operations.lite, call.query
    counts, figures = await lite.counts(), lite.figures()
    rows = [(name, name) for name in lite.parents() if has(name, query["search"])]
    page = page_of(rows, query["limit"], query["cursor"], descending=query["descending"])
    return {
        "liteTopics": counts.total(),
        "lightQueuesMax": console.operations.store_options.max_lmq_consume_queue_num,
        "subscriptions": figures.subscriptions,
        "clients": figures.clients,
        "waitingPops": figures.waiting_pops,
        "rows": [
            {
                "topic": name,
                "liteTopics": counts[name],
                "minutesToLive": found.minutes_to_live,
                "groups": found.groups,
            }
            for name in page.names
            if (found := lite.parent(name)) is not None
        ],
        "total": page.total,
        "cursor": page.cursor,
    }


async def parent(console: Console, call: WebCall) -> dict[str, Any]:
    """Show a parent: the lag of each group in lite topics that it has consumed, the largest first."""
    lite, found = console.operations.lite, _parent(console, call)
    lag = await lite.lag(found.topic)
    return {
        "topic": found.topic,
        "liteTopics": lag.lite_topics,
        "minutesToLive": found.minutes_to_live,
        "groups": [_group(name, lite.group(name), lag.by_group.get(name, {})) for name in found.groups],
    }


def _group(name: str, group: LiteGroup, lag: dict[str, int]) -> dict[str, Any]:
    return {
        "group": name,
        "clients": len(group.clients),
        "isWildcard": group.is_wildcard,
        "isExclusive": group.is_exclusive,
        "behind": sum(lag.values()),
        "furthestBehind": [
            {"liteTopic": (split_name(queue) or ("", queue))[1], "behind": count}
            for queue, count in nlargest(TOP, lag.items(), key=lambda one: one[1])
        ],
    }


def clients(console: Console, call: WebCall) -> dict[str, Any]:
    """List clients that read lite topics of a parent; `lastPop` is a time in ms, -1 where unknown."""
    lite, query = console.operations.lite, call.query
    group_of = {
        client_id: group
        for group in _parent(console, call).groups
        for client_id in lite.group(group).clients
        if has(f"{client_id} {group}", query["search"])
    }
    rows = [(client_id, client_id) for client_id in group_of]
    page = page_of(rows, query["limit"], query["cursor"], descending=query["descending"])
    readers = {name: lite.reader(name) for name in page.names}
    return {
        "rows": [
            {
                "clientId": name,
                "group": group_of[name],
                "liteTopics": reader.lite_topics,
                "lastPop": reader.last_pop,
            }
            for name, reader in readers.items()
        ],
        "total": page.total,
        "cursor": page.cursor,
    }


def _parent(console: Console, call: WebCall) -> LiteParent:
    topic = call.path["topic"]
    found = console.operations.lite.parent(topic)
    if found is None:
        raise ApiError(404, f"there is no topic {topic} with lite topics on this broker")
    return found


ROUTES = (
    Route(
        "GET",
        "/lites",
        Role.VIEWER,
        "List topics that have lite topics.",
        parents,
        query=PAGE_FIELDS,
        needs=of_cluster(Action.GET),
    ),
    Route(
        "GET",
        "/lites/{topic}",
        Role.VIEWER,
        "Show a topic with lite topics and the lag of its groups.",
        parent,
        needs=of_topic(Action.GET),
    ),
    Route(
        "GET",
        "/lites/{topic}/clients",
        Role.VIEWER,
        "List clients that read lite topics of the topic.",
        clients,
        query=PAGE_FIELDS,
        needs=of_topic(Action.GET),
    ),
)
