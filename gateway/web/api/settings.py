"""The broker's settings: what they are, where they came from, what they mean; changed while it runs."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.options import Setting
from mqgateway.engine.options.option import format_value
from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.broker.operations import Use
from mqgateway.gateway.web.api.needs import of_cluster
from mqgateway.gateway.web.call import WebCall
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.lists import has
from mqgateway.gateway.web.route import ApiError, Role, Route, RouteField
from mqgateway.gateway.web.setting_groups import GROUPS, group_of


def settings(console: Console, call: WebCall) -> dict[str, Any]:
    """List settings by `group`, and the groups in order.

    `fixed` is the reason why one cannot be changed here; secrets are hidden.
    """
    query = call.query
    rows = []
    for name, value, origin, note, option, why_fixed in console.operations.administration.settings():
        is_wanted = has(name, query["search"]) or has(option.meaning, query["search"])
        if not is_wanted or (query["changed"] and origin == "default"):
            continue
        rows.append(
            {
                "name": name,
                "group": group_of(option),
                "value": value,
                "origin": origin,
                "note": note,
                "meaning": option.meaning,
                "unit": option.unit,
                "default": "" if option.secret else format_value(option.default),
                "effect": option.effect,
                "isOurs": option.ours,
                "isSecret": option.secret,
                "fixed": why_fixed or option.no_effect,
            }
        )
    return {"rows": rows, "total": len(rows), "groups": list(GROUPS)}


def change_settings(console: Console, call: WebCall) -> dict[str, Any]:
    """Change settings, all or none. They are kept in the broker's file, if it has one.

    `note` says what is not kept, and what takes effect after a restart.
    """
    changes = {str(name): str(value) for name, value in call.body["changes"].items()}
    administration = console.operations.administration
    if not changes:
        raise ApiError(400, "changes are missing: properties by name")
    shown = {one.name: one.value for one in administration.settings()}
    call.before = {name: shown.get(name, "") for name in changes}
    found = [Setting(name, value, 0, "console") for name, value in changes.items()]
    note = administration.change_settings(console.permit(call, Use.CONFIGURE), found)
    now = {one.name: one.value for one in administration.settings()}
    call.after = {name: now.get(name, "") for name in changes}
    return {"before": call.before, "after": call.after, "note": note}


ROUTES = (
    Route(
        "GET",
        "/settings",
        Role.VIEWER,
        "List the settings of the broker.",
        settings,
        query=(
            RouteField("search", str, "Text in the name or the meaning of a setting.", ""),
            RouteField("changed", bool, "Return only settings that were set.", False),
        ),
        needs=of_cluster(Action.GET),
    ),
    Route(
        "PUT",
        "/settings",
        Role.ADMIN,
        "Change settings.",
        change_settings,
        body=(RouteField("changes", dict, "New values by property name, as text.", is_secret=True),),
        needs=of_cluster(Action.UPDATE),
    ),
)
