"""`mqgateway doctor`: queries servers and members about a group, and passes the answers to `gateway.doctor`.

A query that fails is reported as such. What it would have returned is unknown, and no check uses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from mqgateway.engine.message import DLQ_PREFIX, RETRY_PREFIX
from mqgateway.gateway.client import admin_broker
from mqgateway.gateway.client import admin_consumers as consumers
from mqgateway.gateway.client import admin_groups as groups
from mqgateway.gateway.client import admin_messages as messages
from mqgateway.gateway.client import admin_names as names
from mqgateway.gateway.client import admin_topics as topics
from mqgateway.gateway.client.errors import BrokerError, ClientError
from mqgateway.gateway.codec.bodies import MessageQueue, SubscriptionData, TopicOffset
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.doctor.checks import IDLE_MILLIS, examine
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
from mqgateway.gateway.mqadmin.declaration import CommandCall, NameKind, Row, command, operand
from mqgateway.gateway.mqadmin.servers import reachable
from mqgateway.gateway.resources import FOUND, lag, targets
from mqgateway.gateway.resources.transactions import open_halves

_READABLE = 4
KAFKA_SECONDS = 10.0
"""Time that an answer of Kafka's protocol may take."""


def _text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    found = list(rows)
    is_complete = call.summary["isComplete"]
    yield "group {group}: {least}{behind} messages wait; members: {members}, topics: {topics}\n".format_map(
        {**call.summary, "least": "" if is_complete else "at least "}
    )
    for row in found:
        yield f"\n{row['weight']}: {row['check']}\n  {row['what']}\n  -> {row['cure']}\n"
    if not is_complete:
        yield "\nsome queries failed, so that causes may be missing here: the errors say which\n"
    elif call.summary["behind"] and not any(row["weight"] == "cause" for row in found):
        yield (
            "\nno cause was found: messages may just have come. A member that is busy with the same ones\n"
            f"passes for hanging after {IDLE_MILLIS // 1000} s; ask again in a minute, or see mqgateway top\n"
        )
    elif not found:
        yield "nothing is the matter with it\n"


@command(
    "doctor",
    operand("g", "group", "consumer group", values=NameKind.GROUP),
    targets.CLUSTER,
    text=_text,
)
def diagnose(call: CommandCall) -> Iterator[Row]:
    """Yield the findings; exit with `FOUND` if one is a cause."""
    group = gather(call, call.given.need("g"))
    call.summary.update(
        group=group.name,
        members=len(group.members),
        behind=group.behind,
        topics=len(group.topics),
        isComplete=group.is_complete,
    )
    found = examine(group)
    for one in found:
        if one.weight == "cause":
            call.ended = FOUND
        yield one.to_json()
    checks = {one.check for one in found}
    for row in _of_kafka(call, group):
        if row["check"] not in checks:
            call.ended = FOUND
            yield row


@dataclass
class _Known:
    """Combined reports of the brokers about the group."""

    is_known: bool = False
    may_consume: bool = True
    retry_max: int | None = None
    is_popping: bool = False
    is_broadcasting: bool = False
    clients: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Language, and address of a broker to which it is connected, by client id."""
    wanted: dict[str, SubscriptionData] = field(default_factory=dict)
    consumed: dict[QueueKey, tuple[int, int, int]] = field(default_factory=dict)
    """Consumer offset, pull offset, and store time of the last consumed message, by queue."""
    retries_behind: int = 0


def gather(call: CommandCall, name: str) -> DiagnosedGroup:
    """Gather all evidence about a group. Raises `ClientError` if no name server answers."""
    known = _Known()
    brokers = targets.brokers(call)
    for broker, address in brokers:
        _ask_broker(call, name, broker, address, known)
    members = [_member(call, name, client, known) for client in sorted(known.clients)]
    subscribed = {topic for one in members for topic in one.wants or ()} | known.wanted.keys()
    consumed = {place.topic for place in known.consumed}
    mine = examined(subscribed | consumed)
    halves = _open_transactions(call, brokers, mine)
    found, queues = {}, []
    for topic in mine:
        found[topic], more = _topic(call, name, topic, known, halves.get(topic, []))
        queues += more
    dead, last = _dead_letters(call, name)
    return DiagnosedGroup(
        name,
        call.now(),
        is_known=known.is_known or bool(known.clients or known.consumed),
        may_consume=known.may_consume,
        is_popping=known.is_popping,
        is_broadcasting=known.is_broadcasting,
        members=members,
        topics=found,
        queues=queues,
        retries_behind=known.retries_behind,
        dead_letters=dead,
        last_dead_letter=last,
        retry_max=known.retry_max,
        is_complete=not call.servers.failures,
    )


# Kafka's side


def _of_kafka(call: CommandCall, group: DiagnosedGroup) -> Iterator[Row]:
    """Yield the problems of a share group and of Kafka's transactions in the topics of a group.

    They are those of `mqgateway kafka doctor`, which no request of RocketMQ shows. Brokers that want TLS or
    authentication of Kafka clients are left out, with a remark. Those of one Kafka cluster report the same.
    """
    seen: set[str] = set()
    for _, address in targets.brokers(call):
        with call.servers.part(address):
            kafka = _kafka_address(call, address)
            if kafka is None:
                continue
            from mqgateway.gateway.cli.kafka_doctor import examine_share_group

            for one in examine_share_group(
                kafka, group.name, group.topics, seconds=KAFKA_SECONDS, now=group.at, wait=call.wait
            ):
                if one.what not in seen:
                    seen.add(one.what)
                    yield {**one._asdict(), "weight": "cause", "values": {}}


def _kafka_address(call: CommandCall, address: str) -> str | None:
    """Return the address of a broker for Kafka clients; None if it has none, or wants TLS or a user."""
    settings = call.servers.ask(admin_broker.settings(), address)
    port, advertised = settings.get("kafkaPort", "0"), settings.get("kafkaAdvertisedAddress", "")
    if port == "0":
        return None
    if settings.get("authenticationEnabled") == "true" or settings.get("tls.server.mode") == "enforcing":
        call.remark("Kafka's transactions and share groups were not examined: use mqgateway kafka doctor")
        return None
    if advertised not in ("", "client"):
        return advertised
    host = settings.get("brokerIP1") if not advertised else None
    return f"{host or address.rpartition(':')[0]}:{port}"


# The group


def _ask_broker(call: CommandCall, group: str, broker: str, address: str, known: _Known) -> None:
    """Query a broker. The queries are independent: a failed one does not suppress the others."""
    ask, part = call.servers.ask, call.servers.part
    with part(address):
        config = ask(groups.all_configs(), address).get(group)
        if config is not None:
            known.is_known, known.retry_max = True, config.retry_max_times
            known.may_consume = known.may_consume and config.consume_enable
    with part(address):
        try:
            online = ask(consumers.connections(group), address)
        except BrokerError as error:
            if error.code != ResponseCode.CONSUMER_NOT_ONLINE:
                raise
        else:
            known.is_broadcasting = known.is_broadcasting or online.message_model == "BROADCASTING"
            known.wanted |= online.subscription_table
            for client in online.connection_set:
                known.clients.setdefault(client.client_id, (str(client.language or ""), address))
    with part(address):
        for queue, one in ask(groups.progress(group), address).offset_table.items():
            if queue.topic.startswith(RETRY_PREFIX):
                known.retries_behind += lag.behind(one)
            else:
                place = QueueKey(queue.topic, broker, queue.queue_id)
                known.consumed[place] = (one.consumer_offset, one.pull_offset, one.last_timestamp)
    with part(address):
        modes = ask(groups.all_modes(), address)
        known.is_popping = known.is_popping or any(
            table[group].mode == "POP" for table in modes.values() if group in table
        )


def _member(call: CommandCall, group: str, client_id: str, known: _Known) -> ConnectedMember:
    """Return a member by its own report, or only its id and language if it does not answer."""
    language, address = known.clients[client_id]
    try:
        answer = call.servers.ask(consumers.running_info(group, client_id), address)
    except ClientError:
        return ConnectedMember(client_id, language)
    return member(client_id, language, answer)


# Topics


def _topic(
    call: CommandCall, group: str, topic: str, known: _Known, halves: Sequence[int]
) -> tuple[SubscribedTopic, list[ConsumedQueue]]:
    """Query the brokers of a topic. `halves` are the times of its open transactions."""
    route = call.servers.ask_names(names.route(topic))
    if route is None:
        return SubscribedTopic(topic, has_route=False), []
    is_readable, is_allowed, incoming = False, True, 0.0
    queues, sampler = [], TopicSampler(known.wanted.get(topic))
    for broker, address in reachable(route.broker_datas):
        with call.servers.part(address):
            is_readable = is_readable or bool(
                call.servers.ask(topics.config(topic), address).perm & _READABLE
            )
            is_allowed = is_allowed and call.servers.ask(groups.allow_reading(group, topic), address)
            stats = call.servers.ask(topics.stats(topic), address)
            incoming += stats.topic_put_tps
            for queue, ends in sorted(stats.offset_table.items()):
                one = _queue(QueueKey(topic, broker, queue.queue_id), ends, known)
                if (begin := sampler.offset_in(one)) is not None:
                    one = sampler.compared(one, _tag_codes(call, address, one.place, begin))
                queues.append(one)
    return (
        SubscribedTopic(
            topic,
            is_readable=is_readable,
            is_allowed=is_allowed,
            incoming=incoming,
            transactions=halves,
        ),
        queues,
    )


def _queue(place: QueueKey, ends: TopicOffset, known: _Known) -> ConsumedQueue:
    consumed, pulled, stored_at = known.consumed.get(place, (-1, -1, 0))
    return ConsumedQueue(
        place,
        ends.min_offset,
        ends.max_offset,
        consumed,
        pulled if pulled >= 0 else None,
        stored_at or None,
    )


def _tag_codes(call: CommandCall, address: str, place: QueueKey, begin: int) -> list[int]:
    """Return the tag hash codes of a queue's messages from offset `begin`."""
    asked = messages.queue_entries(MessageQueue(*place), begin, SAMPLED_MESSAGES)
    answer = call.servers.ask(asked, address)
    return [] if answer is None else [one.tags_code for one in answer.queue_data]


# Outside the group


def _open_transactions(
    call: CommandCall, brokers: Iterable[tuple[str, str]], mine: Sequence[str]
) -> dict[str, list[int]]:
    """Return the born times of the open half messages by topic."""
    found: dict[str, list[int]] = {}
    for broker, address in brokers:
        with call.servers.part(address):
            for one in open_halves(call, broker, address):
                if one["topic"] in mine:
                    found.setdefault(one["topic"], []).append(one["bornAt"])
    return found


def _dead_letters(call: CommandCall, group: str) -> tuple[int, int | None]:
    """Return the number of dead letters, and the time of the last one."""
    route = call.servers.ask_names(names.route(DLQ_PREFIX + group))
    count, last = 0, 0
    for _, address in reachable(route.broker_datas) if route is not None else ():
        with call.servers.part(address):
            for one in call.servers.ask(topics.stats(DLQ_PREFIX + group), address).offset_table.values():
                count += one.max_offset - one.min_offset
                last = max(last, one.last_update_timestamp)
    return count, last or None
