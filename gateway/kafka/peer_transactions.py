"""Transactions over several broker groups: the first group coordinates them, others have partitions of them.

The leader of a partition asks the coordinator whether a transaction has it, and is sent the marker that ends
the transaction there. Kafka: `AddPartitionsToTxnManager`, `TransactionMarkerChannelManager`, which send
AddPartitionsToTxn and WriteTxnMarkers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine import json_members
from mqgateway.gateway.broker.operations import OperationError, Operations, PeerOperations
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.topics import Topics
from mqgateway.gateway.kafka.verification import NotVerified, Verify

VERIFY: Final = "verifyTransaction"
ID, PRODUCER, EPOCH, TOPIC, PARTITION, ADDS = "id", "producer", "epoch", "topic", "partition", "adds"
CODE, MESSAGE = "code", "message"

Fields = Mapping[str, Any]


def verification(operations: Operations, topics: Topics, verify: Verify) -> Verify:
    """Return the function that asks the coordinator; `verify` asks this broker's. `topics` are those of all
    groups.

    This broker answers other groups with its own from now on, if it coordinates.
    """
    peers = operations.peers
    if peers is None:
        return verify
    if peers.names[0] == peers.own:
        peers.serve(VERIFY, lambda fields: _answered(topics, verify, fields))
        return verify
    return _Remote(peers).verify


class _Remote:
    """The coordinator of transactions in the first group."""

    def __init__(self, peers: PeerOperations) -> None:
        self._peers = peers

    def verify(
        self, transactional_id: str, producer_id: int, epoch: int, topic: str, partition: int, *, adds: bool
    ) -> Deferred[None]:
        """See `verification.Verify`."""
        fields = {
            ID: transactional_id,
            PRODUCER: producer_id,
            EPOCH: epoch,
            TOPIC: topic,
            PARTITION: partition,
            ADDS: adds,
        }
        return self._peers.ask(self._peers.names[0], VERIFY, fields).addCallbacks(_verified, _not_asked)


def _answered(topics: Topics, verify: Verify, fields: Fields) -> Fields | Deferred[Fields]:
    """Return this coordinator's answer to another group. Raises `ConfigError`.

    A topic that was made just now is not known here yet: its partitions would get no markers.
    """
    topic = json_members.read(fields, TOPIC, "")
    if topics.find(topic) is None:
        text = f"The coordinator does not know topic {topic} yet."
        return {CODE: int(ErrorCode.COORDINATOR_NOT_AVAILABLE), MESSAGE: text}

    def refused(failure: Failure) -> Fields:
        error = failure.value
        if not isinstance(error, NotVerified):
            failure.raiseException()
        return {CODE: int(error.code), MESSAGE: str(error)}

    verified = verify(
        json_members.read(fields, ID, ""),
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
