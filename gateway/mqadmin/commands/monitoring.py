"""Monitoring of all consumer groups. RocketMQ: `StartMonitoringSubCommand`, `MonitorService`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from mqgateway.engine.message import RETRY_PREFIX
from mqgateway.gateway.client import admin_consumers as consumers
from mqgateway.gateway.client import admin_names as names
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.codec.bodies import (
    ConsumerConnection,
    ConsumerRunningInfo,
    MessageQueue,
    OffsetWrapper,
)
from mqgateway.gateway.mqadmin.commands.clients import online
from mqgateway.gateway.mqadmin.commands.members import complaints, subscribes_the_same
from mqgateway.gateway.mqadmin.commands.progress import progress_of
from mqgateway.gateway.mqadmin.commands.reading import TOOLS_GROUP, addresses, pull
from mqgateway.gateway.mqadmin.declaration import CommandCall, Row, command
from mqgateway.gateway.mqadmin.rendering import shown
from mqgateway.gateway.mqadmin.servers import reachable

ROUND_SECONDS = 60.0
_LINE = "=" * 41
_NOTIFY = "[MONITOR]  [NOTIFY] reportConsumerRunningInfo: ConsumerGroup: {group}, "
_TEMPLATES = {
    "undone": "[MONITOR] reportUndoneMsgs: UndoneMsgs [consumerGroup={group}, topic={topic}, "
    "undoneMsgsTotal={total}, undoneMsgsSingleMQ={singleMax}, undoneMsgsDelayTimeMills={delayMillis}]\n",
    "subscription": _NOTIFY + "Subscription different\n",
    "queue": _NOTIFY + "ClientId: {clientId}, {complaint}\n",
}


def _text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    yield f"[MONITOR] {_LINE}beginRound\n"
    for row in rows:
        yield shown(_TEMPLATES[row["report"]], row)
    yield f"[MONITOR] {_LINE}endRound\n"


@command(
    "startMonitoring",
    text=_text,
    every=ROUND_SECONDS,
)
def monitor(call: CommandCall) -> Iterator[Row]:
    """Run one round. RocketMQ: `MonitorService.doMonitorWork`, which writes to its log."""
    known: set[str] = call.servers.ask_names(names.all_topics())
    for topic in sorted(known):
        if topic.startswith(RETRY_PREFIX):
            group = topic.removeprefix(RETRY_PREFIX)
            try:
                members = online(call, group)
            except ClientError:
                continue  # no member is online, or the group was deleted meanwhile
            yield from _undone(call, group)
            yield from _complaints(call, group, members)


def _undone(call: CommandCall, group: str) -> Iterator[Row]:
    """Yield the lag of a group in each topic: in messages in total and of the worst queue, and in time."""
    try:
        table = progress_of(call, group).offset_table
    except ClientError:
        return
    queues: dict[str, list[tuple[MessageQueue, OffsetWrapper]]] = defaultdict(list)
    for queue, one in sorted(table.items()):
        queues[queue.topic].append((queue, one))
    for topic, found in sorted(queues.items()):
        behind = [max(0, one.broker_offset - one.consumer_offset) for _, one in found]
        delays = [_delay(call, queue, one) for queue, one in found]
        yield {
            "report": "undone",
            "group": group,
            "topic": topic,
            "total": sum(behind),
            "singleMax": max(behind),
            "delayMillis": max(delays),
        }


def _delay(call: CommandCall, queue: MessageQueue, progress: OffsetWrapper) -> int:
    """Return the age difference of the newest message of a queue and the last consumed one, in ms."""
    if progress.last_timestamp <= 0 or progress.broker_offset <= 0:
        return 0
    try:
        address = addresses(call, queue.topic)[queue.broker_name]
        question = pull(queue, progress.broker_offset - 1, 1, "*", TOOLS_GROUP)
        found = call.servers.ask(question, address).messages
    except (ClientError, KeyError):
        return 0
    return max(0, found[0].store_timestamp - progress.last_timestamp) if found else 0


def _complaints(call: CommandCall, group: str, members: ConsumerConnection) -> Iterator[Row]:
    _, address = next(reachable(call.servers.route(RETRY_PREFIX + group).broker_datas))
    infos: dict[str, ConsumerRunningInfo] = {}
    for one in sorted(members.connection_set, key=lambda one: one.client_id):
        try:
            question = consumers.running_info(group, one.client_id)
            infos[one.client_id] = call.servers.ask(question, address)
        except ClientError:
            continue  # it left, or does not answer
    if infos and not subscribes_the_same(infos.values(), call.now()):
        yield {"report": "subscription", "group": group}
    for client_id, info in infos.items():
        for line in complaints(client_id, info, call.now()):
            yield {"report": "queue", "group": group, "clientId": client_id, "complaint": line.rstrip("\n")}
