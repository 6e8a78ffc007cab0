"""A coordinator of groups in memory, and requests to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

from twisted.internet.defer import Deferred

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.steps import Steps, run
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from mqgateway.gateway.kafka.codec.messages.consumer_group_heartbeat_response import (
    ConsumerGroupHeartbeatResponse,
)
from mqgateway.gateway.kafka.codec.messages.heartbeat_request import HeartbeatRequest
from mqgateway.gateway.kafka.codec.messages.join_group_request import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
)
from mqgateway.gateway.kafka.codec.messages.join_group_response import JoinGroupResponse
from mqgateway.gateway.kafka.codec.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from mqgateway.gateway.kafka.codec.messages.leave_group_response import LeaveGroupResponse
from mqgateway.gateway.kafka.codec.messages.offset_commit_request import OffsetCommitRequest
from mqgateway.gateway.kafka.codec.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from mqgateway.gateway.kafka.codec.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from mqgateway.gateway.kafka.codec.messages.sync_group_request import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from mqgateway.gateway.kafka.codec.messages.sync_group_response import SyncGroupResponse
from mqgateway.gateway.kafka.consumer_groups.group import ModernGroup
from mqgateway.gateway.kafka.consumer_groups.settings import ConsumerGroupSettings
from mqgateway.gateway.kafka.coordinator.commits import OffsetBatch
from mqgateway.gateway.kafka.coordinator.coordinator import Coordinator
from mqgateway.gateway.kafka.coordinator.group import Group, GroupState
from mqgateway.gateway.kafka.coordinator.group_records import by_topic
from mqgateway.gateway.kafka.coordinator.member import RequestSender
from mqgateway.gateway.kafka.coordinator.records import Committed, OffsetKey
from mqgateway.gateway.kafka.coordinator.records_log import MemoryRecordsLog, RecordsLog
from mqgateway.gateway.kafka.coordinator.settings import DAY, GroupSettings
from mqgateway.gateway.kafka.coordinator.shared_offsets import SharedInMemory
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicPartition, TopicsInMemory
from mqgateway.gateway.kafka.share_groups.group import ShareGroup
from mqgateway.gateway.kafka.share_groups.settings import ShareGroupSettings

SESSION, REBALANCE = 10_000, 30_000
TOPIC_ID = b"t" * 16


def subscription(*topics: str) -> bytes:
    """Return what a consumer says of its topics."""
    texts = b"".join(len(topic).to_bytes(2, "big") + topic.encode() for topic in topics)
    return b"\0\0" + len(topics).to_bytes(4, "big") + texts + b"\xff\xff\xff\xff"


def end_with(outcome: Deferred[None] | None, done: Deferred[None]) -> None:
    """Let a Deferred end as the outcome of a task does."""
    if isinstance(outcome, Deferred):
        outcome.chainDeferred(done)
    else:
        done.callback(None)


class Answered(list[JoinGroupResponse]):
    """The answers to a join: none while it waits."""

    @property
    def one(self) -> JoinGroupResponse:
        """The only answer."""
        assert len(self) == 1, self
        return self[0]


class Groups:
    """A coordinator with a clock moved by hand. Ids of members are numbered."""

    def __init__(
        self,
        settings: GroupSettings | None = None,
        log: RecordsLog | None = None,
        clock: ManualClock | None = None,
        shared: SharedInMemory | None = None,
        catalog: TopicsInMemory | None = None,
    ) -> None:
        self.clock = clock or ManualClock()
        self.log = log if log is not None else MemoryRecordsLog()
        self.shared = shared or SharedInMemory({"orders": TOPIC_ID})
        self.catalog = catalog or TopicsInMemory({"orders": 4})
        self.consumer_settings = ConsumerGroupSettings()
        self.share_settings = ShareGroupSettings()
        self.held: list[tuple[Steps[Deferred[None] | None], Deferred[None]]] | None = None
        numbers = count(1)
        self.coordinator = Coordinator(
            settings or GroupSettings(),
            self.clock,
            self.log,
            self.shared,
            self.catalog,
            self.catalog,
            new_id=lambda: str(next(numbers)),
            retention=lambda: 3 * DAY,
            run_steps=self._run_steps,
            consumer_settings=lambda group_id: self.consumer_settings,
            share_settings=lambda group_id: self.share_settings,
        )
        for _ in self.coordinator.load():
            pass

    def _run_steps(self, steps: Steps[Deferred[None] | None]) -> Deferred[None]:
        """Run steps at once, or keep them while `held` is a list."""
        done: Deferred[None] = Deferred()
        if self.held is None:
            end_with(run(steps), done)
        else:
            self.held.append((steps, done))
        return done

    def run_held(self) -> None:
        """Run the steps that were kept, and those that they bring about."""
        assert self.held is not None
        while self.held:
            steps, done = self.held.pop(0)
            end_with(run(steps), done)

    def restarted(self) -> Groups:
        """Return a coordinator of the same log."""
        return Groups(self.coordinator.settings, self.log, self.clock, self.shared, self.catalog)

    def pass_time(self, millis: int, step: int = 100) -> None:
        """Let time pass, with the ticks that belong to it."""
        for _ in range(0, millis, step):
            self.clock.advance(step)
            if isinstance(self.log, MemoryRecordsLog):
                self.log.time = self.clock.millis()
            self.coordinator.tick()

    def pass_until(self, state: GroupState) -> None:
        """Let time pass until group g is in a state, a minute at most."""
        for _ in range(600):
            if self.group().state is state:
                return
            self.pass_time(100)
        raise AssertionError(self.group().state)

    def leap(self, millis: int) -> None:
        """Let much time pass at once."""
        self.pass_time(millis, millis)
        self.coordinator.tick()

    def group(self, group_id: str = "g") -> Group:
        """Return a classic group that is there."""
        group = self.coordinator.groups.get(group_id)
        assert isinstance(group, Group)
        return group

    def consumers(self, group_id: str = "g") -> ModernGroup:
        """Return a consumer group that is there."""
        group = self.coordinator.groups.get(group_id)
        assert isinstance(group, ModernGroup)
        return group

    def consumer_heartbeat(
        self, member_id: str = "m", epoch: int = 0, **more: Any
    ) -> ConsumerGroupHeartbeatResponse:
        """Send a heartbeat of a consumer group that is answered at once; return its answer."""
        [answer] = self.send_consumer_heartbeat(member_id, epoch, **more)
        return answer

    def send_consumer_heartbeat(
        self,
        member_id: str = "m",
        epoch: int = 0,
        *,
        group: str = "g",
        version: int = 1,
        topics: Sequence[str] | None = None,
        owned: Iterable[TopicPartition] | None = None,
        shows: Callable[[str], bool] = lambda name: True,
        **more: Any,
    ) -> list[ConsumerGroupHeartbeatResponse]:
        """Send a heartbeat; return the list of answers. One that joins says what it has to."""
        request = ConsumerGroupHeartbeatRequest(group, member_id, epoch, **more)
        request.subscribed_topic_names = topics
        if owned is not None:
            request.topic_partitions = [TopicPartitions(*one) for one in by_topic(owned)]
        if epoch == 0:
            request.topic_partitions = request.topic_partitions or ()
            if topics is None and request.subscribed_topic_regex is None:
                request.subscribed_topic_names = ["orders"]
            if request.rebalance_timeout_ms == -1:
                request.rebalance_timeout_ms = REBALANCE
        answered: list[ConsumerGroupHeartbeatResponse] = []
        self.coordinator.consumers.heartbeats.heartbeat(
            request, RequestSender("c", "/127.0.0.1"), version, shows
        ).addCallback(answered.append)
        return answered

    def shares(self, group_id: str = "g") -> ShareGroup:
        """Return a share group that is there."""
        group = self.coordinator.shares.get(group_id)
        assert group is not None
        return group

    def share_heartbeat(
        self, member_id: str = "m", epoch: int = 0, **more: Any
    ) -> ShareGroupHeartbeatResponse:
        """Send a heartbeat of a share group that is answered at once; return its answer."""
        [answer] = self.send_share_heartbeat(member_id, epoch, **more)
        return answer

    def send_share_heartbeat(
        self,
        member_id: str = "m",
        epoch: int = 0,
        *,
        group: str = "g",
        topics: Sequence[str] | None = None,
    ) -> list[ShareGroupHeartbeatResponse]:
        """Send a heartbeat; return the list of answers. One that joins subscribes to `orders`."""
        names = ["orders"] if epoch == 0 and topics is None else topics
        request = ShareGroupHeartbeatRequest(group, member_id, epoch, None, names)
        answered: list[ShareGroupHeartbeatResponse] = []
        self.coordinator.shares.heartbeats.heartbeat(request, RequestSender("c", "/127.0.0.1")).addCallback(
            answered.append
        )
        return answered

    def join(
        self,
        member_id: str = "",
        *,
        group: str = "g",
        instance: str | None = None,
        protocols: Iterable[tuple[str, bytes]] = (("range", b"meta"),),
        protocol_type: str = "consumer",
        client: str = "c",
        session: int = SESSION,
        rebalance: int = REBALANCE,
        version: int = 9,
    ) -> Answered:
        """Join; return the list of answers."""
        request = JoinGroupRequest(
            group,
            session,
            rebalance,
            member_id,
            instance,
            protocol_type,
            tuple(JoinGroupRequestProtocol(*protocol) for protocol in protocols),
        )
        answered = Answered()
        self.coordinator.membership.join(
            request, RequestSender(client, "/127.0.0.1"), version, answered.append
        )
        return answered

    def added(self, **arguments: object) -> tuple[str, Answered]:
        """Ask for an id and join with it; return both."""
        first = self.join(**arguments).one  # type: ignore[arg-type]
        assert first.error_code == ErrorCode.MEMBER_ID_REQUIRED
        return first.member_id, self.join(first.member_id, **arguments)  # type: ignore[arg-type]

    def sync(
        self,
        member_id: str,
        generation: int | None = None,
        assignments: dict[str, bytes] | None = None,
        *,
        instance: str | None = None,
        protocol_type: str | None = None,
        protocol: str | None = None,
    ) -> list[SyncGroupResponse]:
        """Sync; return the list of answers."""
        answered: list[SyncGroupResponse] = []
        brought = tuple(SyncGroupRequestAssignment(*one) for one in (assignments or {}).items())
        request = SyncGroupRequest(
            "g",
            self.group().generation if generation is None else generation,
            member_id,
            instance,
            protocol_type,
            protocol,
            brought,
        )
        self.coordinator.membership.sync(request, answered.append)
        return answered

    def heartbeat(
        self, member_id: str, generation: int | None = None, instance: str | None = None
    ) -> ErrorCode:
        """Send a heartbeat."""
        number = self.group().generation if generation is None else generation
        return self.coordinator.membership.heartbeat(HeartbeatRequest("g", number, member_id, instance))

    def leave(self, *members: MemberIdentity) -> LeaveGroupResponse:
        """Leave, by version 5."""
        return run(self.coordinator.membership.leave(LeaveGroupRequest("g", members=members), 5))

    def stable(self, *subscriptions: bytes, rebalance: int = REBALANCE) -> list[str]:
        """Bring a group of so many members to its first generation; return their ids."""
        metadata = subscriptions or (b"meta",)
        members = [self.added(protocols=(("range", one),), rebalance=rebalance)[0] for one in metadata]
        self.pass_until(GroupState.COMPLETING)
        leader = self.group().leader or ""
        answers = [self.sync(one) for one in members if one != leader]
        answers.append(self.sync(leader, None, {one: one.encode() for one in members}))
        assert all(len(answer) == 1 and not answer[0].error_code for answer in answers)
        return members

    def commit_error(
        self, member_id: str = "", generation: int = -1, *, version: int = 9, instance: str | None = None
    ) -> ErrorCode:
        """Return why a commit is refused."""
        request = OffsetCommitRequest("g", generation, member_id, instance)
        return self.coordinator.commits.error(request, version)

    def commit(self, partition: int, offset: int, topic: str = "orders", **more: object) -> None:
        """Commit an offset of group g."""
        committed = Committed(offset, 0, "m", self.clock.millis(), topic_id=TOPIC_ID, **more)  # type: ignore[arg-type]
        done: list[object] = []
        key = OffsetKey("g", topic, partition)
        batch = OffsetBatch()
        batch.add(key, committed)
        self.coordinator.commits.commit(batch).addCallback(done.append)
        assert done == [None]

    def committed(self, partition: int = 0, topic: str = "orders") -> int | None:
        """Return how far group g is."""
        known = self.coordinator.commits.committed(OffsetKey("g", topic, partition))
        return None if known is None else known.offset
