"""Requests to pull."""

from __future__ import annotations

from typing import Any

from mqgateway.gateway.broker.consume.pull_request import PullRequest


def pull_request(**fields: Any) -> PullRequest:
    """Return a request of G for everything in queue 0 of T, with these fields instead."""
    usual: dict[str, Any] = {
        "group": "G",
        "topic": "T",
        "queue_id": 0,
        "offset": 0,
        "max_messages": 32,
        "max_wait": None,
        "expression": "*",
        "expression_type": None,
    }
    return PullRequest(**usual | fields)
