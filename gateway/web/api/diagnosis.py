"""Why a group is stuck: what this broker's tables and the members say, brought to `gateway.doctor`.

Who does not answer is left out: what would have been known then is not known, and no check goes by it.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

from twisted.internet.defer import DeferredList, maybeDeferred

from mqgateway.engine.message import DLQ_PREFIX, RETRY_PREFIX
from mqgateway.engine.tables.topics import PERM_READ
from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.clients.table import ConsumerGroup
from mqgateway.gateway.broker.consume import query
from mqgateway.gateway.broker.operations import Client, Use
from mqgateway.gateway.codec.bodies import ConsumerRunningInfo
from mqgateway.gateway.codec.errors import BodyError
from mqgateway.gateway.doctor.checks import examine
from mqgateway.gateway.doctor.evidence import Group, Member, Place, Queue, Sample, Topic
from mqgateway.gateway.doctor.running import member
from mqgateway.gateway.web.api.behind import behind
from mqgateway.gateway.web.api.needs import of_group
from mqgateway.gateway.web.call import Call
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.route import ApiError, Role, Route
from mqgateway.gateway.web.scan import settled

log = logging.getLogger(__name__)

MEMBERS_ASKED_MAX, TOPICS_MAX, HALVES_MAX = 64, 64, 256
SAMPLED_QUEUES, SAMPLED_MESSAGES = 8, 32
"""Queues of a topic, and messages of each, that are compared with the filter."""
_TAG = (None, "", "TAG")


async def diagnosis(console: Console, call: Call) -> dict[str, Any]:
    """What is the matter with a group: causes first, each with what helps, in English, and with the values of
    its sentences for who tells it otherwise. Members are asked."""
    broker, name = console.broker, call.path["group"]
    online = broker.clients.consumer_group(name)
    if online is None and name not in broker.tables.groups:
        raise ApiError(404, f"there is no group {name} on this broker")
    members = [] if online is None else await _members(console, call, online)
    found = await _gathered(console, call, members)
    return {
        "group": name,
        "behind": found.behind,
        "members": len(found.members),
        "findings": [
            {
                "check": one.check,
                "weight": one.weight,
                "values": dict(one.values),
                "what": one.what,
                "cure": one.cure,
            }
            for one in examine(found)
        ],
    }


async def _members(console: Console, call: Call, online: ConsumerGroup) -> list[Member]:
    """All members; what each says of itself, of so many."""
    clients = list(online.clients.values())
    asked = clients[:MEMBERS_ASKED_MAX]
    ask, permit = console.operations.clients.running_info, console.permit(call, Use.QUERY)
    answers: list[tuple[bool, Any]] = await DeferredList(
        [maybeDeferred(ask, permit, online.name, one.client_id) for one in asked],
        consumeErrors=True,
    )
    told = [_told(one, *answer) for one, answer in zip(asked, answers, strict=True)]
    return [*told, *(Member(one.client_id, one.language) for one in clients[MEMBERS_ASKED_MAX:])]


def _told(client: Client, is_answered: bool, answer: Any) -> Member:
    try:
        if is_answered and not answer.code:
            return member(client.client_id, client.language, ConsumerRunningInfo.decode(answer.body))
    except BodyError as error:
        log.info("%s did not report its state: %s", client.client_id, error)
    return Member(client.client_id, client.language)


async def _gathered(console: Console, call: Call, members: list[Member]) -> Group:
    """What the tables say beside the members."""
    broker, name, breathe = console.broker, call.path["group"], console.turns()
    config, online = broker.tables.groups.get(name), broker.clients.consumer_group(name)
    wanted = {} if online is None else online.subscriptions
    mine = {*broker.tables.offsets.topics_of(name), *wanted}
    names = sorted(topic for topic in mine if not topic.startswith((RETRY_PREFIX, DLQ_PREFIX)))[:TOPICS_MAX]
    halves = broker.transactions.open_halves(HALVES_MAX)
    topics: dict[str, Topic] = {}
    queues: list[Queue] = []
    for topic in names:
        await breathe()
        born = [half.stored.born_timestamp for half in halves if half.topic == topic]
        topics[topic] = _topic(console, name, topic, born)
        queues += await _queues(broker, name, topic, wanted.get(topic))
    modes = (broker.tables.request_modes.get(topic, name) for topic in names)
    dead = DLQ_PREFIX + name
    return Group(
        name,
        call.now,
        may_consume=config is None or config.consume_enable,
        is_popping=any(mode is not None and mode.mode == "POP" for mode in modes),
        is_broadcasting=online is not None and online.message_model == "BROADCASTING",
        members=members,
        topics=topics,
        queues=queues,
        retries_behind=behind(broker, RETRY_PREFIX + name, name),
        dead_letters=broker.store.max_offset(dead, 0) - broker.store.min_offset(dead, 0),
        retry_max=None if config is None else config.retry_max_times,
    )


def _topic(console: Console, group: str, topic: str, born: list[int]) -> Topic:
    broker = console.broker
    config = broker.tables.topics.get(topic)
    if config is None:
        return Topic(topic, has_route=False)
    return Topic(
        topic,
        is_readable=bool(config.perm & PERM_READ),
        is_allowed=console.operations.groups.is_readable(group, topic),
        incoming=broker.stats.put_tps(topic),
        open_transactions=len(born),
        oldest_transaction=min(born, default=None),
    )


async def _queues(broker: Broker, group: str, topic: str, wanted: Any) -> list[Queue]:
    config, store, offsets = broker.tables.topics.get(topic), broker.store, broker.tables.offsets
    consumed, pulled = offsets.queues_of(group, topic), offsets.pulled_of(group, topic)
    filters = wanted is not None and wanted.expression_type in _TAG and wanted.code_set
    found, sampled = [], 0
    for queue_id in range(0 if config is None else config.read_queue_nums):
        place = Place(topic, broker.options.broker_name, queue_id)
        least, end = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
        one = Queue(place, least, end, consumed.get(queue_id, -1), pulled.get(queue_id))
        if filters and one.behind and sampled < SAMPLED_QUEUES:
            sampled += 1
            begin = max(one.consumed, one.least)
            told = query.query_consume_queue(broker, topic, queue_id, begin, SAMPLED_MESSAGES, group)
            entries = (await settled(told)).queue_data
            matched = sum(entry.tags_code in wanted.code_set for entry in entries)
            one = replace(one, sample=Sample(len(entries), matched))
        found.append(one)
    return found


ROUTES = (
    Route(
        "GET",
        "/groups/{group}/diagnosis",
        Role.VIEWER,
        "Diagnose why a group is stuck.",
        diagnosis,
        needs=of_group(Action.GET),
    ),
)
