"""Lite topics: parents, who reads their lite topics, and how far groups are behind."""

from __future__ import annotations

from collections import Counter
from heapq import nlargest
from typing import Any

from mqgateway.engine.lite.names import LITE_PREFIX, split_name
from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.lite.state import QUEUE_ID
from mqgateway.gateway.web.api.needs import of_cluster, of_topic
from mqgateway.gateway.web.call import Call
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.lists import PAGE_FIELDS, has, page_of
from mqgateway.gateway.web.route import ApiError, Role, Route

TOP = 10
QUEUES_A_LOOK = 256


async def parents(console: Console, call: Call) -> dict[str, Any]:
    """A page of topics that have lite topics, and counts of all."""
    broker, query, breathe = console.broker, call.query, console.turns()
    state = broker.lite
    lites: Counter[str] = Counter()
    for number, queue in enumerate(list(broker.store.queues())):
        if not number % QUEUES_A_LOOK:
            await breathe()
        names = split_name(queue) if queue.startswith(LITE_PREFIX) else None
        if names is not None:
            lites[names[0]] += 1
    rows = [(name, name) for name in state.rules.parents() if has(name, query["search"])]
    page = page_of(rows, query["limit"], query["cursor"], descending=query["descending"])
    return {
        "liteTopics": lites.total(),
        "lightQueuesMax": broker.store_options.max_lmq_consume_queue_num,
        "subscriptions": state.subscriptions.count,
        "clients": len(state.subscriptions),
        "waitingPops": len(state.parked),
        "rows": [
            {
                "topic": name,
                "liteTopics": lites[name],
                "minutesToLive": state.rules.minutes_to_live(name),
                "groups": sorted(state.rules.groups_of(name)),
            }
            for name in page.names
        ],
        "total": page.total,
        "cursor": page.cursor,
    }


async def parent(console: Console, call: Call) -> dict[str, Any]:
    """One parent: of each group how far it is behind in lite topics that it consumed, the furthest first."""
    broker, topic, breathe = console.broker, _parent(console, call), console.turns()
    state = broker.lite
    groups = sorted(state.rules.groups_of(topic))
    behind: dict[str, dict[str, int]] = {group: {} for group in groups}
    queues = state.lifetimes.queues_of(topic)
    for number, queue in enumerate(queues):
        if not number % QUEUES_A_LOOK:
            await breathe()
        end = state.max_offset(queue)
        for group in groups:
            done = broker.tables.offsets.query(group, queue, QUEUE_ID)
            if 0 <= done < end:
                behind[group][queue] = end - done
    return {
        "topic": topic,
        "liteTopics": len(queues),
        "minutesToLive": state.rules.minutes_to_live(topic),
        "groups": [_group(broker, group, behind[group]) for group in groups],
    }


def _group(broker: Broker, group: str, behind: dict[str, int]) -> dict[str, Any]:
    rules = broker.lite.rules
    return {
        "group": group,
        "clients": len(broker.lite.subscriptions.clients_of(group)),
        "isWildcard": rules.is_wildcard(group),
        "isExclusive": rules.is_exclusive(group),
        "behind": sum(behind.values()),
        "furthestBehind": [
            {"liteTopic": (split_name(queue) or ("", queue))[1], "behind": lag}
            for queue, lag in nlargest(TOP, behind.items(), key=lambda one: one[1])
        ],
    }


def clients(console: Console, call: Call) -> dict[str, Any]:
    """A page of clients that read lite topics of a parent; `lastPop` is a time in ms, -1 where unknown."""
    topic, query, state = _parent(console, call), call.query, console.broker.lite
    group_of = {
        client_id: group
        for group in state.rules.groups_of(topic)
        for client_id in state.subscriptions.clients_of(group)
        if has(f"{client_id} {group}", query["search"])
    }
    rows = [(client_id, client_id) for client_id in group_of]
    page = page_of(rows, query["limit"], query["cursor"], descending=query["descending"])
    return {
        "rows": [
            {
                "clientId": name,
                "group": group_of[name],
                "liteTopics": None
                if state.rules.is_wildcard(group_of[name]) or (own := state.subscriptions.of(name)) is None
                else len(own.queues),
                "lastPop": state.events.last_pop(name),
            }
            for name in page.names
        ],
        "total": page.total,
        "cursor": page.cursor,
    }


def _parent(console: Console, call: Call) -> str:
    topic = call.path["topic"]
    if not console.broker.lite.rules.is_parent(topic):
        raise ApiError(404, f"there is no topic {topic} with lite topics on this broker")
    return topic


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
