"""`mqgateway broker` and `mqgateway cluster`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mqgateway.gateway.client.broker_addition import AdditionAction, AdditionState, addition, addition_text
from mqgateway.gateway.client.broker_removal import RemovalAction, RemovalState, removal, removal_text
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.mqadmin.declaration import (
    CommandCall,
    CommandOption,
    NameKind,
    Row,
    UsageError,
    command,
    flag,
    operand,
)
from mqgateway.gateway.mqadmin.servers import MASTER
from mqgateway.gateway.resources.borrowed import borrow
from mqgateway.gateway.resources.rendering import listed, table


@command(
    "cluster list",
    text=table("cluster", "brokers", "withoutMaster", "slaves", nothing="no clusters"),
)
def list_clusters(call: CommandCall) -> Iterator[Row]:
    """Yield the clusters of the name server; no broker is queried."""
    info = call.servers.clusters()
    for cluster, members in sorted(info.cluster_addr_table.items()):
        data = [info.broker_addr_table[name] for name in sorted(members) if name in info.broker_addr_table]
        yield {
            "cluster": cluster,
            "brokers": [one.broker_name for one in data],
            "withoutMaster": [one.broker_name for one in data if MASTER not in one.broker_addrs],
            "slaves": sum(number != MASTER for one in data for number in one.broker_addrs),
        }


borrow(
    "broker list",
    "clusterList",
    table("cluster", "brokerName", "brokerId", "address", "version", "putTps", "getTps", "isActive"),
)
borrow("broker status", "brokerStatus", listed)


WAIT_SECONDS = 600
"""Default of `--wait`, in seconds."""
_LOOK_SECONDS = 2.0
"""Interval at which the state of a removal or an addition is requested."""


@command(
    "broker add",
    operand("b", "brokerName", "next broker of the command, such as broker-a-3"),
    CommandOption("", "wait", "seconds to wait until it serves clients, 600 by default"),
    flag("", "serve-left", "serve messages that were left in its folder when it was removed"),
    text=table("brokerName", "state", "address", "folder"),
)
def add(call: CommandCall) -> Iterator[Row]:
    """Add a broker at the name server of `mqgateway serve --brokers`, which starts its process."""
    seconds, began = call.given.number("wait", WAIT_SECONDS), call.monotonic()
    action = AdditionAction.SERVE_LEFT if "serve-left" in call.given else AdditionAction.START
    question, server = addition(call.given.need("b"), action), call.servers.name_servers[0]
    answer = call.servers.change(question, server)
    if answer is None:
        return
    while answer["state"] in (AdditionState.COPYING, AdditionState.STARTING):
        call.note(addition_text(answer))
        if call.monotonic() - began > seconds:
            call.note("")
            raise ClientError(
                f"after {seconds} s {addition_text(answer)}; the name server continues. Repeat the command "
                "to wait longer"
            )
        call.wait(_LOOK_SECONDS)
        answer = call.servers.ask(question, server)
    call.note("")
    if answer["state"] == AdditionState.FAILED:
        raise ClientError(addition_text(answer))
    yield {
        "brokerName": answer["broker"],
        "state": answer["state"],
        "address": answer["address"],
        "folder": answer["folder"],
    }


def _asked(call: CommandCall, action: RemovalAction) -> dict[str, Any] | None:
    """Return the state of the removal, None in a dry run. Raises `ClientError`."""
    name, brokers = call.given.need("b"), call.servers.clusters().broker_addr_table
    if name not in brokers:
        raise ClientError(f"the name server knows no broker {name}; it knows {', '.join(sorted(brokers))}")
    question = removal(brokers[name].cluster, name, action)
    return call.servers.change(question, call.servers.name_servers[0])


def _left_row(answer: dict[str, Any]) -> Row:
    report = answer.get("report") or {}
    return {
        "brokerName": answer["broker"],
        "state": answer["state"],
        "messagesLeft": report.get("messages", 0),
        "left": report.get("left", []),
        "folder": answer["folder"],
    }


@command(
    "broker remove",
    operand("b", "brokerName", "last broker of the command, such as broker-a-3", values=NameKind.BROKER),
    CommandOption("", "wait", "seconds to wait until its messages are consumed, 600 by default"),
    flag("", "force", "remove it at once; messages that are left stay in its folder, unserved"),
    flag("", "cancel", "let the broker take messages again"),
    flag("y", "yes", "do not ask for confirmation of --force"),
    text=table("brokerName", "state", "messagesLeft", "folder"),
)
def remove(call: CommandCall) -> Iterator[Row]:
    """Remove a broker at the name server that runs it; `mqgateway serve --brokers` keeps its folder."""
    is_forced, is_cancelled = "force" in call.given, "cancel" in call.given
    if is_forced and is_cancelled:
        raise UsageError("give --force or --cancel, not both")
    seconds, began = call.given.number("wait", WAIT_SECONDS), call.monotonic()
    action = RemovalAction.CANCEL if is_cancelled else RemovalAction.DRAIN
    answer = _asked(call, action)
    if answer is None:
        return
    while answer["state"] in (RemovalState.DRAINING, RemovalState.STOPPING):
        call.note(removal_text(answer))
        if is_forced and action is RemovalAction.DRAIN and "report" in answer:
            _confirm(call, answer)
            action = RemovalAction.FORCE
        elif answer["state"] == RemovalState.DRAINING and call.monotonic() - began > seconds:
            call.note("")
            raise ClientError(
                f"after {seconds} s {removal_text(answer)}; it takes no messages. Repeat the command to wait "
                "longer, with --force to leave them in its folder, or with --cancel to keep the broker"
            )
        else:
            call.wait(_LOOK_SECONDS)
        answer = _state(call, answer, action)
    call.note("")
    if answer["state"] == RemovalState.REFUSED:
        raise ClientError(removal_text(answer))
    yield _left_row(answer)


def _confirm(call: CommandCall, answer: dict[str, Any]) -> None:
    """Ask for consent to leave messages behind. Raises `UsageError`."""
    if "y" in call.given or not answer["report"]["messages"]:
        return
    call.note("")
    for one in answer["report"]["left"]:
        call.remark(" ".join(filter(None, (str(one["messages"]), one["kind"], one["topic"], one["group"]))))
    if not call.confirm(f"leave {answer['report']['messages']} messages in {answer['folder']}, unserved?"):
        raise UsageError("nothing was removed, and the broker takes no messages: use --yes, or --cancel")


def _state(call: CommandCall, answer: dict[str, Any], action: RemovalAction) -> dict[str, Any]:
    """Return the next state. The name server forgets the broker before the last one is known."""
    question = removal(answer["cluster"], answer["broker"], action)
    return call.servers.ask(question, call.servers.name_servers[0])
