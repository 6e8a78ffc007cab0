"""Queues of a static topic that move about, and a list for each: consumers read the list, in order."""

from __future__ import annotations

import os

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import (
    GetMaxOffsetRequestHeader,
    GetMinOffsetRequestHeader,
    QueryConsumerOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from tests.support.gateway.broker.clusters import TOPIC, Cluster

HISTORIES = int(os.environ.get("MQGATEWAY_HISTORIES", "12"))
NAMES = ("a", "b", "c")
QUEUES = (0, 1)
ANY_QUEUE, ANY_BROKER = st.sampled_from(QUEUES), st.sampled_from(NAMES)


class Histories(RuleBasedStateMachine):
    """`sent` are the bodies of each queue, `read` how many of them a group has consumed."""

    def __init__(self) -> None:
        super().__init__()
        self.brokers = Cluster(*NAMES)
        self.brokers.create("a", "b")
        for member in self.brokers.brokers.values():
            member.broker.tables.groups.find("G")
        self.sent: dict[int, list[bytes]] = {queue: [] for queue in QUEUES}
        self.read = dict.fromkeys(QUEUES, 0)
        self.is_moving = dict.fromkeys(QUEUES, False)
        self.last_max = dict.fromkeys(QUEUES, 0)

    def leader(self, queue: int) -> str:
        return self.brokers.items_of(queue)[-1].broker_name

    @rule(queue=ANY_QUEUE, count=st.integers(1, 40))
    def send(self, queue: int, count: int) -> None:
        bodies = [b"%d-%d" % (queue, len(self.sent[queue]) + one) for one in range(count)]
        offsets = self.brokers.fill(self.leader(queue), *bodies, queue_id=queue)
        assert all((offset == -1) == self.is_moving[queue] for offset in offsets)
        assert offsets == sorted(offsets)
        self.sent[queue] += bodies

    @rule(queue=ANY_QUEUE, to=ANY_BROKER, at_once=st.booleans(), end=st.booleans())
    def move(self, queue: int, to: str, at_once: bool, end: bool) -> None:
        if self.is_moving[queue]:
            self.brokers.begin(queue, end=end)
            self.is_moving[queue] = False
        if to != self.leader(queue):
            self.brokers.move(queue, to, begin=at_once, end=end)
            self.is_moving[queue] = not at_once

    @rule(queue=ANY_QUEUE, most=st.integers(1, 50))
    def consume(self, queue: int, most: int) -> None:
        """Continue from the offset of the group, which the leader of the queue has."""
        member = self.brokers[self.leader(queue)]
        place = QueryConsumerOffsetRequestHeader(
            consumer_group="G", topic=TOPIC, queue_id=queue, set_zero_if_not_found=False
        )
        answer = member.ask(RequestCode.QUERY_CONSUMER_OFFSET, place)
        assert answer.code in (ResponseCode.SUCCESS, ResponseCode.QUERY_NOT_FOUND)
        start = int(answer.ext.get("offset", 0))
        found = self.brokers.read(self.leader(queue), start, queue_id=queue)[:most]
        assert [body for _, body in found] == self.visible(queue)[self.read[queue] :][:most]
        if found:
            header = UpdateConsumerOffsetRequestHeader(
                consumer_group="G", topic=TOPIC, queue_id=queue, commit_offset=found[-1][0] + 1
            )
            assert member.ask(RequestCode.UPDATE_CONSUMER_OFFSET, header).code == 0
            self.read[queue] += len(found)

    def visible(self, queue: int) -> list[bytes]:
        """Return the bodies sent, without those in a mapping item that has no begin yet."""
        hidden = 0
        if self.is_moving[queue]:
            last = self.brokers.items_of(queue)[-1]
            hidden = self.brokers[last.broker_name].broker.store.max_offset(TOPIC, last.queue_id)
        bodies = self.sent[queue]
        return bodies[: len(bodies) - hidden]

    @precondition(lambda self: any(self.sent.values()))
    @invariant()
    def everything_is_there_in_order(self) -> None:
        for queue in QUEUES:
            found = self.brokers.read(self.leader(queue), queue_id=queue)
            assert [body for _, body in found] == self.visible(queue)
            offsets = [offset for offset, _ in found]
            assert offsets == sorted(set(offsets))
            self.check_ends(queue, offsets)

    def check_ends(self, queue: int, offsets: list[int]) -> None:
        member = self.brokers[self.leader(queue)]
        least = member.ask(RequestCode.GET_MIN_OFFSET, GetMinOffsetRequestHeader(topic=TOPIC, queue_id=queue))
        most = member.ask(RequestCode.GET_MAX_OFFSET, GetMaxOffsetRequestHeader(topic=TOPIC, queue_id=queue))
        assert int(least.ext["offset"]) == 0
        assert int(most.ext["offset"]) >= max(
            self.last_max[queue], *(offset + 1 for offset in [*offsets, -1])
        )
        self.last_max[queue] = int(most.ext["offset"])


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=HISTORIES, stateful_step_count=20, deadline=None)
