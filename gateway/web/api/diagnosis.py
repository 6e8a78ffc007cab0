"""Why a group is stuck: what this broker's tables and the members say, brought to `gateway.doctor`.

Who does not answer is left out: what would have been known then is not known, and no check goes by it.
"""

from __future__ import annotations

import logging
from typing import Any

from twisted.internet.defer import DeferredList, maybeDeferred

from mqgateway.engine.message import DLQ_PREFIX, RETRY_PREFIX
from mqgateway.engine.tables.topics import PERM_READ
from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.broker.operations import Consumers, GroupClient, Operations, Permit, Use
from mqgateway.gateway.codec.bodies import ConsumerRunningInfo
from mqgateway.gateway.codec.bodies.heartbeat import SubscriptionData
from mqgateway.gateway.codec.errors import BodyError
from mqgateway.gateway.doctor.checks import examine
from mqgateway.gateway.doctor.evidence import (
    ConnectedMember,
    ConsumedQueue,
    DiagnosedGroup,
    QueueKey,
    SubscribedTopic,
    examined,
)
from mqgateway.gateway.doctor.running import member
from mqgateway.gateway.doctor.sampling import SAMPLED_MESSAGES, TopicSampler
from mqgateway.gateway.web.api.needs import of_group
from mqgateway.gateway.web.call import WebCall
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.kafka_evidence import kafka_members, shared_queues
from mqgateway.gateway.web.route import ApiError, Role, Route
from mqgateway.gateway.web.scan import settled

log = logging.getLogger(__name__)

MEMBERS_QUERIED_MAX, TOPICS_MAX, HALVES_MAX = 64, 64, 256


async def diagnosis(console: Console, call: WebCall) -> dict[str, Any]:
    """Diagnose a group: causes first, each with its remedy in English, and with the values in its sentences
    for a page in another language. Members are queried."""
    operations, name = console.operations, call.path["group"]
    permit, online = console.permit(call, Use.QUERY), operations.clients.consumers(name)
    if online is None and name not in operations.groups:
        raise ApiError(404, f"there is no group {name} on this broker")
    members = [] if online is None else await _members(operations, permit, name, online)
    coordinated = operations.coordinated.group(name)
    if coordinated is not None:
        members += kafka_members(coordinated, operations.options.broker_name)
    found = await _gathered(console, call, permit, members)
    return {
        "group": name,
        "behind": found.behind,
        "members": len(found.members),
        "findings": [one.to_json() for one in examine(found)],
    }


async def _members(
    operations: Operations, permit: Permit, name: str, online: Consumers
) -> list[ConnectedMember]:
    """All members; what each says of itself, of so many."""
    clients = online.clients
    asked = clients[:MEMBERS_QUERIED_MAX]
    ask = operations.clients.running_info
    answers: list[tuple[bool, Any]] = await DeferredList(
        [maybeDeferred(ask, permit, name, one.client_id) for one in asked],
        consumeErrors=True,
    )
    members = [_member(one, *answer) for one, answer in zip(asked, answers, strict=True)]
    return [
        *members,
        *(ConnectedMember(one.client_id, one.language) for one in clients[MEMBERS_QUERIED_MAX:]),
    ]


def _member(client: GroupClient, is_answered: bool, answer: Any) -> ConnectedMember:
    try:
        if is_answered and not answer.code:
            return member(client.client_id, client.language, ConsumerRunningInfo.decode(answer.body))
    except BodyError as error:
        log.info("%s did not report its state: %s", client.client_id, error)
    return ConnectedMember(client.client_id, client.language)


async def _gathered(
    console: Console, call: WebCall, permit: Permit, members: list[ConnectedMember]
) -> DiagnosedGroup:
    """Collect the evidence of the broker's tables alongside that of the members."""
    operations, name, breathe = console.operations, call.path["group"], console.turns()
    config, online = operations.groups.get(name), operations.clients.consumers(name)
    coordinated = operations.coordinated.group(name)
    wanted = {} if online is None else online.subscriptions
    consumed = operations.offsets.topics_of(name)
    mine = {*consumed, *wanted, *(topic for one in members for topic in one.wants or ())}
    names = examined(mine)[:TOPICS_MAX]
    transactions = operations.transactions.open(HALVES_MAX, call.now)
    topics: dict[str, SubscribedTopic] = {}
    queues: list[ConsumedQueue] = []
    for topic in names:
        await breathe()
        born = [one.born_timestamp for one in transactions if one.topic == topic]
        topics[topic] = _topic(operations, name, topic, born)
        shared = () if coordinated is None else coordinated.shared
        if topic in consumed or not shared:
            queues += await _queues(operations, permit, name, topic, wanted.get(topic))
        queues += shared_queues(operations, topic, shared)
    return DiagnosedGroup(
        name,
        call.now,
        may_consume=config is None or config.consume_enable,
        is_popping=any(operations.groups.is_popping(name, topic) for topic in names),
        is_broadcasting=online is not None and online.message_model == "BROADCASTING",
        members=members,
        topics=topics,
        queues=queues,
        retries_behind=operations.offsets.lag(name, RETRY_PREFIX + name),
        dead_letters=operations.offsets.range(DLQ_PREFIX + name, 0).message_count,
        retry_max=None if config is None else config.retry_max_times,
        state="" if coordinated is None else coordinated.state,
        idle_millis=console.lags.idle_millis(name),
    )


def _topic(operations: Operations, group: str, topic: str, born: list[int]) -> SubscribedTopic:
    config = operations.topics.get(topic)
    if config is None:
        return SubscribedTopic(topic, has_route=False)
    return SubscribedTopic(
        topic,
        is_readable=bool(config.perm & PERM_READ),
        is_allowed=operations.groups.is_readable(group, topic),
        incoming=operations.topics.put_rate(topic),
        transactions=born,
    )


async def _queues(
    operations: Operations, permit: Permit, group: str, topic: str, wanted: SubscriptionData | None
) -> list[ConsumedQueue]:
    config, units_of = operations.topics.get(topic), operations.queries.consume_queue
    found, sampler = [], TopicSampler(wanted)
    queue_ids = range(0 if config is None else config.read_queue_nums)
    for progress in operations.offsets.progress(group, topic, queue_ids):
        queue_id, (least, end) = progress.queue_id, progress.range
        place = QueueKey(topic, operations.options.broker_name, queue_id)
        one = ConsumedQueue(place, least, end, progress.position, progress.pulled)
        if (begin := sampler.offset_in(one)) is not None:
            units = units_of(permit, topic, queue_id, begin, SAMPLED_MESSAGES, group)
            entries = (await settled(units)).queue_data
            one = sampler.compared(one, [entry.tags_code for entry in entries])
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
