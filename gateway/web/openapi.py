"""The API's document, made of its routes: OpenAPI 3.1."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mqgateway.gateway.web.route import KINDS, PREFIX, REQUIRED, Role, Route, RouteField

_ANSWERS = {
    "400": "A parameter is invalid; `error` names it.",
    "401": "The caller is not logged in.",
    "403": "The role, policies, another site or another host name forbid it.",
    "404": "The object or the route does not exist.",
    "409": "The current state does not allow the change.",
}


def document(routes: Iterable[Route], version: str) -> dict[str, Any]:
    """Return the whole document."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "mqgateway console",
            "version": version,
            "description": "The API of the web console. Writes need the header "
            "`x-console-token` with `csrf` of `GET /session`.",
        },
        "servers": [{"url": PREFIX}],
        "paths": paths,
        "components": {
            "securitySchemes": {"session": {"type": "apiKey", "in": "cookie", "name": "mqgateway-PORT"}},
            "schemas": {
                "Error": {
                    "type": "object",
                    "properties": {"error": {"type": "string"}},
                    "required": ["error"],
                }
            },
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in route.names
    ]
    in_query = [
        {
            "name": field.name,
            "in": "query",
            "required": field.default is REQUIRED,
            "description": field.meaning,
            "schema": _schema(field),
        }
        for field in route.query
    ]
    if route.is_download:
        content: dict[str, Any] = {"application/octet-stream": {}}
    elif route.is_stream:
        content = {"text/event-stream": {"schema": {"type": "string"}}}
    else:
        content = {"application/json": {"schema": {"type": "object"}}}
    name = route.path.replace("/", "_").replace("{", "").replace("}", "")
    operation: dict[str, Any] = {
        "operationId": route.method.lower() + name,
        "summary": route.summary,
        "description": "Needs no login."
        if route.role is Role.NOBODY
        else f"Needs the role {route.role.name.lower()}.",
        "parameters": in_path + in_query,
        "responses": {
            "200": {"description": "Done.", "content": content},
            **{
                code: {
                    "description": meaning,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
                }
                for code, meaning in _ANSWERS.items()
            },
        },
        "security": [] if route.role is Role.NOBODY else [{"session": []}],
    }
    if route.body:
        body = {"application/json": {"schema": _body(route)}}
        operation["requestBody"] = {"required": True, "content": body}
    return operation


def _body(route: Route) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {field.name: _schema(field) | {"description": field.meaning} for field in route.body},
        "required": [field.name for field in route.body if field.default is REQUIRED],
        "additionalProperties": False,
    }


def _schema(field: RouteField) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": KINDS[field.kind]}
    if field.default is not REQUIRED and field.default is not None:
        schema["default"] = field.default
    if field.choices:
        schema["enum"] = list(field.choices)
    if field.least is not None:
        schema["minimum"] = field.least
    if field.most is not None:
        schema["maximum"] = field.most
    return schema
