"""The broker groups of a cluster, and questions to all of them."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.gateway.remoting.call import RequestError
from mqgateway.gateway.web.cluster_brokers import ask_all, broker_groups, chosen_groups, rows_of
from mqgateway.gateway.web.route import ApiError
from tests.support.gateway.console import ConsoleWorld
from tests.support.gateway.console_cluster import LOST, OTHER, ClusterWorld


def result(steps: Coroutine[Any, Any, Any]) -> Any:
    found: list[Any] = []
    Deferred.fromCoroutine(steps).addBoth(found.append)
    if hasattr(found[0], "raiseException"):
        found[0].raiseException()
    return found[0]


def test_groups_of_the_own_cluster_are_asked_at_their_masters() -> None:
    world = ClusterWorld()
    groups = result(broker_groups(world.console))
    own = world.console.operations.address
    assert groups == [("broker-a", own, True), ("broker-b", OTHER, False), ("broker-c", LOST, False)]


def test_broker_without_name_servers_is_the_only_group() -> None:
    console = ConsoleWorld().console
    assert result(broker_groups(console)) == [("broker-a", console.operations.address, True)]


def test_one_group_is_chosen_by_name() -> None:
    console = ClusterWorld().console
    assert [group.name for group in result(chosen_groups(console, "broker-b"))] == ["broker-b"]
    assert len(result(chosen_groups(console, ""))) == 3
    with pytest.raises(ApiError, match="no broker x in this cluster; there are broker-a, broker-b, broker-c"):
        result(chosen_groups(console, "x"))


def test_group_without_an_answer_is_named_beside_the_answers() -> None:
    groups = result(broker_groups(ClusterWorld().console))

    def ask(group: Any) -> str:
        if group.name == "broker-c":
            raise RequestError(1, "it is away")
        return str(group.name)

    found = result(ask_all(groups, ask))
    assert [answer for _, answer in found.answers] == ["broker-a", "broker-b"]
    [lost] = found.unanswered
    assert lost["broker"] == "broker-c" and "it is away" in lost["reason"]


def test_other_failures_are_raised() -> None:
    groups = result(broker_groups(ClusterWorld().console))
    with pytest.raises(ZeroDivisionError):
        result(ask_all(groups, lambda _: 1 // 0))


def test_rows_keep_their_order_whichever_is_made_first() -> None:
    first: Deferred[int] = Deferred()
    found: list[Any] = []

    async def row(number: int) -> dict[str, Any]:
        return {"number": await first if number == 0 else number}

    Deferred.fromCoroutine(rows_of(map(row, range(3)))).addBoth(found.append)
    assert not found
    first.callback(0)
    assert found == [[{"number": 0}, {"number": 1}, {"number": 2}]]
