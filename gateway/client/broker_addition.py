"""Addition of a broker to `mqgateway serve --brokers`: the request to its parent, and its state.

The request is RocketMQ's 902 ADD_BROKER, at the name server of the parent, with an action in an extension
field. Its path is the name of the broker, which has the next number. It is repeated until the state in its
answer is a final one. Pure.

    {"state": "up", "cluster": "c", "broker": "n-3", "folder": "/mq/store/broker-3", "address": "h:10941"}

`why` has the reason of a failure, `progress` that of a start that takes long.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from mqgateway.gateway.client.admin_question import Question, json_of
from mqgateway.gateway.client.broker_removal import ACTION
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import AddBrokerRequestHeader


class AdditionAction(StrEnum):
    """Action of a request."""

    START = "start"
    """Begin the addition, or return its state."""
    SERVE_LEFT = "serveLeft"
    """Begin it, and serve messages that a removed broker left in the folder."""


class AdditionState(StrEnum):
    """State of an addition."""

    COPYING = "copying"
    """Topics, groups, users and policies are copied to the folder."""
    STARTING = "starting"
    UP = "up"
    FAILED = "failed"


def addition(broker_name: str, action: AdditionAction) -> Question[dict[str, Any]]:
    """Begin the addition of a broker, or return its state."""
    header = AddBrokerRequestHeader(config_path=broker_name)
    return Question(RequestCode.ADD_BROKER, json_of, header, fields={ACTION: action.value})


def addition_text(answer: Mapping[str, Any]) -> str:
    """Return the state of an addition in words."""
    details = [str(answer[name]) for name in ("progress", "why") if answer.get(name)]
    return ": ".join([f"{answer['broker']} is {_WORDS[answer['state']]}", *details])


_WORDS = {
    AdditionState.COPYING: "given the topics and groups of the others",
    AdditionState.STARTING: "starting",
    AdditionState.UP: "up",
    AdditionState.FAILED: "not added",
}
