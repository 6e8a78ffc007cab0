"""`mqgateway trace`."""

from __future__ import annotations

from mqgateway.gateway.resources.borrowed import borrow
from mqgateway.gateway.resources.rendering import table

borrow(
    "trace show",
    "queryMsgTraceById",
    table("type", "topic", "group", "clientHost", "timestamp", "millis", "status", nothing="no trace"),
    i="message-id",
)
