"""Answers of servers that are not ours, for commands that no server here knows yet."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from mqgateway.engine.clock import ManualClock
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from tests.support.gateway.mqadmin.tool import ScriptedTool

CLUSTER = {
    "brokerAddrTable": {
        "broker-a": {"brokerAddrs": {"0": "a:1", "1": "a:2"}, "brokerName": "broker-a", "cluster": "C"}
    },
    "clusterAddrTable": {"C": ["broker-a"]},
}
"""A master and its slave."""


def body(value: Any) -> RemotingCommand:
    """An answer with JSON in it."""
    return RemotingCommand.response(0, body=json.dumps(value).encode())


def fields(**found: str) -> RemotingCommand:
    """An answer that is fields of a header."""
    return RemotingCommand.response(0, ext=found)


Answer = RemotingCommand | Callable[[RemotingCommand], RemotingCommand]


def answering(answers: Mapping[RequestCode, Answer]) -> ScriptedTool:
    """The tool with servers that answer by request code, anything else with success and nothing more."""

    def answer(address: str, request: RemotingCommand) -> RemotingCommand:
        answered = {RequestCode.GET_BROKER_CLUSTER_INFO: body(CLUSTER), **answers}.get(
            RequestCode(request.code)
        )
        if answered is None:
            return RemotingCommand.response(0)
        return answered if isinstance(answered, RemotingCommand) else answered(request)

    tool = ScriptedTool(ManualClock(), answer)
    tool.environment = {"NAMESRV_ADDR": "n:1"}
    return tool
