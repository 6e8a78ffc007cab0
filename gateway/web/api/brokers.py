"""All brokers of the cluster with their figures, and the settings of one of them beside this broker's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from twisted.internet.defer import Deferred, DeferredList, maybeDeferred, succeed

from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.broker.operations import Permit, Use
from mqgateway.gateway.codec.codes import CURRENT_VERSION, version_name
from mqgateway.gateway.web.api.needs import of_cluster
from mqgateway.gateway.web.call import WebCall
from mqgateway.gateway.web.cluster_brokers import FAILURES, ListedBroker, listed
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.route import ApiError, Role, Route, RouteField
from mqgateway.gateway.web.scan import settled

MASTER_ID = 0


async def brokers(console: Console, call: WebCall) -> dict[str, Any]:
    """List the brokers with their figures. `error` says why one has none; slaves have a lag in bytes."""
    permit, places = console.permit(call, Use.QUERY), await listed(console)
    asked = [maybeDeferred(_figures, console, permit, place.address) for place in places]
    answers: list[tuple[bool, Any]] = await DeferredList(asked, consumeErrors=True)
    ends = {
        place.name: _whole(figures, "commitLogMaxOffset")
        for place, (is_answered, figures) in zip(places, answers, strict=True)
        if is_answered and place.broker_id == MASTER_ID
    }
    return {
        "rows": [
            _row(console, place, figures, ends.get(place.name))
            if is_answered
            else {**_place(console, place), "error": str(figures.value)}
            for place, (is_answered, figures) in zip(places, answers, strict=True)
        ]
    }


def _figures(console: Console, permit: Permit, address: str) -> Deferred[dict[str, str]]:
    if address == console.operations.address:
        own = console.operations.administration.runtime_info()
        return succeed(own | {"brokerVersionDesc": version_name(CURRENT_VERSION)})
    return console.operations.other_brokers.runtime_info(permit, address)


def _place(console: Console, place: ListedBroker) -> dict[str, Any]:
    return {
        "cluster": place.cluster,
        "broker": place.name,
        "brokerId": place.broker_id,
        "address": place.address,
        "isOwn": place.address == console.operations.address,
    }


def _row(
    console: Console, place: ListedBroker, figures: Mapping[str, str], master_end: int | None
) -> dict[str, Any]:
    end = _whole(figures, "commitLogMaxOffset")
    return {
        **_place(console, place),
        "error": "",
        "version": figures.get("brokerVersionDesc", ""),
        "in": _rate(figures, "putTps"),
        "out": _rate(figures, "getTransferredTps"),
        "inToday": _today(figures, "msgPutTotal"),
        "outToday": _today(figures, "msgGetTotal"),
        "logEnd": end,
        "logBytes": end - _whole(figures, "commitLogMinOffset"),
        "behind": None if place.broker_id == MASTER_ID or master_end is None else max(0, master_end - end),
        "diskUsed": _rate(figures, "commitLogDiskRatio"),
    }


def _today(figures: Mapping[str, str], name: str) -> int:
    return max(0, _whole(figures, f"{name}TodayNow") - _whole(figures, f"{name}TodayMorning"))


def _whole(figures: Mapping[str, str], name: str) -> int:
    try:
        return int(figures.get(name, ""))
    except ValueError:
        return 0


def _rate(figures: Mapping[str, str], name: str) -> float:
    """Return the first number of a figure: rates have one for each of several time spans.

    0 for a number that JSON cannot show.
    """
    try:
        rate = float(figures.get(name, "").split(" ")[0])
    except ValueError:
        return 0.0
    return round(rate, 4) if math.isfinite(rate) else 0.0


async def statistics(console: Console, call: WebCall) -> dict[str, Any]:
    """Return all figures of a broker by name."""
    permit, address = console.permit(call, Use.QUERY), await _known(console, call)
    try:
        figures = await settled(_figures(console, permit, address))
    except FAILURES as error:
        raise ApiError(502, f"{address}: {error}") from None
    return {"runtime": dict(sorted(figures.items()))}


async def settings_difference(console: Console, call: WebCall) -> dict[str, Any]:
    """List the settings with another value at another broker; null for one that a broker does not have."""
    permit, address = console.permit(call, Use.QUERY), await _known(console, call)
    administration = console.operations.administration
    here = {one.name: one.value for one in administration.settings() if not one.option.secret}
    hidden = {one.name for one in administration.settings() if one.option.secret}
    try:
        there = await console.operations.other_brokers.settings(permit, address)
    except FAILURES as error:
        raise ApiError(502, f"{address}: {error}") from None
    names = sorted((here.keys() | there.keys()) - hidden)
    rows = [
        {"name": name, "here": here.get(name), "there": there.get(name)}
        for name in names
        if here.get(name) != there.get(name)
    ]
    return {"rows": rows, "same": len(names) - len(rows)}


async def _known(console: Console, call: WebCall) -> str:
    """Return the requested address if a name server lists it: no other one is asked."""
    address: str = call.query["address"]
    if address not in {place.address for place in await listed(console)}:
        raise ApiError(404, f"no name server lists a broker at {address}")
    return address


_SHOWN = of_cluster(Action.GET)
_ADDRESS = (RouteField("address", str, "Address of a broker that the name servers list."),)

ROUTES = (
    Route("GET", "/cluster/brokers", Role.VIEWER, "List all brokers with figures.", brokers, needs=_SHOWN),
    Route(
        "GET",
        "/cluster/statistics",
        Role.VIEWER,
        "Return all figures of a broker.",
        statistics,
        query=_ADDRESS,
        needs=_SHOWN,
    ),
    Route(
        "GET",
        "/cluster/settings",
        Role.VIEWER,
        "Compare the settings of a broker with this broker's.",
        settings_difference,
        query=_ADDRESS,
        needs=_SHOWN,
    ),
)
