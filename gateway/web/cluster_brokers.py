"""The brokers of the cluster: which ones the name servers list, and questions to all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, NamedTuple

from twisted.internet.defer import Deferred, DeferredList, maybeDeferred

from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.codec.errors import HeaderError
from mqgateway.gateway.remoting.call import RequestError
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.route import ApiError

FAILURES = (RequestError, HeaderError, ConfigError)
"""Errors of a broker that does not answer, and of an answer that cannot be read."""


class ListedBroker(NamedTuple):
    """A broker as a name server lists it."""

    cluster: str
    name: str
    broker_id: int
    address: str


class BrokerGroup(NamedTuple):
    """A broker group of this broker's cluster, and the address of the member that is asked for it."""

    name: str
    address: str
    is_own: bool


class GroupAnswers(NamedTuple):
    """Answers of broker groups, and the reasons of those that gave none."""

    answers: list[tuple[BrokerGroup, Any]]
    unanswered: list[dict[str, str]]


async def listed(console: Console) -> list[ListedBroker]:
    """Return the brokers that name servers list, by name and id; only this one if there are none."""
    operations, server = console.operations, console.name_server
    if server is not None:
        groups = list(server.tables.brokers.values())
    else:
        groups = await operations.administration.broker_groups()
    found = [
        ListedBroker(group.cluster, group.broker_name, broker_id, address)
        for group in groups
        for broker_id, address in group.broker_addrs.items()
    ]
    options, own = operations.options, operations.administration.role.broker_id
    alone = ListedBroker(options.broker_cluster_name, options.broker_name, own, operations.address)
    return sorted(found) or [alone]


async def broker_groups(console: Console) -> list[BrokerGroup]:
    """Return the broker groups of this broker's cluster by name, its own always among them.

    A group's address is that of its master, or without one that of the slave with the lowest id.
    """
    options = console.operations.options
    own = options.broker_name
    found: dict[str, BrokerGroup] = {}
    for place in await listed(console):
        if place.cluster == options.broker_cluster_name:
            found.setdefault(place.name, BrokerGroup(place.name, place.address, place.name == own))
    found.setdefault(own, BrokerGroup(own, console.operations.address, True))
    return [found[name] for name in sorted(found)]


async def chosen_groups(console: Console, name: str) -> list[BrokerGroup]:
    """Return the broker group with a name, all of them for an empty one. Raises `ApiError`."""
    groups = await broker_groups(console)
    chosen = [group for group in groups if not name or group.name == name]
    if not chosen:
        known = ", ".join(group.name for group in groups)
        raise ApiError(404, f"there is no broker {name} in this cluster; there are {known}")
    return chosen


async def ask_all(groups: Sequence[BrokerGroup], ask: Callable[[BrokerGroup], Any]) -> GroupAnswers:
    """Put a question to broker groups at the same time.

    `ask` returns an answer or a Deferred of one. A failure that is none of `FAILURES` is raised.
    """
    asked = [maybeDeferred(ask, group) for group in groups]
    outcomes: Iterable[tuple[bool, Any]] = await DeferredList(asked, consumeErrors=True)
    found = GroupAnswers([], [])
    for group, (is_answered, outcome) in zip(groups, outcomes, strict=True):
        if is_answered:
            found.answers.append((group, outcome))
            continue
        if outcome.check(*FAILURES) is None:
            outcome.raiseException()
        found.unanswered.append({"broker": group.name, "reason": str(outcome.value)})
    return found


async def rows_of(rows: Iterable[Coroutine[Any, Any, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return rows whose figures are asked for at the same time."""
    started = [Deferred.fromCoroutine(row) for row in rows]
    made: Iterable[tuple[bool, dict[str, Any]]] = await DeferredList(
        started, fireOnOneErrback=True, consumeErrors=True
    )
    return [row for _, row in made]
