"""EndTransaction: a producer says how one of its transactions ends.

It names the transaction by the key of its message. Where the half message lies is kept in memory for as many
as `maxRememberedTransactions` says; of another one the index of the log tells. So there is no time after
which an end is not taken. Standard: `EndTransactionActivity`, `TransactionService`.
"""

from __future__ import annotations

from typing import NamedTuple

from twisted.internet.defer import Deferred

from mqgateway.engine.message import PROPERTY_UNIQ_KEY, TRANS_HALF_TOPIC, parse_offset_message_id
from mqgateway.engine.store.key_query import INDEX_UNIQUE
from mqgateway.engine.store.record import decode
from mqgateway.engine.store.results import QueryResult
from mqgateway.engine.transactions import CheckBack
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.consume.query import query_message
from mqgateway.gateway.broker.outcomes import then
from mqgateway.gateway.broker.produce.send import SendOutcome
from mqgateway.gateway.broker.records import half_at
from mqgateway.gateway.broker.transactions.ends import Resolution, TransactionEnd, end_transaction
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.service.names import checked_topic
from mqgateway.gateway.grpc.service.status import OK, Code, Refused, refused_by_proxy

FOREVER = 2**62
COPIES_MAX = 64
"""How many half messages of one key are looked through: a copy is made with each question to the producer."""

_RESOLUTIONS = {
    v2.TransactionResolution.COMMIT: Resolution.COMMIT,
    v2.TransactionResolution.ROLLBACK: Resolution.ROLLBACK,
}


class Place(NamedTuple):
    """Where a half message lies, in its queue and in the log."""

    queue_offset: int
    physical_offset: int


class Transactions:
    """The ends of transactions of one broker."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._places: dict[str, Place] = {}

    def __len__(self) -> int:
        return len(self._places)

    def prepared(self, key: str, outcome: SendOutcome) -> None:
        """A half message was stored."""
        _, _, physical_offset = parse_offset_message_id(outcome.message_id)
        self._remember(key, Place(outcome.queue_offset, physical_offset))

    def asked(self, check: CheckBack) -> None:
        """The producer of a half message was asked about it: a copy of it counts now."""
        if check.unique_key:
            self._remember(check.unique_key, Place(check.queue_offset, check.physical_offset))

    def end(
        self, request: v2.EndTransactionRequest
    ) -> v2.EndTransactionResponse | Deferred[v2.EndTransactionResponse]:
        """Commit it, roll it back, or leave it open."""
        topic = checked_topic(request.topic)
        key = request.transaction_id
        if not key.strip():
            raise Refused(Code.INVALID_TRANSACTION_ID, "transaction id cannot be empty")
        known = self._places.get(key)
        place = self._look_up(topic, key) if known is None else known

        def end(place: Place | None) -> v2.EndTransactionResponse:
            if place is None:
                raise refused_by_proxy(Code.INTERNAL_SERVER_ERROR, "cannot found transaction data")
            self._end(request, topic, place)
            return v2.EndTransactionResponse(status=OK)

        return then(place, end)

    def _end(self, request: v2.EndTransactionRequest, topic: str, place: Place) -> None:
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
        # The caller was authorized for this topic, and the place may be of a transaction of another one.
        now = self._broker.clock.millis()
        end_transaction(self._broker, end, now, lambda half_topic: half_topic == topic)
        if resolution is not Resolution.UNKNOWN:
            self._places.pop(request.transaction_id, None)

    def _remember(self, key: str, place: Place) -> None:
        self._places.pop(key, None)
        if len(self._places) >= self._broker.options.max_remembered_transactions:
            del self._places[next(iter(self._places))]
        self._places[key] = place

    def _look_up(self, topic: str, key: str) -> Place | Deferred[Place | None] | None:
        """The newest half message of this key, as the index has it."""
        found = query_message(self._broker, TRANS_HALF_TOPIC, key, 0, FOREVER, COPIES_MAX, INDEX_UNIQUE)
        return then(found, lambda result: self._newest(result, topic, key))

    def _newest(self, found: QueryResult, topic: str, key: str) -> Place | None:
        newest: Place | None = None
        for record in found.records:
            stored = decode(record)
            half = half_at(self._broker, stored.physical_offset, None)
            if half is None or half.topic != topic or stored.properties.get(PROPERTY_UNIQ_KEY) != key:
                continue
            if newest is None or stored.queue_offset > newest.queue_offset:
                newest = Place(stored.queue_offset, stored.physical_offset)
        return newest
