"""Commands about users and what they may do.

Standard: the package `command.auth` of the module `tools`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mqgateway.gateway.client import admin_access as access
from mqgateway.gateway.client.errors import NoBroker
from mqgateway.gateway.codec.bodies import AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo
from mqgateway.gateway.mqadmin.commands import targets
from mqgateway.gateway.mqadmin.declaration import CommandCall, CommandOption, NameKind, Row, command
from mqgateway.gateway.mqadmin.rendering import each, headed, shown

_USER = CommandOption("u", "username", "user name", required=True)
_SUBJECT = CommandOption("s", "subject", "subject, as User:alice", required=True)
_FROM = CommandOption("f", "fromBroker", "source broker as host:port", required=True, values=NameKind.ADDRESS)
_TO = CommandOption("t", "toBroker", "target broker as host:port", required=True, values=NameKind.ADDRESS)
_POLICY = (
    CommandOption("a", "actions", "actions: Pub, Sub, Create and so on, separated by ','", required=True),
    *targets.one_of(),
    CommandOption("d", "decision", "decision: Allow or Deny", required=True, values=("Allow", "Deny")),
    CommandOption("i", "sourceIp", "source addresses, separated by ','"),
    CommandOption("r", "resources", "resources, as Topic:orders*, separated by ','", required=True),
    _SUBJECT,
)


def _parts(text: str | None) -> list[str] | None:
    return None if text is None else [one.strip() for one in text.split(",") if one.strip()]


# Users


@command(
    "createUser",
    *targets.one_of(),
    CommandOption("p", "password", "password", required=True),
    CommandOption("t", "userType", "user type: Super or Normal", values=("Super", "Normal")),
    _USER,
    text=each("create user to {broker} success.\n"),
)
def create_user(call: CommandCall) -> Iterator[Row]:
    """Standard: `CreateUserSubCommand`."""
    user = UserInfo(call.given.need("u"), call.given.need("p"), call.given.text("t"))
    for broker in targets.all_brokers(call):
        call.servers.change(access.create_user(user), broker)
        yield {"broker": broker, "username": user.username}


@command(
    "updateUser",
    *targets.one_of(),
    CommandOption("p", "password", "password", group="what"),
    CommandOption("s", "userStatus", "status: enable or disable", group="what", values=("enable", "disable")),
    CommandOption("t", "userType", "user type: Super or Normal", group="what", values=("Super", "Normal")),
    _USER,
    text=each("update user to {broker} success.\n"),
)
def update_user(call: CommandCall) -> Iterator[Row]:
    """Standard: `UpdateUserSubCommand`."""
    user = UserInfo(call.given.need("u"), *(call.given.text(one) for one in "pts"))
    for broker in targets.all_brokers(call):
        call.servers.change(access.update_user(user), broker)
        yield {"broker": broker, "username": user.username}


@command(
    "deleteUser",
    *targets.one_of(),
    _USER,
    text=each("delete user to {broker} success.\n"),
)
def delete_user(call: CommandCall) -> Iterator[Row]:
    """Standard: `DeleteUserSubCommand`."""
    for broker in targets.all_brokers(call):
        call.servers.change(access.delete_user(call.given.need("u")), broker)
        yield {"broker": broker, "username": call.given.need("u")}


_users = headed(
    ("#UserName", "#Password", "#UserType", "#UserStatus"),
    "{:<16}  {:<22}  {:<22}  {:<22}\n",
    "{username:<16}  {password:<22}  {userType:<22}  {userStatus:<22}\n",
)


def _user_row(user: UserInfo) -> dict[str, object]:
    return {
        "username": user.username,
        "password": user.password,
        "userType": user.user_type,
        "userStatus": user.user_status,
    }


def _users_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    found = list(rows)
    if found:
        yield from _users(call, found)
    if "broker" in call.summary:
        yield shown("get user from {broker} success.\n", call.summary)


@command(
    "getUser",
    *targets.one_of(),
    CommandOption("u", "username", "user name"),
    text=_users_text,
)
def user(call: CommandCall) -> Iterator[Row]:
    """Standard: `GetUserSubCommand`: the first broker that has the user tells of it."""
    for broker in targets.masters(call):
        found = call.servers.ask(access.user(call.given.need("u")), broker)
        if found is not None:
            yield _user_row(found)
            return
    raise NoBroker(f"there is no user {call.given.need('u')}")


@command(
    "listUser",
    *targets.one_of(),
    CommandOption("f", "filter", "text that user names must contain"),
    text=_users_text,
)
def users(call: CommandCall) -> Iterator[Row]:
    """Standard: `ListUserSubCommand`: the first broker that has any tells of them."""
    for broker in targets.masters(call):
        found = call.servers.ask(access.users(call.given.text("f")), broker)
        if found:
            if "c" in call.given:
                call.summary["broker"] = broker
            yield from map(_user_row, found)
            return


@command(
    "copyUser",
    _FROM,
    _TO,
    CommandOption("u", "usernames", "user names, separated by ',' (default: all)"),
    text=each("copy user of {username} from {from} to {to} success.\n"),
)
def copy_users(call: CommandCall) -> Iterator[Row]:
    """Standard: `CopyUsersSubCommand`."""
    source, target = call.given.need("f"), call.given.need("t")
    wanted = _parts(call.given.text("u"))
    if wanted is None:
        found = call.servers.ask(access.users(), source)
    else:
        asked = (call.servers.ask(access.user(name), source) for name in wanted)
        found = [one for one in asked if one is not None]
    for one in found:
        known = call.servers.ask(access.user(one.username or ""), target)
        question = access.create_user(one) if known is None else access.update_user(one)
        call.servers.change(question, target)
        yield {"username": one.username, "from": source, "to": target}


# Policies


def _acl(call: CommandCall) -> AclInfo:
    entries = [
        PolicyEntryInfo(
            resource, _parts(call.given.need("a")), _parts(call.given.text("i")), call.given.need("d")
        )
        for resource in _parts(call.given.need("r")) or []
    ]
    return AclInfo(call.given.need("s"), [PolicyInfo(None, entries)])


@command(
    "createAcl",
    *_POLICY,
    text=each("create acl to {broker} success.\n"),
)
def create_acl(call: CommandCall) -> Iterator[Row]:
    """Standard: `CreateAclSubCommand`."""
    for broker in targets.all_brokers(call):
        call.servers.change(access.create_acl(_acl(call)), broker)
        yield {"broker": broker, "subject": call.given.need("s")}


@command(
    "updateAcl",
    *_POLICY,
    text=each("update acl to {broker} success.\n"),
)
def update_acl(call: CommandCall) -> Iterator[Row]:
    """Standard: `UpdateAclSubCommand`."""
    for broker in targets.all_brokers(call):
        call.servers.change(access.update_acl(_acl(call)), broker)
        yield {"broker": broker, "subject": call.given.need("s")}


@command(
    "deleteAcl",
    *targets.one_of(),
    CommandOption("r", "resources", "resource whose policy is deleted (default: all)"),
    _SUBJECT,
    text=each("delete acl to {broker} success.\n"),
)
def delete_acl(call: CommandCall) -> Iterator[Row]:
    """Standard: `DeleteAclSubCommand`."""
    subject, resource = call.given.need("s"), call.given.text("r")
    for broker in targets.all_brokers(call):
        call.servers.change(access.delete_acl(subject, resource), broker)
        yield {"broker": broker, "subject": subject, "resource": resource}


_acls = headed(
    ("#Subject", "#PolicyType", "#Resource", "#Actions", "#SourceIp", "#Decision"),
    "{:<16}  {:<10}  {:<22}  {:<20}  {:<24}  {:<10}\n",
    "{subject:<16}  {policyType:<10}  {resource:<22}  {actions:<20}  {sourceIps:<24}  {decision:<10}\n",
)
_NO_POLICY = {"policyType": "", "resource": "", "actions": "", "sourceIps": "", "decision": ""}


def _acls_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    found = list(rows)
    if found:
        yield from _acls(call, found)


def _acl_rows(acl: AclInfo) -> Iterator[Row]:
    if not acl.policies:
        yield {"subject": acl.subject, **_NO_POLICY}
    for policy in acl.policies:
        for entry in policy.entries:
            yield {
                "subject": acl.subject,
                "policyType": policy.policy_type,
                "resource": entry.resource,
                "actions": entry.actions,
                "sourceIps": entry.source_ips,
                "decision": entry.decision,
            }


@command(
    "getAcl",
    *targets.one_of(),
    CommandOption("s", "subject", "subject, as User:alice"),
    text=_acls_text,
)
def acl(call: CommandCall) -> Iterator[Row]:
    """Standard: `GetAclSubCommand`."""
    for broker in targets.masters(call):
        found = call.servers.ask(access.acl(call.given.need("s")), broker)
        if found is not None:
            yield from _acl_rows(found)
            return


@command(
    "listAcl",
    *targets.one_of(),
    CommandOption("r", "resource", "text that resources must contain"),
    CommandOption("s", "subject", "text that subjects must contain"),
    text=_acls_text,
)
def acls(call: CommandCall) -> Iterator[Row]:
    """Standard: `ListAclSubCommand`."""
    for broker in targets.masters(call):
        found = call.servers.ask(access.acls(call.given.text("s"), call.given.text("r")), broker)
        for one in found:
            yield from _acl_rows(one)
        if found:
            return


@command(
    "copyAcl",
    _FROM,
    CommandOption("s", "subjects", "subjects, separated by ',' (default: all)"),
    _TO,
    text=each("copy acl of {subject} from {from} to {to} success.\n"),
)
def copy_acls(call: CommandCall) -> Iterator[Row]:
    """Standard: `CopyAclsSubCommand`."""
    source, target = call.given.need("f"), call.given.need("t")
    wanted = _parts(call.given.text("s"))
    if wanted is None:
        found = call.servers.ask(access.acls(), source)
    else:
        asked = (call.servers.ask(access.acl(subject), source) for subject in wanted)
        found = [one for one in asked if one is not None]
    for one in found:
        known = call.servers.ask(access.acl(one.subject or ""), target)
        question = access.create_acl(one) if known is None else access.update_acl(one)
        call.servers.change(question, target)
        yield {"subject": one.subject, "from": source, "to": target}
