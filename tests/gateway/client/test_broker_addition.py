"""The request that adds a broker, and its state in words."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.gateway.client.broker_addition import AdditionAction, addition, addition_text
from mqgateway.gateway.codec.command import RemotingCommand


def test_request_names_broker_and_action() -> None:
    question = addition("n-2", AdditionAction.SERVE_LEFT)
    assert question.header is not None
    assert {**question.header.encode(), **question.fields} == {"configPath": "n-2", "action": "serveLeft"}
    assert question.read(RemotingCommand.response(0, body=b'{"state": "up"}')) == {"state": "up"}


@pytest.mark.parametrize(
    "details,text",
    [
        ({"state": "copying"}, "n-2 is given the topics and groups of the others"),
        ({"state": "starting"}, "n-2 is starting"),
        ({"state": "starting", "progress": "recovering, 7%"}, "n-2 is starting: recovering, 7%"),
        ({"state": "up"}, "n-2 is up"),
        ({"state": "failed", "why": "port 10931 is in use"}, "n-2 is not added: port 10931 is in use"),
    ],
)
def test_state_in_words(details: dict[str, Any], text: str) -> None:
    assert addition_text({"broker": "n-2", **details}) == text
