"""Operations on popped messages, which receipts identify: acknowledge, change the invisible time."""

from __future__ import annotations

from typing import NamedTuple

from mqgateway.engine.pop import OrderKey, Orders, Receipt
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.errors import OperationError, Reason


class Delivery(NamedTuple):
    """A delivered message: `topic` is where it is stored, `receipt` the text of its receipt.

    A message of a lite topic has its lite topic, and the parent as its `topic`.
    """

    group: str
    topic: str
    queue_id: int
    receipt: str
    offset: int
    lite_topic: str | None


def is_out(broker: Broker, orders: Orders, key: OrderKey, offset: int, pop_time: int) -> bool:
    """Return True if a message popped in order at `pop_time` (ms) may still be acknowledged."""
    consumed = broker.tables.offsets.query(key.group, key.topic, key.queue_id)
    return offset >= consumed and orders.is_out(key, offset, pop_time)


def stale() -> OperationError:
    """Return the refusal of a stale receipt: no operation with it changes anything."""
    return OperationError(
        Reason.RECEIPT_STALE,
        "the receipt is no longer current: its message was acknowledged, has another receipt since its "
        "invisible time was changed, or is visible again",
    )


def parse_receipt(text: str) -> Receipt:
    """Parse a receipt. Raises `OperationError` if the text is not a receipt."""
    try:
        return Receipt.parse(text)
    except ValueError as error:
        raise OperationError(Reason.SYSTEM_ERROR, f"the receipt cannot be read: {error}") from None
