"""What is asked of a popped message, which its receipt names: acknowledgements and changes of its time."""

from __future__ import annotations

from typing import Protocol

from mqgateway.engine.pop import Receipt
from mqgateway.gateway.broker.errors import OperationError, Reason

CONSUMED_ALREADY = Receipt(0, 0, 0, 0, "", "")
"""What one is given who changes the time of a message that its group, which pops in order, is past."""


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


def parse_receipt(text: str) -> Receipt:
    """The receipt; refused where it is none."""
    try:
        return Receipt.parse(text)
    except ValueError as error:
        raise OperationError(Reason.SYSTEM_ERROR, f"the receipt cannot be read: {error}") from None
