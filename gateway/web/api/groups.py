"""Consumer groups: the list, one of them with members, subscriptions and progress; made, changed, deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mqgateway.engine.message import DLQ_PREFIX, RETRY_PREFIX
from mqgateway.engine.names import is_lmq, is_system_group
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.broker.operations import (
    ClientAnswer,
    CoordinatedGroup,
    GroupClient,
    Operations,
    QueueProgress,
    Use,
)
from mqgateway.gateway.codec.bodies import ConsumerRunningInfo
from mqgateway.gateway.codec.codes import version_name
from mqgateway.gateway.codec.errors import BodyError
from mqgateway.gateway.web.api.needs import of_cluster, of_group
from mqgateway.gateway.web.call import WebCall
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.group_state import STATES, group_state
from mqgateway.gateway.web.lists import PAGE_FIELDS, Row, has, page_of
from mqgateway.gateway.web.route import ApiError, Role, Route, RouteField
from mqgateway.gateway.web.scan import settled

ROWS_A_LOOK = 64
TOPICS_SHOWN_MAX = 200
KAFKA_MEMBERS_MAX = 500


async def groups(console: Console, call: WebCall) -> dict[str, Any]:
    """A page of groups."""
    operations, query, breathe = console.operations, call.query, console.turns()
    topics = await consumed_topics(console)
    known = {*operations.groups.names(), *operations.clients.consumer_groups()}
    rows: list[Row] = []
    for number, name in enumerate(known):
        if not number % ROWS_A_LOOK:
            await breathe()
        if not has(name, query["search"]) or (is_system_group(name) and not query["system"]):
            continue
        if not query["state"] or query["state"] == state_of(console, name, topics.get(name, [])):
            rows.append((_sort_key(operations, name, topics.get(name, []), query["sort"]), name))
    page = page_of(rows, query["limit"], query["cursor"], descending=query["descending"])
    return {
        "rows": [_row(console, name, topics.get(name, [])) for name in page.names],
        "total": page.total,
        "cursor": page.cursor,
    }


async def consumed_topics(console: Console) -> dict[str, list[str]]:
    """Return the topics in which the groups of this broker have offsets, by group."""
    operations, breathe = console.operations, console.turns()
    topics: dict[str, list[str]] = {}
    for number, (topic, group) in enumerate(operations.offsets.pairs()):
        if not number % ROWS_A_LOOK:
            await breathe()
        if topic in operations.topics and not is_lmq(topic):
            topics.setdefault(group, []).append(topic)
    return topics


def _sort_key(operations: Operations, name: str, topics: list[str], sort: str) -> Any:
    if sort == "behind":
        return group_lag(operations, name, topics)
    if sort == "members":
        return member_count(operations, name)
    return name


def group_lag(operations: Operations, name: str, topics: list[str]) -> int:
    """Return the lag of a group, with that of partitions which its members share."""
    coordinated = operations.coordinated.group(name)
    shared = () if coordinated is None else coordinated.shared
    return sum(operations.offsets.lag(name, topic) for topic in topics) + sum(one.lag or 0 for one in shared)


def member_count(operations: Operations, name: str) -> int:
    """Return the number of members of a group, those of Kafka's protocol included."""
    coordinated = operations.coordinated.group(name)
    own = operations.clients.consumer_count(name)
    return own if coordinated is None else own + len(coordinated.members)


def state_of(console: Console, name: str, topics: list[str]) -> str:
    """Return the state of a group that consumes these topics, one of `STATES`."""
    operations = console.operations
    coordinated = operations.coordinated.group(name)
    return group_state(
        members=member_count(operations, name),
        lag=group_lag(operations, name, topics),
        kafka_state="" if coordinated is None else coordinated.state,
        idle_millis=console.lags.idle_millis(name),
    )


def _row(console: Console, name: str, topics: list[str]) -> dict[str, Any]:
    operations = console.operations
    online, coordinated = operations.clients.consumers(name), operations.coordinated.group(name)
    return {
        "group": name,
        "members": member_count(operations, name),
        "state": state_of(console, name, topics),
        "mode": "" if online is None else online.message_model,
        "kind": "" if online is None else online.consume_type,
        "kafkaKind": "" if coordinated is None else coordinated.kind,
        "kafkaState": "" if coordinated is None else coordinated.state,
        "behind": group_lag(operations, name, topics),
        "rate": round(sum(operations.groups.get_rate(name, topic) for topic in topics), 2),
        "topics": sum(not topic.startswith(RETRY_PREFIX) for topic in topics),
        "deadLetters": operations.offsets.range(DLQ_PREFIX + name, 0).message_count,
        "isInconsistent": operations.clients.is_inconsistent(name),
        "isSystem": is_system_group(name),
    }


def group(console: Console, call: WebCall) -> dict[str, Any]:
    """One group: its settings, members with what each subscribes to, and how far it is in each queue."""
    operations, name = console.operations, call.path["group"]
    config, online = operations.groups.get(name), operations.clients.consumers(name)
    coordinated = operations.coordinated.group(name)
    if config is None and online is None:
        raise ApiError(404, f"there is no group {name} on this broker")
    topics = sorted(topic for topic in operations.offsets.topics_of(name) if topic in operations.topics)
    return {
        **_row(console, name, topics),
        "settings": None if config is None else config.to_json(),
        "subscriptions": []
        if online is None
        else [
            {"topic": topic, "kind": one.expression_type, "expression": one.sub_string}
            for topic, one in sorted(online.subscriptions.items())
        ],
        "clients": [] if online is None else [_member(client) for client in online.clients],
        "kafka": None if coordinated is None else _coordinated(coordinated),
        "progress": [
            _progress(operations, name, topic, call.now, is_pulling=online is not None)
            for topic in topics[:TOPICS_SHOWN_MAX]
        ],
        "topicsLeftOut": max(0, len(topics) - TOPICS_SHOWN_MAX),
    }


def _member(client: GroupClient) -> dict[str, Any]:
    return {
        "clientId": client.client_id,
        "address": client.peer.address,
        "language": client.language,
        "version": version_name(client.version),
        "lastHeard": client.last_update,
        "subscriptions": sorted(f"{topic}: {text}" for topic, _, text in client.subscribed or ()),
    }


def _coordinated(group: CoordinatedGroup) -> dict[str, Any]:
    """Show a group of Kafka's clients; `shared` are the partitions of a share group."""
    return {
        "assignor": group.assignor,
        "members": [
            {
                "memberId": one.member_id,
                "clientId": one.client_id,
                "host": one.host,
                "instanceId": one.instance_id,
                "subscriptions": list(one.subscriptions),
                "assigned": _by_topic(one.assigned),
            }
            for one in group.members[:KAFKA_MEMBERS_MAX]
        ],
        "shared": [one._asdict() for one in group.shared[:TOPICS_SHOWN_MAX]],
    }


def _by_topic(partitions: Sequence[tuple[str, int]]) -> list[str]:
    """Return a text for each topic, with its partitions."""
    found: dict[str, list[str]] = {}
    for topic, partition in partitions:
        found.setdefault(topic, []).append(str(partition))
    return [f"{topic}: {', '.join(numbers)}" for topic, numbers in found.items()]


def lag(console: Console, call: WebCall) -> dict[str, Any]:
    """Return the lag of a group over time."""
    return console.lags.since(call.path["group"], call.now - call.query["minutes"] * 60_000)


def _progress(operations: Operations, name: str, topic: str, now: int, *, is_pulling: bool) -> dict[str, Any]:
    """Show the progress of a group in a topic, by queue; `delay` is the age of the next message in ms.

    `rate` counts messages that members fetched: a member that hangs fetches too, until it holds enough.
    """
    return {
        "topic": topic,
        "behind": operations.offsets.lag(name, topic),
        "rate": round(operations.groups.get_rate(name, topic), 2),
        "mayRead": operations.groups.is_readable(name, topic),
        "queues": [
            {
                "queueId": one.queue_id,
                "minOffset": one.range.begin,
                "maxOffset": one.range.end,
                "offset": one.offset,
                "behind": one.lag,
                "inFlight": one.in_flight + (_fetched(one) if is_pulling else 0),
                "delay": _age(operations, topic, one, now),
                "resetWaits": one.is_reset_pending,
            }
            for one in operations.offsets.progress(name, topic)
        ],
    }


def _age(operations: Operations, topic: str, queue: QueueProgress, now: int) -> int:
    """Return the age of the next message of a group in a queue in ms; 0 for none."""
    if not queue.lag:
        return 0
    stored = operations.offsets.store_time(topic, queue.queue_id, max(queue.position, queue.range.begin))
    return max(0, now - stored) if stored >= 0 else 0


def _fetched(queue: QueueProgress) -> int:
    """Return the number of messages that pulling members have and the group has not committed."""
    return 0 if queue.pulled is None else max(0, queue.pulled - max(0, queue.position))


async def running(console: Console, call: WebCall) -> dict[str, Any]:
    """Show the state that a member reports, with the stacks of its threads if they are requested."""
    answer: ClientAnswer = await settled(
        console.operations.clients.running_info(
            console.permit(call, Use.QUERY),
            call.path["group"],
            call.path["client"],
            with_stacks=call.query["stacks"],
        )
    )
    if answer.code:
        raise ApiError(502, f"the client answered {answer.code}: {answer.remark}")
    try:
        info = ConsumerRunningInfo.decode(answer.body)
    except BodyError as error:
        raise ApiError(502, f"the client's answer cannot be read: {error}") from None
    return {"clientId": call.path["client"], **_reported(info)}


def _reported(info: ConsumerRunningInfo) -> dict[str, Any]:
    """Return a member's report; `millis` is the mean time for a message, `stacks` a text of lines."""
    holds = [
        (queue, one.cached_msg_count, one.last_pull_timestamp, one.last_consume_timestamp)
        for queue, one in info.mq_table.items()
    ]
    holds += [
        (queue, one.wait_ack_count, one.last_pop_timestamp, 0) for queue, one in info.mq_pop_table.items()
    ]
    return {
        "properties": {**info.properties, **info.user_consumer_info},
        "queues": [
            {
                "topic": queue.topic,
                "broker": queue.broker_name,
                "queueId": queue.queue_id,
                "held": held,
                "lastPull": last_pull,
                "lastConsume": last_consume,
            }
            for queue, held, last_pull, last_consume in sorted(holds)
        ],
        "rates": [
            {
                "topic": topic,
                "consumed": one.consume_ok_tps,
                "failed": one.consume_failed_tps,
                "millis": one.consume_rt,
            }
            for topic, one in sorted(info.status_table.items())
        ],
        "stacks": info.jstack or "",
    }


def create_group(console: Console, call: WebCall) -> dict[str, Any]:
    """Create a group; refused where there is one of this name."""
    name = call.body["group"]
    if name in console.operations.groups:
        raise ApiError(409, f"there is a group {name} already")
    return _put_group(console, call, SubscriptionGroupConfig(name))


def change_group(console: Console, call: WebCall) -> dict[str, Any]:
    """Change a group: what is not given stays."""
    known = console.operations.groups.known(call.path["group"])
    call.before = known.to_json()
    return _put_group(console, call, SubscriptionGroupConfig.from_json(known.to_json()))


def _put_group(console: Console, call: WebCall, config: SubscriptionGroupConfig) -> dict[str, Any]:
    permit = console.permit(call, Use.ADMINISTER)
    body = call.body
    for name, attribute in _CHANGEABLE.items():
        if body[name] is not None:
            setattr(config, attribute, body[name])
    config.attributes = {}
    console.operations.administration.put_group(permit, config)
    call.after = console.operations.groups.known(config.group_name).to_json()
    return {"group": config.group_name}


def delete_group(console: Console, call: WebCall) -> dict[str, Any]:
    """Delete a group; with its offsets if so wished."""
    permit = console.permit(call, Use.ADMINISTER)
    name = call.path["group"]
    if name not in console.operations.groups:
        raise ApiError(404, f"there is no group {name} on this broker")
    call.before = console.operations.groups.known(name).to_json()
    console.operations.administration.delete_group(permit, name, with_offsets=call.query["offsets"])
    return {"group": name}


_CHANGEABLE = {
    "consumeEnable": "consume_enable",
    "consumeBroadcastEnable": "consume_broadcast_enable",
    "consumeMessageOrderly": "consume_message_orderly",
    "retryQueueNums": "retry_queue_nums",
    "retryMaxTimes": "retry_max_times",
    "consumeTimeoutMinute": "consume_timeout_minute",
}
_SETTINGS = (
    RouteField("consumeEnable", bool, "Allow consumption.", None),
    RouteField("consumeBroadcastEnable", bool, "Allow broadcast consumption.", None),
    RouteField("consumeMessageOrderly", bool, "Pop messages in order.", None),
    RouteField("retryQueueNums", int, "Number of queues of the retry topic.", None, least=0, most=1024),
    RouteField(
        "retryMaxTimes",
        int,
        "Delivery attempts before a message becomes a dead letter.",
        None,
        least=-1,
        most=100_000,
    ),
    RouteField(
        "consumeTimeoutMinute", int, "Consume timeout of a message, in minutes.", None, least=1, most=100_000
    ),
)

ROUTES = (
    Route(
        "GET",
        "/groups",
        Role.VIEWER,
        "List consumer groups.",
        groups,
        query=(
            *PAGE_FIELDS,
            RouteField("sort", str, "Sort key.", "name", choices=("name", "behind", "members")),
            RouteField("system", bool, "Include system groups.", False),
            RouteField("state", str, "Only groups in this state.", "", choices=("", *STATES)),
        ),
        needs=of_cluster(Action.GET),
    ),
    Route(
        "POST",
        "/groups",
        Role.OPERATOR,
        "Create a group.",
        create_group,
        body=(RouteField("group", str, "Group name."), *_SETTINGS),
        needs=of_group(Action.CREATE),
    ),
    Route("GET", "/groups/{group}", Role.VIEWER, "Show a group.", group, needs=of_group(Action.GET)),
    Route(
        "PUT",
        "/groups/{group}",
        Role.OPERATOR,
        "Change a group.",
        change_group,
        body=_SETTINGS,
        needs=of_group(Action.UPDATE, Action.CREATE),
    ),
    Route(
        "DELETE",
        "/groups/{group}",
        Role.ADMIN,
        "Delete a group.",
        delete_group,
        query=(RouteField("offsets", bool, "Delete the offsets of the group too.", False),),
        needs=of_group(Action.DELETE),
    ),
    Route(
        "GET",
        "/groups/{group}/lag",
        Role.VIEWER,
        "Return the lag of a group over time, at most the last 4 hours.",
        lag,
        query=(
            RouteField("minutes", int, "Range of the chart, in minutes before now.", 60, least=1, most=240),
        ),
        needs=of_group(Action.GET),
    ),
    Route(
        "GET",
        "/groups/{group}/clients/{client}",
        Role.VIEWER,
        "Show the state of a group member.",
        running,
        query=(RouteField("stacks", bool, "Include thread stacks.", False),),
        needs=of_group(Action.GET),
    ),
)
