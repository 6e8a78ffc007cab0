"""Offsets of transactions whose group another broker group coordinates.

The coordinator of a transaction has the group's coordinator end the offsets that are pending there. Kafka:
`TransactionMarkerChannelManager`, which writes a marker to the partition of `__consumer_offsets`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine import json_members
from mqgateway.gateway.broker.operations import OperationError, PeerOperations, Reason
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten
from mqgateway.gateway.kafka.coordinator.transactional import TransactionalCommits
from mqgateway.gateway.kafka.transactions.status import ProducerEpoch

END_OFFSETS: Final = "endOffsets"
PRODUCER, EPOCH, COMMITS = "producer", "epoch", "commits"

Fields = Mapping[str, Any]


def end_offsets(
    peers: PeerOperations, group: str, producer: ProducerEpoch, is_commit: bool
) -> Deferred[None]:
    """Commit or drop the pending offsets of a producer in another group. Fails with `OperationError`."""
    fields = {PRODUCER: producer.producer_id, EPOCH: producer.epoch, COMMITS: is_commit}
    return peers.ask(group, END_OFFSETS, fields).addCallback(lambda _: None)


def serve_offsets(peers: PeerOperations, offsets: TransactionalCommits) -> None:
    """End pending offsets of this broker when other groups request it."""

    def serve(fields: Fields) -> Deferred[Fields]:
        ended = offsets.complete(
            json_members.read(fields, PRODUCER, 0, json_members.LONG_BITS),
            json_members.read(fields, EPOCH, 0),
            json_members.read(fields, COMMITS, False),
        )
        return ended.addCallbacks(lambda _: dict[str, Any](), _refused)

    peers.serve(END_OFFSETS, serve)


def _refused(failure: Failure) -> Fields:
    if not isinstance(failure.value, NotWritten):
        failure.raiseException()
    raise OperationError(Reason.SERVICE_NOT_AVAILABLE, failure.getErrorMessage())
