"""What is asked of a popped message, which its receipt names: acknowledgements and changes of its time."""

from __future__ import annotations

from typing import Protocol

from mqgateway.engine.pop import OrderKey, Orders, Receipt
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.errors import OperationError, Reason


class AckRequest(Protocol):
    """Which message was consumed; `extra_info` is its receipt, `topic` where it lies.

    A message of a lite topic names that topic, and the parent as its `topic`.
    """

    @property
    def consumer_group(self) -> str: ...
    @property
    def topic(self) -> str: ...
    @property
    def queue_id(self) -> int: ...
    @property
    def extra_info(self) -> str: ...
    @property
    def offset(self) -> int: ...
    @property
    def lite_topic(self) -> str | None: ...


class InvisibleTimeRequest(AckRequest, Protocol):
    """For how long from now on (ms) a message is to be invisible; with `suspend` that is no delivery."""

    @property
    def invisible_time(self) -> int: ...
    @property
    def suspend(self) -> bool: ...


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
