"""Removal of a broker of `mqgateway serve --brokers`: the request to its parent's name server, and its state.

The request is RocketMQ's 903 REMOVE_BROKER with an action in an extension field. It is repeated until the
state in its answer is a final one. Pure.

    {"state": "draining", "cluster": "c", "broker": "n-3", "folder": "/mq/store/broker-3", "report": {...}}

`report` has what is left (`gateway.broker.removal`); it is absent at first.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from mqgateway.gateway.client.admin_question import Question, json_of
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import RemoveBrokerRequestHeader

ACTION = "action"
"""Extension field with the action; a request without it is RocketMQ's own."""


class RemovalAction(StrEnum):
    """Action of a request."""

    DRAIN = "drain"
    """Begin the removal, or return its state."""
    FORCE = "force"
    """Remove the broker without waiting for consumers."""
    CANCEL = "cancel"
    """Let the broker take messages again."""


class RemovalState(StrEnum):
    """State of a removal."""

    DRAINING = "draining"
    REFUSED = "refused"
    """The broker has topics that cannot be left to others; it takes messages again."""
    STOPPING = "stopping"
    REMOVED = "removed"
    CANCELLED = "cancelled"


def removal(cluster: str, broker_name: str, action: RemovalAction) -> Question[dict[str, Any]]:
    """Begin, force or cancel the removal of a broker; return its state."""
    header = RemoveBrokerRequestHeader(broker_cluster_name=cluster, broker_name=broker_name, broker_id=0)
    return Question(RequestCode.REMOVE_BROKER, json_of, header, fields={ACTION: action.value})


def removal_text(answer: Mapping[str, Any]) -> str:
    """Return the state of a removal in words, with the three largest backlogs."""
    words = f"{answer['broker']} is {answer['state']}"
    report = answer.get("report")
    if report is None:
        return words
    if report["obstacles"]:
        return f"{words}: {'; '.join(report['obstacles'])}"
    left = [
        " ".join(filter(None, (str(one["messages"]), one["kind"], one["topic"], one["group"])))
        for one in report["left"][:3]
    ]
    words += f", {report['messages']} messages left" + (f" ({', '.join(left)})" if left else "")
    return f"{words}; {report['waits']}" if report["waits"] else words
