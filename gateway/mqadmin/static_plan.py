"""Target placement of the queues of a static topic; pure.

`created` creates a topic or adds queues; `moved` moves its queues to other brokers. Both return a
`StaticTopicPlan`, the configuration that each broker has to get. The first offset of a moved queue at its new
broker is unknown at first. `settle` sets it once the old queue is no longer written to.

RocketMQ: `TopicQueueMappingUtils`, `TopicRemappingDetailWrapper`; the latter is the form of files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Self

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.static_topics.items import MappingItem, MappingRefused, check
from mqgateway.engine.static_topics.mappings import TopicQueueMappingDetail
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.client.errors import ClientError

CREATED, MOVED = "CREATE_OR_UPDATE", "REMAPPING"
BLOCK = 10_000
"""The offsets of a moved queue start at a multiple of this."""
_EPOCH_STEP_MILLIS = 1000


@dataclass(slots=True)
class BrokerShare:
    """A topic's state on one broker: its own queues, and the mapping items of the topic's queues."""

    config: TopicConfig
    mapping: TopicQueueMappingDetail

    @classmethod
    def empty(cls, topic: str, broker: str, total: int, epoch: int) -> Self:
        """Return the state of a broker without queues of the topic."""
        config = TopicConfig(topic, read_queue_nums=0, write_queue_nums=0)
        return cls(config, TopicQueueMappingDetail(topic, broker, total, epoch))

    def add_queue(self) -> int:
        """Add a queue at the broker; return its id there."""
        self.config.read_queue_nums += 1
        self.config.write_queue_nums += 1
        return self.config.write_queue_nums - 1


@dataclass(slots=True)
class StaticTopicPlan:
    """Target state of a topic; `into` are the brokers that gain queues, `out_of` those that lose some."""

    topic: str
    kind: str
    epoch: int
    brokers: dict[str, BrokerShare]
    into: set[str] = field(default_factory=set)
    out_of: set[str] = field(default_factory=set)

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON values by RocketMQ's names."""
        brokers = {
            name: one.config.to_json() | {"mappingDetail": one.mapping.to_json()}
            for name, one in sorted(self.brokers.items())
        }
        fields = {"topic": self.topic, "type": self.kind, "epoch": self.epoch, "brokerConfigMap": brokers}
        return fields | {"brokerToMapIn": sorted(self.into), "brokerToMapOut": sorted(self.out_of)}

    @classmethod
    def from_json(cls, fields: Any) -> Self:
        """Parse the values of `to_json`. Raises `ClientError`."""
        try:
            brokers = {
                name: BrokerShare(
                    TopicConfig.from_json(one), TopicQueueMappingDetail.from_json(one["mappingDetail"])
                )
                for name, one in fields["brokerConfigMap"].items()
            }
            into, out_of = set(fields.get("brokerToMapIn") or ()), set(fields.get("brokerToMapOut") or ())
            plan = cls(fields["topic"], fields["type"], int(fields["epoch"]), brokers, into, out_of)
        except (AttributeError, ConfigError, KeyError, TypeError, ValueError) as error:
            raise ClientError(
                f"not a mapping file written by updateStaticTopic or remappingStaticTopic: {error!r}"
            ) from None
        if unknown := (into | out_of) - brokers.keys():
            raise ClientError(
                f"brokers that gain or lose queues are missing in the mapping: {', '.join(sorted(unknown))}"
            )
        return plan

    def complete(self, others: Iterable[str]) -> None:
        """Add brokers of the same clusters that have no queue of the topic; they get the mapping too."""
        total = next(iter(self.brokers.values())).mapping.total_queues
        for name in others:
            self.brokers.setdefault(name, BrokerShare.empty(self.topic, name, total, self.epoch))

    def moving(self, broker: str) -> Iterator[tuple[int, MappingItem, MappingItem]]:
        """Yield the queues that a broker loses and whose offset is not settled: number, old and new mapping
        item."""
        for number, items in sorted(self.brokers[broker].mapping.queues.items()):
            new = items[-1]
            if len(items) < 2 or new.broker_name not in self.into or new.logic_offset > 0:
                continue
            theirs = self.brokers[new.broker_name].mapping.queues.get(number)
            if theirs and theirs[-1].gen == new.gen:
                yield number, items[-2], new

    def settle(self, number: int, broker: str, end: int) -> int:
        """Set the first offset of a queue at its new broker well after `end`, the reported end of the old
        one; return that offset. Raises `ClientError` for an end before the old queue's start."""
        items = self.brokers[broker].mapping.queues[number]
        old, new = items[-2:]
        if end < old.start_offset:
            raise ClientError(
                f"queue {number}: {broker} reports the end {end}, before its start {old.start_offset}"
            )
        new.logic_offset = round_up(old.logical(end))
        self.brokers[new.broker_name].mapping.queues[number] = [*items]
        return new.logic_offset


def round_up(offset: int) -> int:
    """Return a multiple of `BLOCK` that is at least half a block after the offset."""
    blocks, rest = divmod(offset, BLOCK)
    return (blocks + (1 if rest < BLOCK // 2 else 2)) * BLOCK


def created(
    topic: str, queues: int, targets: Iterable[str], brokers: Mapping[str, BrokerShare], now: int
) -> StaticTopicPlan:
    """Return the plan of a topic with `queues` queues, on the targets and the brokers that have it.

    Raises `ClientError`.
    """
    epoch, known = _known(topic, brokers)
    if queues < len(known):
        raise ClientError(f"a static topic cannot lose queues: {topic} has {len(known)}, not {queues}")
    if queues == len(known):
        raise ClientError(f"{topic} has {queues} queues already; nothing to do")
    plan = StaticTopicPlan(topic, CREATED, _later(epoch, now), dict(deepcopy(brokers)))
    counts = Counter(dict.fromkeys({*targets, *brokers}, 0))
    counts.update(broker for broker, _ in known.values())
    for number in range(len(known), queues):
        broker = _least(counts)
        counts[broker] += 1
        if broker not in plan.brokers:
            plan.brokers[broker] = BrokerShare.empty(topic, broker, queues, plan.epoch)
        item = MappingItem(0, plan.brokers[broker].add_queue(), broker, 0)
        plan.brokers[broker].mapping.queues[number] = [item]
    return _finished(plan, queues)


def moved(
    topic: str, targets: Iterable[str], brokers: Mapping[str, BrokerShare], now: int
) -> StaticTopicPlan:
    """Return the plan with all queues on the targets, with a minimum of moves. Raises `ClientError`."""
    epoch, known = _known(topic, brokers)
    plan = StaticTopicPlan(topic, MOVED, _later(epoch, now), dict(deepcopy(brokers)))
    for number, broker in _goals(known, targets).items():
        old, _ = known[number]
        if broker not in plan.brokers:
            plan.brokers[broker] = BrokerShare.empty(topic, broker, len(known), plan.epoch)
        items = plan.brokers[old].mapping.queues[number]
        item = MappingItem(items[-1].gen + 1, plan.brokers[broker].add_queue(), broker, -1)
        items.append(item)
        plan.brokers[broker].mapping.queues[number] = deepcopy(items)
        plan.into.add(broker)
        plan.out_of.add(old)
    return _finished(plan, len(known))


def check_plan(plan: StaticTopicPlan) -> None:
    """Raise `ClientError` for an inconsistent plan."""
    _known(plan.topic, plan.brokers)


_Led = dict[int, tuple[str, list[MappingItem]]]
"""Broker that leads each queue, and the queue's mapping items."""


def _later(epoch: int, now: int) -> int:
    return max(epoch + _EPOCH_STEP_MILLIS, now)


def _least(counts: Mapping[str, int], before: Mapping[str, int] | None = None) -> str:
    """Return the broker with the fewest queues; of several the one that had most before, then by name."""
    had = before or {}
    return min(counts, key=lambda name: (counts[name], -had.get(name, 0), name))


def _goals(known: _Led, targets: Iterable[str]) -> dict[int, str]:
    """Return the target brokers of the queues that move. A broker keeps queues up to its share."""
    before = Counter(broker for broker, _ in known.values())
    shares = Counter(dict.fromkeys(targets, 0))
    for _ in known:
        shares[_least(shares, before)] += 1
    homeless = []
    for number, (broker, _) in sorted(known.items()):
        if shares[broker] > 0:
            shares[broker] -= 1
        else:
            homeless.append(number)
    return dict(zip(homeless, sorted(shares.elements()), strict=True))


def _finished(plan: StaticTopicPlan, total: int) -> StaticTopicPlan:
    for one in plan.brokers.values():
        one.mapping.epoch = plan.epoch
        one.mapping.total_queues = total
    check_plan(plan)
    return plan


def _known(topic: str, brokers: Mapping[str, BrokerShare]) -> tuple[int, _Led]:
    """Return the epoch and all queues. Raises `ClientError` if brokers contradict each other."""
    epochs = {one.mapping.epoch for one in brokers.values()}
    totals = {one.mapping.total_queues for one in brokers.values()}
    for name, one in sorted(brokers.items()):
        mapping = one.mapping
        if (mapping.topic, mapping.broker_name) != (topic, name):
            raise ClientError(f"broker {name} has the mapping of {mapping.topic} at {mapping.broker_name}")
        _check_queues(name, one, brokers)
    for what, found in (("epochs", epochs), ("numbers of queues", totals)):
        if len(found) > 1:
            raise ClientError(
                f"{what} of {topic} differ between brokers: {', '.join(map(str, sorted(found)))}"
            )
    led: _Led = {}
    for name, one in sorted(brokers.items()):
        for number, items in one.mapping.queues.items():
            if one.mapping.leads(number):
                if number in led:
                    raise ClientError(f"both {led[number][0]} and {name} lead queue {number} of {topic}")
                led[number] = name, items
    if sorted(led) != list(range(max(totals, default=0))):
        raise ClientError(f"{topic} has {max(totals)} queues, but only {sorted(led)} have a leader")
    taken = Counter((item.broker_name, item.queue_id) for _, items in led.values() for item in items)
    if twice := [place for place, count in taken.items() if count > 1]:
        raise ClientError(f"two queues of {topic} are mapped to the same queue of a broker: {twice[0]}")
    return max(epochs, default=0), led


def _check_queues(name: str, one: BrokerShare, brokers: Mapping[str, BrokerShare]) -> None:
    if one.config.read_queue_nums < one.config.write_queue_nums:
        raise ClientError(f"broker {name} has fewer read queues than write queues")
    for number, items in one.mapping.queues.items():
        try:
            check(items)
        except MappingRefused as error:
            raise ClientError(f"queue {number} at broker {name}: {error}") from None
        for item in items:
            there = brokers.get(item.broker_name)
            if there is None:
                raise ClientError(
                    f"queue {number} is mapped to {item.broker_name}, which does not have the topic"
                )
            if item.start_offset or item.queue_id >= there.config.write_queue_nums:
                raise ClientError(
                    f"queue {number} is mapped to a queue that {item.broker_name} does not have: {item}"
                )
