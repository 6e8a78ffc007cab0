"""What is asked of a popped message, which its receipt names: acknowledgements and changes of its time."""

from __future__ import annotations

from typing import NamedTuple

from mqgateway.engine.pop import OrderKey, Orders, Receipt
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.errors import OperationError, Reason


class Delivery(NamedTuple):
    """A delivered message: `topic` is where it is stored, `receipt` the text of its receipt.

    A message of a lite topic names that, and the parent as its `topic`.
    """

    group: str
    topic: str
    queue_id: int
    receipt: str
    offset: int
    lite_topic: str | None


def is_out(broker: Broker, orders: Orders, key: OrderKey, offset: int, pop_time: int) -> bool:
    """Return True if a message that was popped in order at a time (ms) may still be acknowledged."""
    consumed = broker.tables.offsets.query(key.group, key.topic, key.queue_id)
    return offset >= consumed and orders.is_out(key, offset, pop_time)


def stale() -> OperationError:
    """The refusal of a receipt that is not current: whatever is asked with it, nothing changes."""
    return OperationError(
        Reason.RECEIPT_STALE,
        "the receipt is no longer current: its message was acknowledged, has another receipt since its "
        "invisible time was changed, or is visible again",
    )


def parse_receipt(text: str) -> Receipt:
    """The receipt; refused where it is none."""
    try:
        return Receipt.parse(text)
    except ValueError as error:
        raise OperationError(Reason.SYSTEM_ERROR, f"the receipt cannot be read: {error}") from None
