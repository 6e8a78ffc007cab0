"""Transactions over several broker groups: one of them coordinates a transactional id, and others have
partitions of its transactions.

The leader of a partition asks the coordinator whether a transaction has it, and is sent the marker that ends
the transaction there. Kafka: `AddPartitionsToTxnManager`, `TransactionMarkerChannelManager`, which send
AddPartitionsToTxn and WriteTxnMarkers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from twisted.internet.defer import Deferred, fail
from twisted.python.failure import Failure

from mqgateway.engine import json_members
from mqgateway.gateway.broker.operations import OperationError, Operations, PeerOperations
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.coordinator_partitions import CoordinatorPartitions
from mqgateway.gateway.kafka.topics import Topics
from mqgateway.gateway.kafka.verification import NotVerified, Verify

VERIFY: Final = "verifyTransaction"
ID, PRODUCER, EPOCH, TOPIC, PARTITION, ADDS = "id", "producer", "epoch", "topic", "partition", "adds"
CODE, MESSAGE = "code", "message"

Fields = Mapping[str, Any]


def verification(
    operations: Operations, topics: Topics, partitions: CoordinatorPartitions, verify: Verify
) -> Verify:
    """Return the function that asks the coordinator of an id; `verify` asks this broker's.

    `topics` are those of all groups, `partitions` those of transactional ids. This broker answers other
    groups with its own from now on.
    """
    peers = operations.peers
    if peers is None:
        return verify
    peers.serve(VERIFY, lambda fields: _answered(topics, partitions, verify, fields))
    return _Coordinators(peers, partitions, verify).verify


class _Coordinators:
    """The coordinators of transactions in all groups; `verify` asks this broker's."""

    def __init__(self, peers: PeerOperations, partitions: CoordinatorPartitions, verify: Verify) -> None:
        self._peers = peers
        self._partitions = partitions
        self._verify = verify

    def verify(
        self, transactional_id: str, producer_id: int, epoch: int, topic: str, partition: int, *, adds: bool
    ) -> Deferred[None]:
        """See `verification.Verify`."""
        place = self._partitions.place(transactional_id)
        if place is None:
            text = "The coordinators of transactions are not known yet."
            return fail(NotVerified(ErrorCode.COORDINATOR_NOT_AVAILABLE, text))
        if not place.group:
            return self._verify(transactional_id, producer_id, epoch, topic, partition, adds=adds)
        fields = {
            ID: transactional_id,
            PRODUCER: producer_id,
            EPOCH: epoch,
            TOPIC: topic,
            PARTITION: partition,
            ADDS: adds,
        }
        return self._peers.ask(place.group, VERIFY, fields).addCallbacks(_verified, _not_asked)


def _answered(
    topics: Topics, partitions: CoordinatorPartitions, verify: Verify, fields: Fields
) -> Fields | Deferred[Fields]:
    """Return this coordinator's answer to another group. Raises `ConfigError`.

    A topic that was made just now is not known here yet: its partitions would get no markers.
    """
    topic, transactional_id = json_members.read(fields, TOPIC, ""), json_members.read(fields, ID, "")
    error = partitions.error(transactional_id)
    if error:
        return {CODE: int(error), MESSAGE: f"Transactional id {transactional_id} has another coordinator."}
    if topics.find(topic) is None:
        text = f"The coordinator does not know topic {topic} yet."
        return {CODE: int(ErrorCode.COORDINATOR_NOT_AVAILABLE), MESSAGE: text}

    def refused(failure: Failure) -> Fields:
        error = failure.value
        if not isinstance(error, NotVerified):
            failure.raiseException()
        return {CODE: int(error.code), MESSAGE: str(error)}

    verified = verify(
        transactional_id,
        json_members.read(fields, PRODUCER, 0, json_members.LONG_BITS),
        json_members.read(fields, EPOCH, 0),
        topic,
        json_members.read(fields, PARTITION, 0),
        adds=json_members.read(fields, ADDS, False),
    )
    return verified.addCallbacks(lambda _: {CODE: 0}, refused)


def _verified(answer: Fields) -> None:
    code = json_members.read(answer, CODE, 0)
    if code:
        raise NotVerified(ErrorCode(code), json_members.read(answer, MESSAGE, ""))


def _not_asked(failure: Failure) -> None:
    if not isinstance(failure.value, OperationError):
        failure.raiseException()
    raise NotVerified(ErrorCode.COORDINATOR_NOT_AVAILABLE, failure.getErrorMessage())
