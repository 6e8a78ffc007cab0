"""Moves of partitions between broker groups, made by the master of the new group.

It reads the queue from the master of the old group, in parts, until it has nearly all of it. Then the old
master fences the queue, the rest is copied, and the layout of the topic gets the end of the move: that is the
commit point. Everything else is repeated after a crash of either side, as the state of a move is what the
layout and the two queues have. A fence that is not followed by the commit in time ends with the move's
cancellation. Kafka: `ReplicationControlManager.changePartitionReassignment`, `ReplicaFetcherThread`.
"""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine import json_members
from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.ha.group_nodes import NO_NODE
from mqgateway.engine.tables.partition_layout import EPOCH_MAX, MoveState, PartitionLayout, PartitionMove
from mqgateway.gateway.broker.operations import (
    Ends,
    NotCopied,
    OperationError,
    Operations,
    PeerOperations,
    Reason,
    Use,
)
from mqgateway.gateway.kafka.spread_topics import SpreadTopics
from mqgateway.gateway.kafka.topics import Topic, Topics, kafka_name
from mqgateway.gateway.runtime.outcomes import as_deferred

log = logging.getLogger(__name__)

COPY: Final = "copyPartition"
TOPIC, MOVE, OFFSET, FENCES = "topic", "move", "offset", "fences"
START, END, EPOCH, DATA, FENCED, REFUSED = "start", "end", "epoch", "data", "isFenced", "refused"

PART_BYTES: Final = 256 * 1024
"""Bytes that are read at once, if no batch is larger."""
BYTES_A_SECOND: Final = 32 << 20
"""Bytes that a broker copies in a second, of all partitions that move to it."""
MOVES_AT_ONCE: Final = 8
"""Partitions that are copied at once to one broker, which limits the memory of their parts."""
PERIOD_MILLIS: Final = 1000
FENCE_MILLIS: Final = 15_000
"""Time from the fence to the end of a move, after which the move is cancelled."""
EPOCH_STEP: Final = 16
"""Elections of the old group that may follow the fence: no epoch of its leaders is that of the new one."""

Fields = Mapping[str, Any]


class MoveKey(NamedTuple):
    """A move: the topic by RocketMQ's name, and the number of the move in its layout."""

    topic: str
    number: int


class _Part(NamedTuple):
    """Batches of the old group's queue, its ends, and the epoch of its leader. `is_fenced` is True if nothing
    comes after the end."""

    start: int
    end: int
    epoch: int
    data: bytes
    is_fenced: bool


class PartitionMoves:
    """Moves of partitions to, and from, this broker's group. `topics` are those of all groups."""

    def __init__(
        self, operations: Operations, peers: PeerOperations, spread: SpreadTopics, topics: Topics
    ) -> None:
        self._operations = operations
        self._batches = operations.batches
        self._peers = peers
        self._spread = spread
        self._topics = topics
        self._next = 0
        self._version = b""
        self._names: list[str] = []  # topics with moves
        self._budget = self._filled = 0
        self._waiting: list[Deferred[None]] = []
        self._running: set[MoveKey] = set()
        self._problems: dict[MoveKey, str] = {}
        self._fenced: dict[MoveKey, int] = {}  # when the fence was seen first, ms of the monotonic clock

    def serve(self) -> None:
        """Serve the masters of other groups, which copy partitions, from now on."""
        self._peers.serve(COPY, self._received)

    # The old group

    def _received(self, fields: Fields) -> Deferred[Fields]:
        key = MoveKey(json_members.read(fields, TOPIC, ""), json_members.read(fields, MOVE, 0))
        offset = json_members.read(fields, OFFSET, 0, json_members.LONG_BITS)
        topic, move = self._found(key)
        place = None if topic.layout is None else topic.layout.places[move.partition]
        if place is None or place.group != self._peers.own or move.state is not MoveState.PENDING:
            text = (
                f"group {self._peers.own} has no partition of topic {topic.name} that makes move {key.number}"
            )
            raise OperationError(Reason.SERVICE_NOT_AVAILABLE, text)
        copied = self._part(
            key, topic, move, place.queue_id, offset, json_members.read(fields, FENCES, False)
        )
        return Deferred.fromCoroutine(copied)

    async def _part(
        self, key: MoveKey, topic: Topic, move: PartitionMove, queue_id: int, offset: int, fences: bool
    ) -> Fields:
        """Return the answer to a request for a part of a queue. Raises `OperationError`."""
        gate, batches, name = self._operations.gate, self._batches, topic.store_name
        if not self._operations.replicas.leads:
            raise OperationError(Reason.NOT_LEADER_FOR_QUEUE, f"group {self._peers.own} has another master")
        try:
            if fences:
                await batches.fence(gate.internal(Use.SEND), name, queue_id, key.number)
            part = await batches.read_part(gate.internal(Use.PULL), name, queue_id, offset, PART_BYTES)
        except NotCopied as error:
            return {REFUSED: str(error)}
        is_fenced = batches.fence_at(name, queue_id) == key.number
        epoch = self._operations.replicas.epoch + topic.epoch_base(move.partition)
        return {
            START: part.ends.log_start,
            END: part.ends.high_watermark,
            EPOCH: epoch,
            DATA: base64.b64encode(part.data).decode(),
            FENCED: is_fenced,
        }

    def _found(self, key: MoveKey) -> tuple[Topic, PartitionMove]:
        """Return a move with its topic. Raises `OperationError` if this broker does not know it."""
        name = kafka_name(key.topic)
        topic = None if name is None else self._topics.find(name)
        moves = () if topic is None or topic.layout is None else topic.layout.moves
        if topic is None or not 0 <= key.number < len(moves):
            text = f"move {key.number} of topic {key.topic} is not known here yet"
            raise OperationError(Reason.SERVICE_NOT_AVAILABLE, text)
        return topic, moves[key.number]

    # Periodic work

    def tick(self) -> None:
        """Continue what moves; called ten times a second."""
        now = elapsed_millis(self._operations.clock)
        added = BYTES_A_SECOND * (now - self._filled) // 1000
        self._budget, self._filled = min(self._budget + added, BYTES_A_SECOND), now
        if self._budget > 0:
            waiting, self._waiting = self._waiting, []
            for turn in waiting:
                turn.callback(None)
        if now < self._next or not self._operations.replicas.leads:
            return
        self._next = now + PERIOD_MILLIS
        pending: set[MoveKey] = set()
        incoming: list[MoveKey] = []
        for topic, layout in self._moving():
            self._remove_left(topic, layout)
            for move in layout.pending.values():
                key = MoveKey(topic.store_name, move.number)
                pending.add(key)
                if move.target.group == self._peers.own:
                    incoming.append(key)
                elif layout.places[move.partition].group == self._peers.own:
                    self._end_late(key, topic, layout, move, now)
        for key in sorted(incoming, key=self._problems.__contains__):
            if len(self._running) < MOVES_AT_ONCE:
                self._begin(key)
        self._fenced = {key: since for key, since in self._fenced.items() if key in pending}
        self._problems = {key: text for key, text in self._problems.items() if key in pending}

    def _moving(self) -> Iterator[tuple[Topic, PartitionLayout]]:
        """Yield the topics whose layout has moves, and of which this group has queues."""
        version = self._topics.version
        if version != self._version:
            self._version = version
            names = [config.topic_name for config in self._operations.topics.all() if config.attributes]
            self._names = [name for stored in names if (name := kafka_name(stored)) and self._layout(name)]
        for name in self._names:
            topic = self._topics.find(name)
            if topic is not None and topic.layout is not None:
                yield topic, topic.layout

    def _layout(self, name: str) -> PartitionLayout | None:
        """Return the layout of a topic that has moves, None for another topic."""
        topic = self._topics.find(name)
        layout = None if topic is None else topic.layout
        return layout if layout is not None and layout.moves else None

    def _remove_left(self, topic: Topic, layout: PartitionLayout) -> None:
        """Delete the messages of queues that no partition is any more, but for the last batch.

        The fence is among them, so that a slave that becomes master without the layout takes no batches.
        """
        own, name = self._peers.own, topic.store_name
        used = set(layout.partitions(own))
        used |= {move.target.queue_id for move in layout.pending.values() if move.target.group == own}
        for queue_id in range(min(layout.queues(own), topic.queues_here)):
            if queue_id in used:
                continue
            permit = self._operations.gate.internal(Use.DELETE_RECORDS)
            try:
                ends = self._ends(name, queue_id)
                if ends.high_watermark - ends.log_start <= 1:
                    continue
                deleted = self._batches.delete_before(permit, name, queue_id, ends.high_watermark - 1)
            except OperationError as error:
                log.info("queue %d of topic %s is deleted later: %s", queue_id, name, error)
                continue
            as_deferred(deleted).addErrback(
                lambda failure: log.info("a queue is deleted later: %s", failure.getErrorMessage())
            )

    def _end_late(
        self, key: MoveKey, topic: Topic, layout: PartitionLayout, move: PartitionMove, now: int
    ) -> None:
        """Cancel a move whose fence was written some time ago: nothing can be written to the partition."""
        queue_id = layout.places[move.partition].queue_id
        if queue_id >= topic.queues_here or self._batches.fence_at(topic.store_name, queue_id) != key.number:
            return
        if now - self._fenced.setdefault(key, now) >= FENCE_MILLIS:
            self._fenced[key] = now
            self._cancel(key, f"group {move.target.group} did not complete it in {FENCE_MILLIS} ms")

    def _cancel(self, key: MoveKey, reason: str) -> None:
        try:
            topic, move = self._found(key)
        except OperationError:
            return  # the topic is deleted
        log.warning("topic %s: the move of partition %d is cancelled: %s", topic.name, move.partition, reason)
        if topic.layout is not None and move.state is MoveState.PENDING:
            self._change(topic, topic.layout.cancelled(move.partition)).addErrback(
                lambda failure: log.warning("topic %s: %s", topic.name, failure.getErrorMessage())
            )

    def _ends(self, topic: str, queue_id: int) -> Ends:
        return self._batches.ends(self._operations.gate.internal(Use.QUERY), topic, queue_id)

    def _change(self, topic: Topic, layout: PartitionLayout) -> Deferred[None]:
        """Change the layout of a topic. Fails with `OperationError`, also if it has changed meanwhile."""
        return self._spread.extend(self._operations.gate.internal(Use.ADMINISTER), topic, layout)

    # The new group

    def _begin(self, key: MoveKey) -> None:
        """Run a move, unless it runs already."""
        if key not in self._running:
            self._running.add(key)
            Deferred.fromCoroutine(self._run(key)).addErrback(self._failed, key).addBoth(
                lambda _: self._running.discard(key)
            )

    def _failed(self, failure: Failure, key: MoveKey) -> None:
        """Note why a move did not continue. It is tried again in a second, and logged once."""
        if isinstance(failure.value, NotCopied):
            self._cancel(key, failure.getErrorMessage())
            return
        problem = failure.getErrorMessage()
        if not isinstance(failure.value, OperationError | ConfigError):
            log.error("move %d of topic %s: %s", key.number, key.topic, failure.getTraceback())
        elif self._problems.get(key) != problem:
            self._problems[key] = problem
            log.warning("move %d of topic %s waits: %s", key.number, key.topic, problem)

    async def _run(self, key: MoveKey) -> None:
        """Copy a queue to its end and commit the move. Raises `OperationError`, which may be `NotCopied`."""
        fences = False
        offset = -1
        while True:
            topic, move = self._found(key)
            layout, target = topic.layout, move.target
            if layout is None or move.state is not MoveState.PENDING or target.queue_id >= topic.queues_here:
                return  # it ended, or this group's queue is not made yet
            if fences and self._is_silent(topic.group):
                text = f"group {topic.group}, which changes topic {topic.name}, has no leader"
                raise OperationError(Reason.SERVICE_NOT_AVAILABLE, text)
            if offset < 0:
                offset = self._ends(key.topic, target.queue_id).high_watermark
            part = await self._read(key, layout.places[move.partition].group, offset, fences)
            offset = max(offset, part.start)
            if part.data:
                self._budget -= len(part.data)
                permit = self._operations.gate.internal(Use.SEND)
                offset = self._batches.append_part(permit, key.topic, target.queue_id, part.data)
            elif not part.is_fenced and offset < part.end:
                raise OperationError(Reason.SYSTEM_BUSY, f"nothing was read at offset {offset}")
            if part.is_fenced and offset >= part.end:
                await self._commit(key, part)
                return
            fences = fences or len(part.data) < PART_BYTES // 2  # the rest is small
            if self._budget <= 0:
                turn: Deferred[None] = Deferred()
                self._waiting.append(turn)
                await turn

    def _is_silent(self, group: str) -> bool:
        """Return True if the group that would commit a move cannot: the fence would stay meanwhile."""
        return group != "" and self._peers.nodes(group).leader == NO_NODE

    async def _read(self, key: MoveKey, group: str, offset: int, fences: bool) -> _Part:
        fields = {TOPIC: key.topic, MOVE: key.number, OFFSET: offset, FENCES: fences}
        answer = await self._peers.ask(group, COPY, fields)
        refused = json_members.read(answer, REFUSED, "")
        if refused:
            raise NotCopied(Reason.ILLEGAL_OPERATION, refused)
        try:
            data = base64.b64decode(json_members.read(answer, DATA, ""), validate=True)
        except binascii.Error as error:
            raise OperationError(Reason.SYSTEM_ERROR, f"broker group {group}: {error}") from error
        return _Part(
            json_members.read(answer, START, 0, json_members.LONG_BITS),
            json_members.read(answer, END, 0, json_members.LONG_BITS),
            json_members.read(answer, EPOCH, 0),
            data,
            json_members.read(answer, FENCED, False),
        )

    async def _commit(self, key: MoveKey, part: _Part) -> None:
        """Make the copy safe, give it the start of its original, and commit the move."""
        topic, move = self._found(key)
        gate, queue_id = self._operations.gate, move.target.queue_id
        end = await self._batches.settled(gate.internal(Use.SEND), key.topic, queue_id)
        if end != part.end:
            text = f"the copy ends at {end}, the partition at {part.end}"
            raise OperationError(Reason.SYSTEM_BUSY, text)
        permit = gate.internal(Use.DELETE_RECORDS)
        await as_deferred(self._batches.delete_before(permit, key.topic, queue_id, part.start))
        topic, move = self._found(key)
        if topic.layout is None or move.state is not MoveState.PENDING:
            return
        base = max(0, part.epoch + EPOCH_STEP - self._operations.replicas.epoch)
        if base > EPOCH_MAX // 2:
            raise NotCopied(Reason.ILLEGAL_OPERATION, f"the leader epoch {part.epoch} is too large to move")
        await self._change(topic, topic.layout.completed(move.partition, base))
        log.info(
            "topic %s: partition %d moved to group %s, offsets %d to %d",
            topic.name,
            move.partition,
            self._peers.own,
            part.start,
            end,
        )
