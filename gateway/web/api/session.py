"""The session of a caller: its user and role, login and logout."""

from __future__ import annotations

from typing import Any

from mqgateway.gateway.web.call import WebCall
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.route import Role, Route, RouteField
from mqgateway.gateway.web.sessions import LoginSession


def session(console: Console, call: WebCall) -> dict[str, Any]:
    """Show the session of the caller. `login` is the way to log in: `password` or `link`."""
    options = console.operations.options
    return {
        "isIn": call.caller.role is not Role.NOBODY,
        "user": call.caller.user,
        "role": call.caller.role.name.lower(),
        "login": "password" if console.entrance.asks_passwords else "link",
        "csrf": call.csrf,
        "isReadOnly": console.is_read_only,
        "broker": options.broker_name if call.caller.role is not Role.NOBODY else "",
    }


def log_in(console: Console, call: WebCall) -> LoginSession:
    """Open a session: with user and password, or with the token of the link."""
    body = call.body
    if body["token"]:
        return console.entrance.enter(body["token"])
    return console.entrance.log_in(body["user"], body["password"], call.caller.address)


def log_out(console: Console, call: WebCall) -> dict[str, Any]:
    """End the session."""
    return {"isIn": False}


ROUTES = (
    Route("GET", "/session", Role.NOBODY, "Show the session of the caller.", session),
    Route(
        "POST",
        "/session",
        Role.NOBODY,
        "Log in.",
        log_in,
        body=(
            RouteField("user", str, "User name.", ""),
            RouteField("password", str, "Secret that signs the user's requests.", "", is_secret=True),
            RouteField(
                "token",
                str,
                "Token of the link that the broker printed, instead of user and password.",
                "",
                is_secret=True,
            ),
        ),
    ),
    Route("DELETE", "/session", Role.NOBODY, "Log out.", log_out),
)
