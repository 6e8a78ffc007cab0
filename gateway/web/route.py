"""Routes of the API: one declaration each, which checks requests and documents the API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple
from urllib.parse import unquote

from mqgateway.gateway.access.needs import Need

PREFIX = "/api/v1"
KINDS = {str: "string", int: "integer", bool: "boolean", dict: "object", list: "array"}
REQUIRED = object()
"""Default of a field that must be given."""


class Role(IntEnum):
    """Role of a caller; each role includes the rights of those before it."""

    NOBODY = 0
    VIEWER = 1
    """Sees everything except the content of messages."""
    READER = 2
    """Reads messages."""
    OPERATOR = 3
    """Sends, replays, resets, creates and changes."""
    ADMIN = 4
    """Deletes, changes settings, users and policies."""


class ApiError(Exception):
    """A refused request: an HTTP status, and a sentence for the user."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class RouteField(NamedTuple):
    """A parameter of the query, or a member of the body. `is_secret`: the audit hides its value."""

    name: str
    kind: type
    meaning: str
    default: Any = REQUIRED
    choices: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    is_secret: bool = False


def no_needs(call: Any) -> Sequence[Need]:
    """Return no needs, for routes without a resource that policies cover."""
    return ()


class Route(NamedTuple):
    """`function(console, call)` returns JSON values, directly, as a Deferred or as a coroutine.

    `needs(call)` returns the needs that policies must allow if `authorizationEnabled` is on. `is_stream`: the
    function returns a `streams.EventSource`. `is_download`: it returns a `downloads.Download`. A read-only
    console has no `is_write` routes.
    """

    method: str
    path: str
    role: Role
    summary: str
    function: Callable[..., Any]
    query: tuple[RouteField, ...] = ()
    body: tuple[RouteField, ...] = ()
    needs: Callable[[Any], Sequence[Need]] = no_needs
    is_stream: bool = False
    is_download: bool = False

    @property
    def is_write(self) -> bool:
        """True if it may change state; login and logout do not count."""
        return self.method != "GET" and self.role is not Role.NOBODY

    @property
    def names(self) -> list[str]:
        """Names of the placeholders in its path."""
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]


def match(routes: Iterable[Route], path: str) -> tuple[dict[str, Route], dict[str, str]]:
    """Return the routes of a path below the prefix by method, and the values of their placeholders.

    Both are empty if no route matches. Of several matches, those with the most literal parts win.
    """
    parts = [unquote(part) for part in path.strip("/").split("/")]
    found: dict[str, Route] = {}
    named: dict[str, str] = {}
    best = -1
    for route in routes:
        wanted = route.path.strip("/").split("/")
        if len(wanted) != len(parts):
            continue
        pairs = list(zip(wanted, parts, strict=True))
        if any(want != part and not want.startswith("{") for want, part in pairs):
            continue
        exact = sum(want == part for want, part in pairs)
        if exact > best:  # /resets/last before /resets/{id}
            found, best = {}, exact
            named = {want[1:-1]: part for want, part in pairs if want.startswith("{")}
        if exact == best:
            found[route.method] = route
    return found, named


def read_query(fields: Sequence[RouteField], given: Mapping[str, str]) -> dict[str, Any]:
    """Return the typed parameters of a query. Raises `ApiError` for an invalid or unknown one."""
    _check_known(fields, given, "parameter")
    return {
        field.name: _typed(field, given[field.name], True) if field.name in given else _default(field)
        for field in fields
    }


def read_body(fields: Sequence[RouteField], given: Any) -> dict[str, Any]:
    """Return the typed members of a body. Raises `ApiError` for an invalid or unknown one."""
    if not isinstance(given, dict):
        raise ApiError(400, "the body must be an object of JSON")
    _check_known(fields, given, "member")
    return {
        field.name: _typed(field, given[field.name], False)
        if given.get(field.name) is not None
        else _default(field)
        for field in fields
    }


def _check_known(fields: Sequence[RouteField], given: Mapping[str, Any], what: str) -> None:
    known = {field.name for field in fields}
    for name in given:
        if name not in known:
            allowed = f"; there are {', '.join(sorted(known))}" if known else ""
            raise ApiError(400, f"there is no {what} {name}{allowed}")


def _default(field: RouteField) -> Any:
    if field.default is REQUIRED:
        raise ApiError(400, f"{field.name} is missing: {field.meaning}")
    return field.default


def _typed(field: RouteField, value: Any, is_text: bool) -> Any:
    if is_text and field.kind is int:
        try:
            value = int(value)
        except ValueError:
            raise ApiError(400, f"{field.name} must be a whole number, not {value!r}") from None
    elif is_text and field.kind is bool:
        if value not in ("true", "false"):
            raise ApiError(400, f"{field.name} must be true or false, not {value!r}")
        value = value == "true"
    if not isinstance(value, field.kind) or (field.kind is int and isinstance(value, bool)):
        raise ApiError(400, f"{field.name} must be {KINDS[field.kind]}")
    if field.choices and value not in field.choices:
        raise ApiError(400, f"{field.name} must be one of {', '.join(field.choices)}")
    if field.least is not None and isinstance(value, int) and value < field.least:
        raise ApiError(400, f"{field.name} must be at least {field.least}")
    if field.most is not None and isinstance(value, int) and value > field.most:
        raise ApiError(400, f"{field.name} must be at most {field.most}")
    return value
