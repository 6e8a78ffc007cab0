"""The request that removes a broker, and its state in words."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.gateway.client.broker_removal import RemovalAction, removal, removal_text
from mqgateway.gateway.codec.command import RemotingCommand

LEFT = [
    {"kind": "not consumed", "topic": "T", "group": "G", "messages": 3},
    {"kind": "dead letters", "topic": "%DLQ%G", "group": "", "messages": 1},
]


def state(**report: Any) -> dict[str, Any]:
    whole = {"obstacles": [], "left": [], "messages": 0, "waits": "", "isDone": False, **report}
    return {"state": "draining", "cluster": "c", "broker": "n-1", "folder": "/f", "report": whole}


def test_request_names_broker_and_action() -> None:
    question = removal("c", "n-1", RemovalAction.FORCE)
    assert question.header is not None
    fields = {**question.header.encode(), **question.fields}
    assert fields == {"brokerClusterName": "c", "brokerName": "n-1", "brokerId": "0", "action": "force"}
    assert question.read(RemotingCommand.response(0, body=b'{"state": "removed"}')) == {"state": "removed"}


@pytest.mark.parametrize(
    "answer,text",
    [
        ({"state": "draining", "broker": "n-1"}, "n-1 is draining"),
        (
            state(left=LEFT, messages=4),
            "n-1 is draining, 4 messages left (3 not consumed T G, 1 dead letters %DLQ%G)",
        ),
        (state(waits="a last look"), "n-1 is draining, 0 messages left; a last look"),
        (state(obstacles=["static topic T", "topic K"]), "n-1 is draining: static topic T; topic K"),
    ],
)
def test_state_in_words(answer: dict[str, Any], text: str) -> None:
    assert removal_text(answer) == text
