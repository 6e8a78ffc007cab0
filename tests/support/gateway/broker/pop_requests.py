"""Requests to operations of POP that come from no protocol."""

from __future__ import annotations

from typing import Any

from mqgateway.gateway.broker.operations import Delivery, Peek, Receive, ReceiveLite, Watch

RECEIVE = Receive("G", "T", 32, 10_000, 0, None, None, False, None, from_oldest=True)
RECEIVE_LITE = ReceiveLite("c1", "G", "chat", 32, 10_000, 0, None)
PEEK = Peek("G", "T", -1, 32)
WATCH = Watch("G", "T", -1, 0)


def receive(**fields: Any) -> Receive:
    """A request of group G for messages of topic T."""
    return RECEIVE._replace(**fields)


def receive_lite(**fields: Any) -> ReceiveLite:
    """A request of group G for messages of lite topics below `chat`."""
    return RECEIVE_LITE._replace(**fields)


def delivery(receipt: str, offset: int, **fields: Any) -> Delivery:
    """A delivery of a message of topic T to group G."""
    return Delivery("G", "T", 0, receipt, offset, None)._replace(**fields)
