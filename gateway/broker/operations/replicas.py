"""Replicas of the broker's group: their nodes for clients of a front end, the leader, and its epochs.

An epoch is that of the controller, the term of a DLedger group, or 0. Nothing here shows a message or changes
one, so that it takes no permit.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from mqgateway.engine.ha.epochs import ENDLESS, Epoch, end_of_epoch
from mqgateway.engine.ha.group_nodes import NO_VIEW, NodesView
from mqgateway.gateway.broker.broker import Broker

UNKNOWN_EPOCH: Final = -1
BEGINS_KEPT: Final = 10_000
"""Queues whose offset at the beginning of the current epoch is kept."""


class EpochOffset(NamedTuple):
    """An epoch, and the queue offset at which its messages end; both are -1 for an unknown one."""

    epoch: int
    end: int


NO_EPOCH_OFFSET: Final = EpochOffset(UNKNOWN_EPOCH, -1)


class ReplicaOperations:
    """The replicas of one broker's group."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._begun = UNKNOWN_EPOCH
        self._begins: dict[tuple[str, int], int] = {}  # offsets at which the epoch `_begun` begins

    @property
    def leads(self) -> bool:
        """True if this broker is the master and ready for messages."""
        return self._broker.role.is_master and self._broker.store.gate is None

    @property
    def epoch(self) -> int:
        """The epoch of this broker, if it leads."""
        return self._broker.leader_epoch

    @property
    def own_id(self) -> int:
        """The id of this broker by its number in the group, -1 while it has none."""
        nodes = self._broker.nodes
        return self._broker.options.broker_id + 1 if nodes is None else nodes.own_id

    def publish(self, node_id: int, host: str, port: int, rack: str) -> None:
        """Report this broker's node to the other members; a negative `node_id` stands for its number."""
        if self._broker.nodes is not None:
            self._broker.nodes.publish(node_id, host, port, rack)

    def tick(self) -> None:
        """Do the work that is due; called several times a second once a node is published."""
        if self._broker.nodes is not None:
            self._broker.nodes.tick()
        if self._broker.peers is not None:
            self._broker.peers.tick()

    def leave(self) -> None:
        """Report to the master that this broker stops; a master has none to report it to."""
        if self._broker.nodes is not None:
            self._broker.nodes.leave()

    @property
    def is_leaving(self) -> bool:
        """True if this broker stops, and has reported it."""
        return self._broker.nodes is not None and self._broker.nodes.is_leaving

    @property
    def serves(self) -> bool:
        """True if this slave may serve readers: it is in sync and keeps up, by its master's last answer."""
        return self._broker.nodes is not None and self._broker.nodes.serves

    def nodes(self) -> NodesView:
        """Return the nodes of the group, as the master sees them; none before one is published."""
        return NO_VIEW if self._broker.nodes is None else self._broker.nodes.view()

    def epoch_end(self, topic: str, queue_id: int, wanted: int, base: int = 0) -> EpochOffset:
        """Return the newest epoch up to `wanted` with the end of its messages in a queue of this master.

        `base` is added to the epochs of this group for a partition that moved to it. An epoch below it is
        one of the group before, whose messages were all copied: it ends with the queue. Epoch 0 ends with the
        queue: messages have it that were stored before the log had epochs, or before batches had them. So do
        all epochs of a DLedger group, as nothing that was read is truncated there.
        """
        broker, current = self._broker, self._broker.leader_epoch
        if wanted > current + base or wanted < 0:
            return NO_EPOCH_OFFSET
        end = broker.store.max_offset(topic, queue_id)
        if wanted < base:
            return EpochOffset(wanted, end)
        if base:
            own = self.epoch_end(topic, queue_id, wanted - base)
            return own._replace(epoch=own.epoch + base)
        if wanted in (0, current) or broker.term is not None or broker.epochs is None:
            return EpochOffset(wanted, end)
        found = end_of_epoch(broker.epochs.entries, wanted)
        if found.end == ENDLESS:
            return EpochOffset(wanted, end)
        return EpochOffset(found.number, broker.store.offset_at_position(topic, queue_id, found.end))

    def epoch_at(self, topic: str, queue_id: int, offset: int) -> int:
        """Return the epoch of the message at an offset, -1 if it is not the current one.

        Clients do not check the epochs of offsets that have none. An epoch that is too old would make them
        believe that messages after it were truncated.
        """
        broker, current = self._broker, self._broker.leader_epoch
        if current == 0 or broker.term is not None or broker.epochs is None:
            return current
        begin = broker.epochs.entries[-1] if broker.epochs.entries else None
        if begin is None or begin.number != current:
            return UNKNOWN_EPOCH
        return current if offset >= self._begin_of(begin, topic, queue_id) else UNKNOWN_EPOCH

    def _begin_of(self, epoch: Epoch, topic: str, queue_id: int) -> int:
        if self._begun != epoch.number or len(self._begins) >= BEGINS_KEPT:
            self._begun = epoch.number
            self._begins.clear()
        begin = self._begins.get((topic, queue_id))
        if begin is None:
            begin = self._broker.store.offset_at_position(topic, queue_id, epoch.start)
            self._begins[topic, queue_id] = begin
        return begin
