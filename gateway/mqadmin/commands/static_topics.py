"""Commands that create static topics and move their queues.

RocketMQ: `UpdateStaticTopicSubCommand`, `RemappingStaticTopicSubCommand`, `MQAdminUtils`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.static_topics.mappings import TopicQueueMappingDetail
from mqgateway.gateway.client import admin_topics as topics
from mqgateway.gateway.client.errors import ClientError, NoBroker
from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.gateway.mqadmin import static_plan
from mqgateway.gateway.mqadmin.declaration import (
    TRUTH,
    CommandCall,
    CommandOption,
    NameKind,
    Row,
    UsageError,
    command,
)
from mqgateway.gateway.mqadmin.rendering import each
from mqgateway.gateway.mqadmin.servers import master_of
from mqgateway.gateway.mqadmin.static_plan import BrokerShare, StaticTopicPlan

if TYPE_CHECKING:
    from mqgateway.gateway.codec.bodies import ClusterInfo

_BROKERS = CommandOption(
    "b", "brokers", "names of the target brokers, separated by ','", group="where", values=NameKind.BROKER
)
_CLUSTERS = CommandOption(
    "c", "clusters", "target clusters, separated by ','", group="where", values=NameKind.CLUSTER
)
_FILE = CommandOption("mf", "mapFile", "file with a mapping that this command wrote", values=NameKind.FILE)
_FORCE = CommandOption("fr", "forceReplace", "with -mf: true to replace existing mappings", values=TRUTH)
_TOPIC = CommandOption("t", "topic", "topic", required=True, values=NameKind.TOPIC)
_TEXT = each("The {mapping} mapping data is written to file {file}\n")


@command(
    "updateStaticTopic",
    _BROKERS,
    _CLUSTERS,
    _FORCE,
    _FILE,
    CommandOption("qn", "totalQueueNum", "new number of queues", required=True),
    _TOPIC,
    text=_TEXT,
)
def update(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `UpdateStaticTopicSubCommand`."""
    topic, queues = call.given.need("t"), call.given.number("qn", 0)
    info = call.servers.clusters()
    if "mf" in call.given:
        plan = _from_file(call, topic)
    else:
        targets, brokers = _targets(call, info), _mappings(call, topic, info)
        plan = static_plan.created(topic, queues, targets, brokers, call.now())
        yield from _kept(call, topic, brokers, plan)
    plan.complete(_neighbours(plan, info))
    _send_parts(call, plan, sorted(plan.brokers), info)
    call.summary["epoch"] = plan.epoch


@command(
    "remappingStaticTopic",
    _BROKERS,
    _CLUSTERS,
    _FORCE,
    _FILE,
    _TOPIC,
    text=_TEXT,
)
def remap(call: CommandCall) -> Iterator[Row]:
    """Move the queues of a static topic: make new brokers writable, then old ones read-only.

    Then the offsets are settled, and sent to the new brokers first, to all others last. RocketMQ:
    `MQAdminUtils.remappingStaticTopic`.
    """
    topic = call.given.need("t")
    info = call.servers.clusters()
    if "mf" in call.given:
        plan = _from_file(call, topic)
    else:
        targets, brokers = _targets(call, info), _mappings(call, topic, info)
        if not brokers:
            raise NoBroker(f"no broker has the topic {topic}")
        plan = static_plan.moved(topic, targets, brokers, call.now())
        yield from _kept(call, topic, brokers, plan)
        plan.complete(_neighbours(plan, info))
    into, out_of = sorted(plan.into), sorted(plan.out_of)
    _send_parts(call, plan, [*into, *out_of], info)
    call.summary["moves"] = [move for broker in out_of for move in _settled(call, plan, broker, info)]
    _send_parts(call, plan, [*into, *sorted(plan.brokers.keys() - plan.into - plan.out_of)], info)
    call.summary["epoch"] = plan.epoch


def _settled(call: CommandCall, plan: StaticTopicPlan, broker: str, info: ClusterInfo) -> Iterator[Row]:
    """Settle the first offset of each moved queue at its new broker; yield the moves.

    Raises `ClientError` if the old broker does not report the end of the queue.
    """
    moving = list(plan.moving(broker))
    table = call.servers.ask(topics.stats(plan.topic), _master(info, broker)).offset_table if moving else {}
    for number, old, new in moving:
        found = table.get(MessageQueue(plan.topic, old.broker_name, old.queue_id))
        if found is None:
            raise ClientError(
                f"{broker} did not report the end offset of its queue {old.queue_id} of {plan.topic}"
            )
        logic_offset = plan.settle(number, broker, found.max_offset)
        yield {"queueId": number, "from": broker, "to": new.broker_name, "logicOffset": logic_offset}


def _send_parts(call: CommandCall, plan: StaticTopicPlan, brokers: list[str], info: ClusterInfo) -> None:
    """Send each of the brokers its part of the plan."""
    masters = {name: _master(info, name) for name in plan.brokers}
    is_forced = call.given.truth("fr")
    for name in brokers:
        one = plan.brokers[name]
        question = topics.update_static(one.config, one.mapping.to_json(), is_forced=is_forced)
        call.servers.change(question, masters[name])


def _targets(call: CommandCall, info: ClusterInfo) -> set[str]:
    """Return the names of the target brokers of the queues. Raises `NoBroker`."""
    if (given := call.given.text("b")) is not None:
        found = {one.strip() for one in given.split(",")}
    else:
        clusters = {one.strip() for one in call.given.need("c").split(",")}
        found = {name for one in clusters for name in info.cluster_addr_table.get(one, ())}
    if not found:
        raise NoBroker("none of these clusters has a broker")
    for name in found:
        _master(info, name)
    return found


def _mappings(call: CommandCall, topic: str, info: ClusterInfo) -> dict[str, BrokerShare]:
    """Return the topic's configuration and mapping on each broker that has it.

    Raises `ClientError` if a broker has it as an ordinary topic, or its mapping is invalid.
    """
    found = {}
    for name in sorted(info.broker_addr_table):
        answer = call.servers.ask(topics.config_and_mapping(topic), _master(info, name))
        if answer is None:
            continue
        config, mapping = answer
        if mapping is None:
            raise ClientError(f"{topic} is not a static topic: broker {name} has it with ordinary queues")
        try:
            found[name] = BrokerShare(config, TopicQueueMappingDetail.from_json(mapping))
        except ConfigError as error:
            raise ClientError(f"broker {name}: cannot read the mapping: {error}") from None
    return found


def _master(info: ClusterInfo, name: str) -> str:
    if name not in info.broker_addr_table:
        raise NoBroker(f"there is no broker {name}")
    return master_of(info.broker_addr_table[name])


def _neighbours(plan: StaticTopicPlan, info: ClusterInfo) -> list[str]:
    """Return all brokers of the clusters that have a broker in the plan."""
    clusters = [names for names in info.cluster_addr_table.values() if set(names) & plan.brokers.keys()]
    return sorted({name for names in clusters for name in names})


def _from_file(call: CommandCall, topic: str) -> StaticTopicPlan:
    """Return the plan of the mapping file. Raises `UsageError`, `ClientError`."""
    path = call.given.need("mf")
    try:
        plan = StaticTopicPlan.from_json(orjson.loads(Path(path).read_bytes()))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from None
    if plan.topic != topic:
        raise UsageError(f"{path} is for the topic {plan.topic}, not {topic}")
    static_plan.check_plan(plan)
    return plan


def _kept(
    call: CommandCall, topic: str, brokers: dict[str, BrokerShare], after: StaticTopicPlan
) -> Iterator[Row]:
    """Write files of the mapping before and after, with which `-mf` resumes or reverts; yield their rows.

    In a dry run no file is written.
    """
    if call.is_dry:
        return
    from tempfile import gettempdir  # slow to load, and only needed here

    epoch = max((one.mapping.epoch for one in brokers.values()), default=call.now())
    before = StaticTopicPlan(topic, static_plan.CREATED, epoch, brokers)
    for name, suffix, plan in (("old", "before", before), ("new", "after", after)):
        path = Path(gettempdir()) / f"{topic}-{plan.epoch}.{suffix}"
        path.write_bytes(orjson.dumps(plan.to_json(), option=orjson.OPT_NON_STR_KEYS))
        yield {"mapping": name, "file": str(path)}
