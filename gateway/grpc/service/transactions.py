"""EndTransaction: a producer says how one of its transactions ends.

It names the transaction by the key of its message. Where the half message lies is kept in memory for as many
as `maxRememberedTransactions` says; of another one the index of the log tells. So there is no time after
which an end is not taken. Standard: `EndTransactionActivity`, `TransactionService`.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from mqgateway.engine.message import parse_offset_message_id
from mqgateway.engine.transactions import CheckBack
from mqgateway.gateway.broker.operations import (
    HalfPlace,
    Operations,
    Permit,
    Resolution,
    SendOutcome,
    TransactionEnd,
)
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.service.names import checked_topic
from mqgateway.gateway.grpc.service.status import OK, CallRefused, Code, refused_by_proxy
from mqgateway.gateway.runtime.outcomes import then

_RESOLUTIONS = {
    v2.TransactionResolution.COMMIT: Resolution.COMMIT,
    v2.TransactionResolution.ROLLBACK: Resolution.ROLLBACK,
}


class TransactionEnds:
    """The ends of transactions of one broker."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations.transactions
        self._options = operations.options
        self._places: dict[str, HalfPlace] = {}

    def __len__(self) -> int:
        return len(self._places)

    def prepared(self, key: str, outcome: SendOutcome) -> None:
        """Note that a half message was stored."""
        _, _, physical_offset = parse_offset_message_id(outcome.message_id)
        self._remember(key, HalfPlace(outcome.queue_offset, physical_offset))

    def checked(self, check: CheckBack) -> None:
        """Count a copy of a half message, as its producer was asked about it."""
        if check.unique_key:
            self._remember(check.unique_key, HalfPlace(check.queue_offset, check.physical_offset))

    def end(
        self, request: v2.EndTransactionRequest, permit: Permit
    ) -> v2.EndTransactionResponse | Deferred[v2.EndTransactionResponse]:
        """Commit it, roll it back, or leave it open."""
        topic = checked_topic(request.topic)
        key = request.transaction_id
        if not key.strip():
            raise CallRefused(Code.INVALID_TRANSACTION_ID, "transaction id cannot be empty")
        known = self._places.get(key)
        place = self._operations.find_half(permit, topic, key) if known is None else known

        def end(place: HalfPlace | None) -> v2.EndTransactionResponse:
            if place is None:
                raise refused_by_proxy(Code.INTERNAL_SERVER_ERROR, "cannot found transaction data")
            self._end(request, permit, topic, place)
            return v2.EndTransactionResponse(status=OK)

        return then(place, end)

    def _end(self, request: v2.EndTransactionRequest, permit: Permit, topic: str, place: HalfPlace) -> None:
        resolution = _RESOLUTIONS.get(request.resolution, Resolution.UNKNOWN)
        end = TransactionEnd(
            resolution=resolution,
            producer_group=topic,
            queue_offset=place.queue_offset,
            physical_offset=place.physical_offset,
            is_answer=request.source == v2.TransactionSource.SOURCE_SERVER_CHECK,
            message_id=request.message_id,
            remark=None,
        )
        # The principal was authorized for this topic; the offsets may be of another topic's message.
        self._operations.end(permit, end, lambda stored: stored == topic)
        if resolution is not Resolution.UNKNOWN:
            self._places.pop(request.transaction_id, None)

    def _remember(self, key: str, place: HalfPlace) -> None:
        self._places.pop(key, None)
        if len(self._places) >= self._options.max_remembered_transactions:
            del self._places[next(iter(self._places))]
        self._places[key] = place
