"""`mqgateway access check`: may a user do something, and which policy says so?

The broker, ours or Apache's, is asked for user and policies; the decision is the one our broker makes.
Exit codes: 0 allowed, 3 refused, 1 the broker could not be asked, 2 wrong usage.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from mqgateway.gateway.cli.client_flags import client_flags, reports_errors, settings
from mqgateway.gateway.cli.plain import escaped
from mqgateway.gateway.runtime.name_servers import address_fault

if TYPE_CHECKING:
    from mqgateway.gateway.access.decisions import AuthorizationResult
    from mqgateway.gateway.access.policies import Acl
    from mqgateway.gateway.access.users import User

REFUSED = 3

EXAMPLES = """\b
Examples:
  mqgateway access check alice Pub Topic:orders -b 10.0.0.5:10911
  mqgateway access check alice Sub Group:billing -b 10.0.0.5:10911 --from 10.1.2.3 --json"""


@click.command(epilog=EXAMPLES)
@click.argument("username", metavar="USER")
@click.argument("action")
@click.argument("resource")
@click.option("-b", "--broker", required=True, metavar="HOST:PORT", help="Broker to query, as host:port.")
@click.option(
    "--from", "ip", default="127.0.0.1", show_default=True, help="Source address of USER's request."
)
@client_flags
@reports_errors
def check(**given: Any) -> None:
    """Say whether USER may do ACTION (Pub, Sub, Create, Update, Delete, Get, List) with RESOURCE.

    RESOURCE is Topic:NAME, Group:NAME or Cluster:NAME. Who asks needs the right to look at users:
    --access-key and --secret-key.
    """
    from mqgateway.gateway.access.decisions import decide
    from mqgateway.gateway.access.policies import Action, parse_resource
    from mqgateway.gateway.access.users import by_name

    action, resource = by_name(Action, given["action"]), parse_resource(given["resource"])
    if action is None:
        raise click.BadParameter(f"there is no action {given['action']}", param_hint="ACTION")
    if resource is None:
        raise click.BadParameter("write it as Topic:NAME, Group:NAME or Cluster:NAME", param_hint="RESOURCE")
    if fault := address_fault(given["broker"]):
        raise click.BadParameter(fault, param_hint="--broker")
    user, acl, everyone = _known(given)
    verdict = decide(given["username"], user, acl, resource, (action,), given["ip"], everyone=everyone)
    show = _as_json if given["as_json"] else _as_text
    click.echo(show(verdict))
    if not verdict.is_allowed:
        raise SystemExit(REFUSED)


def _known(given: dict[str, Any]) -> tuple[User | None, Acl | None, Acl | None]:
    """The user, its policies, and those of all users, as the broker has them."""
    from mqgateway.gateway.access.bindings import EVERYONE
    from mqgateway.gateway.access.policies import Acl, read_policies
    from mqgateway.gateway.access.users import User, UserStatus, UserType, by_name, subject_of
    from mqgateway.gateway.client import Admin, admin_access

    name, broker = given["username"], given["broker"]
    with Admin(**settings(given)) as admin:
        info = admin.ask(admin_access.user(name), broker)
        if info is None:
            return None, None, None
        found = admin.ask(admin_access.acl(subject_of(name)), broker)
        of_all = admin.ask(admin_access.acls(subject_of(EVERYONE)), broker)
    user_type = by_name(UserType, info.user_type) or UserType.NORMAL
    status = by_name(UserStatus, info.user_status) or UserStatus.DISABLE
    user = User(name, "", user_type, status)
    shared = next((one for one in of_all if one.subject == subject_of(EVERYONE)), None)
    acl, everyone = (
        None if one is None else Acl(subject, read_policies(one.policies))
        for subject, one in ((name, found), (EVERYONE, shared))
    )
    return user, acl, everyone


def _as_text(verdict: AuthorizationResult) -> str:
    entry = verdict.entry
    if entry is None:
        return escaped(verdict.refusal or "allowed: super users have all permissions")
    actions = ", ".join(one.value for one in (*entry.actions, *entry.operations))
    where = f" from {', '.join(entry.source_ips)}" if entry.source_ips else ""
    kind = verdict.policy.value if verdict.policy is not None else ""
    by = f"{kind} policy: {entry.decision.value} {actions} on {entry.resource}{where}"
    return escaped(f"{verdict.refusal or 'allowed'} ({by})")


def _as_json(verdict: AuthorizationResult) -> str:
    shown: dict[str, Any] = {"allowed": verdict.is_allowed}
    if verdict.refusal:
        shown["reason"] = verdict.refusal
    if verdict.entry is not None and verdict.policy is not None:
        shown |= {"policyType": verdict.policy.value, "entry": verdict.entry.info().to_json()}
    return json.dumps(shown)
