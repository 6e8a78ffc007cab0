"""Users and policies; and whether a user may perform an action, with the entry that decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from mqgateway.gateway.access.administration import AccessAdministration
from mqgateway.gateway.access.decisions import decide
from mqgateway.gateway.access.errors import AccessError
from mqgateway.gateway.access.policies import Action, PolicyType, parse_resource, read_policies
from mqgateway.gateway.access.policies import topic as topic_resource
from mqgateway.gateway.access.users import UserStatus, UserType, by_name
from mqgateway.gateway.codec.bodies import PolicyEntryInfo, PolicyInfo
from mqgateway.gateway.web.api.needs import of_cluster
from mqgateway.gateway.web.call import WebCall
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.lists import PAGE_FIELDS, page_of
from mqgateway.gateway.web.route import ApiError, Role, Route, RouteField

T = TypeVar("T")


def users(console: Console, call: WebCall) -> dict[str, Any]:
    """List users with their policies, without passwords. `isOn` is false if callers are not authenticated."""
    if console.operations.access is None:
        return {"isOn": False, "rows": [], "total": 0, "cursor": ""}
    query, access = call.query, console.operations.access
    known = {user.username: user for user in access.users(query["search"])}
    rows = [(name, name) for name in known]
    page = page_of(rows, query["limit"], query["cursor"], descending=query["descending"])
    return {
        "isOn": console.operations.options.authentication_enabled,
        "authorizes": console.operations.options.authorization_enabled,
        "rows": [
            {
                "user": name,
                "type": known[name].user_type.value,
                "status": known[name].status.value,
                "policies": _policies(access, name),
            }
            for name in page.names
        ],
        "total": page.total,
        "cursor": page.cursor,
    }


def _policies(access: AccessAdministration, name: str) -> list[dict[str, Any]]:
    acl = access.acl(name)
    if acl is None:
        return []
    return [
        {"type": policy.policy_type, **_entry(entry)}
        for policy in acl.info().policies or ()
        for entry in policy.entries or ()
    ]


def _entry(info: PolicyEntryInfo) -> dict[str, Any]:
    return {
        "resource": info.resource,
        "actions": list(info.actions or ()),
        "sources": list(info.source_ips or ()),
        "decision": info.decision,
    }


def topic_access(console: Console, call: WebCall) -> dict[str, Any]:
    """List super users, and users with policy entries that match a topic, each with the most specific first.

    `authorizes` is false if the broker does not check policies.
    """
    access, options = console.operations.access, console.operations.options
    if access is None:
        return {"authorizes": False, "rows": []}
    resource = topic_resource(call.path["topic"])
    known = {user.username: user for user in access.users()}
    found: dict[str, list[dict[str, Any]]] = {name: [] for name, user in known.items() if user.is_super}
    for acl in access.acls():
        entries = [
            {"type": kind.value, **_entry(one.info())}
            for kind, policy in acl.policies.items()
            for one in policy.matching(resource)
        ]
        if entries:
            found[acl.username] = entries
    return {
        "authorizes": options.authorization_enabled,
        "rows": [
            {
                "user": name,
                "isSuper": name in known and known[name].is_super,
                "isDisabled": name in known and known[name].is_disabled,
                "policies": found[name],
            }
            for name in sorted(found)
        ],
    }


def create_user(console: Console, call: WebCall) -> dict[str, Any]:
    """Create a user."""
    body = call.body
    _carry_out(
        console,
        lambda access: access.create_user(
            call.caller.user,
            body["user"],
            body["password"],
            by_name(UserType, body["type"]),
            by_name(UserStatus, body["status"]),
        ),
    )
    return {"user": body["user"]}


def change_user(console: Console, call: WebCall) -> dict[str, Any]:
    """Change what is given of a user."""
    body, name = call.body, call.path["user"]
    _carry_out(
        console,
        lambda access: access.update_user(
            call.caller.user,
            name,
            body["password"],
            by_name(UserType, body["type"]),
            by_name(UserStatus, body["status"]),
        ),
    )
    return {"user": name}


def delete_user(console: Console, call: WebCall) -> dict[str, Any]:
    """Delete a user with the policies; callers cannot delete themselves."""
    name = call.path["user"]
    if name == call.caller.user:
        raise ApiError(409, "users cannot delete themselves")
    if _carry_out(console, lambda access: access.user(name)) is None:
        raise ApiError(404, f"there is no user {name}")
    _carry_out(console, lambda access: access.delete_user(call.caller.user, name))
    return {"user": name}


def put_policy(console: Console, call: WebCall) -> dict[str, Any]:
    """Let a user do something with a resource, or forbid it; an entry of the same resource is replaced."""
    body, name = call.body, call.path["user"]
    call.before = _carry_out(console, lambda access: _policies(access, name))
    entry = PolicyEntryInfo(
        resource=body["resource"],
        actions=[str(action) for action in body["actions"]],
        source_ips=[str(source) for source in body["sources"] or ()],
        decision=body["decision"],
    )
    info = PolicyInfo(policy_type=body["type"], entries=[entry])
    _carry_out(console, lambda access: access.update_acl(name, read_policies([info])))
    call.after = _carry_out(console, lambda access: _policies(access, name))
    return {"user": name}


def delete_policy(console: Console, call: WebCall) -> dict[str, Any]:
    """Delete the policy entry of a resource."""
    name, query = call.path["user"], call.query
    resource = parse_resource(query["resource"])
    if resource is None:
        raise ApiError(400, f"{query['resource']} is not Topic:NAME, Group:NAME, Cluster:NAME or *")
    kind = by_name(PolicyType, query["type"]) or PolicyType.CUSTOM
    call.before = _carry_out(console, lambda access: _policies(access, name))
    _carry_out(console, lambda access: access.delete_acl(name, kind, resource))
    return {"user": name}


def decision(console: Console, call: WebCall) -> dict[str, Any]:
    """Check if a user may perform an action from an address; show the entry that decides."""
    query = call.query
    resource, action = parse_resource(query["resource"]), by_name(Action, query["action"])
    if resource is None or action is None:
        known = ", ".join(action.value for action in Action)
        raise ApiError(400, f"a resource is Topic:NAME, Group:NAME or Cluster:NAME; an action one of {known}")

    def ask(access: AccessAdministration) -> dict[str, Any]:
        name = query["user"]
        acl = access.acl(name)
        everyone = access.tables.acl_of_everyone()
        verdict = decide(
            name, access.user(name), acl, resource, [action], query["address"], everyone=everyone
        )
        return {
            "isAllowed": verdict.is_allowed,
            "refusal": verdict.refusal,
            "entry": None if verdict.entry is None else str(verdict.entry.resource),
        }

    return _carry_out(console, ask)


def _carry_out(console: Console, operation: Callable[[AccessAdministration], T]) -> T:
    if console.operations.access is None:
        raise ApiError(409, "there are no users: access control is off (authenticationEnabled)")
    try:
        return operation(console.operations.access)
    except AccessError as error:
        raise ApiError(400, str(error)) from None


_TYPES = tuple(one.value for one in UserType)
_STATUSES = tuple(one.value for one in UserStatus)
_POLICY_TYPES = tuple(one.value for one in PolicyType)

ROUTES = (
    Route(
        "GET",
        "/users",
        Role.ADMIN,
        "List users and their policies.",
        users,
        query=PAGE_FIELDS,
        needs=of_cluster(Action.GET),
    ),
    Route(
        "POST",
        "/users",
        Role.ADMIN,
        "Create a user.",
        create_user,
        body=(
            RouteField("user", str, "User name."),
            RouteField("password", str, "Secret that signs requests.", is_secret=True),
            RouteField("type", str, "Super users may do everything.", "Normal", choices=_TYPES),
            RouteField("status", str, "Enabled users can sign in.", "enable", choices=_STATUSES),
        ),
        needs=of_cluster(Action.UPDATE),
    ),
    Route(
        "PUT",
        "/users/{user}",
        Role.ADMIN,
        "Change a user.",
        change_user,
        body=(
            RouteField("password", str, "New secret that signs requests.", None, is_secret=True),
            RouteField("type", str, "Super users may do everything.", None, choices=_TYPES),
            RouteField("status", str, "Enabled users can sign in.", None, choices=_STATUSES),
        ),
        needs=of_cluster(Action.UPDATE),
    ),
    Route(
        "DELETE", "/users/{user}", Role.ADMIN, "Delete a user.", delete_user, needs=of_cluster(Action.UPDATE)
    ),
    Route(
        "PUT",
        "/users/{user}/policies",
        Role.ADMIN,
        "Create or replace the policy entry of a resource.",
        put_policy,
        body=(
            RouteField("resource", str, "Topic:NAME, Group:NAME or Cluster:NAME, also NAME*; or *."),
            RouteField("actions", list, "Pub, Sub, Create, Update, Delete, Get, List, or All."),
            RouteField("sources", list, "Addresses or networks; empty for any.", None),
            RouteField("decision", str, "Allow or deny the actions.", "Allow", choices=("Allow", "Deny")),
            RouteField(
                "type",
                str,
                "Default entries apply if no custom entry matches.",
                "Custom",
                choices=_POLICY_TYPES,
            ),
        ),
        needs=of_cluster(Action.UPDATE),
    ),
    Route(
        "DELETE",
        "/users/{user}/policies",
        Role.ADMIN,
        "Delete the policy entry of a resource.",
        delete_policy,
        query=(
            RouteField("resource", str, "Resource of the entry."),
            RouteField("type", str, "Type of the entry.", "Custom", choices=_POLICY_TYPES),
        ),
        needs=of_cluster(Action.UPDATE),
    ),
    Route(
        "GET",
        "/topics/{topic}/access",
        Role.ADMIN,
        "List the users and policy entries that match a topic.",
        topic_access,
        needs=of_cluster(Action.GET),
    ),
    Route(
        "GET",
        "/decision",
        Role.ADMIN,
        "Check if a user may perform an action.",
        decision,
        query=(
            RouteField("user", str, "User name."),
            RouteField("resource", str, "Resource: Topic:NAME, Group:NAME, Cluster:NAME or *."),
            RouteField("action", str, "Action, such as Pub or Sub."),
            RouteField("address", str, "Client address.", "127.0.0.1"),
        ),
        needs=of_cluster(Action.GET),
    ),
)
