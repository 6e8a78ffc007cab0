"""Requests about users (3001 to 3005) and policies (3006 to 3010): create, update, delete, get, list.

Every server with users serves them; its context provides the tables. RocketMQ: `AdminBrokerProcessor`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

from mqgateway.engine import lenient_json
from mqgateway.engine.steps import Steps
from mqgateway.engine.tables.config_table import VERSION
from mqgateway.gateway.access.administration import AccessAdministration, OnlySuperUsers
from mqgateway.gateway.access.errors import AccessError
from mqgateway.gateway.access.policies import Acl, PolicyType, parse_resource, read_policies
from mqgateway.gateway.access.signature import ACCESS_KEY
from mqgateway.gateway.access.tables import AS_TABLE, AclTable, UserTable
from mqgateway.gateway.access.users import User, UserStatus, UserType, by_name, username_of
from mqgateway.gateway.codec.bodies import AclInfo, Body, UserInfo
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import (
    CreateAclRequestHeader,
    CreateUserRequestHeader,
    DeleteAclRequestHeader,
    DeleteUserRequestHeader,
    GetAclRequestHeader,
    GetUserRequestHeader,
    ListAclsRequestHeader,
    ListUsersRequestHeader,
    UpdateAclRequestHeader,
    UpdateUserRequestHeader,
)
from mqgateway.gateway.remoting.call import Call, Reply, RequestError

T = TypeVar("T")


class HasUsers(Protocol):
    """Context of these request functions; `access` is None without access control."""

    @property
    def access(self) -> AccessAdministration | None:
        """Operations on users and policies."""
        ...


UNSET = "not set any response code"
"""Remark of a successful answer: RocketMQ creates the answer with it and sets only the code afterwards."""
TRY_LATER = "An system error occurred, please try again later."
_NO_BODY = "java.lang.NullPointerException: the body is empty"
_NO_POLICIES = (
    "org.apache.rocketmq.auth.authorization.exception.AuthorizationException: The body of acl is null"
)


def create_user(server: HasUsers, call: Call) -> Reply:
    """Serve 3001 AUTH_CREATE_USER."""
    header = call.header
    assert isinstance(header, CreateUserRequestHeader)
    username, given = _username(header.username), _given(call)
    user_type, status = by_name(UserType, given.user_type), by_name(UserStatus, given.user_status)
    _carry_out(
        server,
        lambda access: access.create_user(_caller(call), username, given.password, user_type, status),
    )
    return Reply(remark=UNSET)


def update_user(server: HasUsers, call: Call) -> Reply:
    """Serve 3002 AUTH_UPDATE_USER: update the given attributes."""
    header = call.header
    assert isinstance(header, UpdateUserRequestHeader)
    username, given = _username(header.username), _given(call)
    user_type, status = by_name(UserType, given.user_type), by_name(UserStatus, given.user_status)
    _carry_out(
        server,
        lambda access: access.update_user(_caller(call), username, given.password, user_type, status),
    )
    return Reply(remark=UNSET)


def delete_user(server: HasUsers, call: Call) -> Reply:
    """Serve 3003 AUTH_DELETE_USER: delete the user and its policies."""
    header = call.header
    assert isinstance(header, DeleteUserRequestHeader)
    username = header.username or ""
    _carry_out(server, lambda access: access.delete_user(_caller(call), username))
    return Reply(remark=UNSET)


def get_user(server: HasUsers, call: Call) -> Reply:
    """Serve 3004 AUTH_GET_USER; the body is empty if the user does not exist."""
    header = call.header
    assert isinstance(header, GetUserRequestHeader)
    given = header.username or ""
    username = _username(given if given.strip() else "")
    user = _carry_out(server, lambda access: access.user(username))
    body = b"" if user is None else _user_info(server, call, user).encode()
    return Reply(body=body, remark=UNSET)


def list_users(server: HasUsers, call: Call) -> Steps[Reply]:
    """Serve 3005 AUTH_LIST_USER incrementally."""
    header = call.header
    assert isinstance(header, ListUsersRequestHeader)
    if _is_for_slave(server, call):
        return (yield from _as_table(call, lambda access: access.tables.users, server))
    users = _carry_out(server, lambda access: access.users(header.filter or ""))
    body = yield from _listed(_user_info(server, call, user) for user in users)
    return Reply(body=body, remark=UNSET)


def update_acl(server: HasUsers, call: Call) -> Reply:
    """Serve 3006 AUTH_CREATE_ACL and 3007 AUTH_UPDATE_ACL: entries replace those of the same resource."""
    header = call.header
    assert isinstance(header, CreateAclRequestHeader | UpdateAclRequestHeader)
    info = AclInfo.decode(call.body) if call.body else AclInfo()
    if not info.policies:
        raise RequestError(ResponseCode.SYSTEM_ERROR, _NO_POLICIES)
    username = _subject(info.subject, header.subject)
    policies = _or_refused(lambda: read_policies(info.policies))
    _carry_out(server, lambda access: access.update_acl(username, policies))
    return Reply(remark=UNSET)


def delete_acl(server: HasUsers, call: Call) -> Reply:
    """Serve 3008 AUTH_DELETE_ACL: delete the entry of a resource, or without a resource all policies.

    RocketMQ treats an invalid resource as none; here it is refused.
    """
    header = call.header
    assert isinstance(header, DeleteAclRequestHeader)
    username = username_of(header.subject)
    resource = parse_resource(header.resource)
    kind = by_name(PolicyType, header.policy_type) or PolicyType.CUSTOM

    def delete(access: AccessAdministration) -> None:
        if username is None:
            raise AccessError("The subject is null.")
        if resource is None and (header.resource or "").strip():
            raise AccessError("The resource is null.")
        access.delete_acl(username, kind, resource)

    _carry_out(server, delete)
    return Reply(remark=UNSET)


def get_acl(server: HasUsers, call: Call) -> Reply:
    """Serve 3009 AUTH_GET_ACL; the body is empty if the user has no policies."""
    header = call.header
    assert isinstance(header, GetAclRequestHeader)
    username = _subject(header.subject)
    acl = _carry_out(server, lambda access: access.acl(username))
    return Reply(body=b"" if acl is None else acl.info().encode(), remark=UNSET)


def list_acls(server: HasUsers, call: Call) -> Steps[Reply]:
    """Serve 3010 AUTH_LIST_ACL incrementally: only entries whose resource contains the filter."""
    header = call.header
    assert isinstance(header, ListAclsRequestHeader)
    if _is_for_slave(server, call):
        return (yield from _as_table(call, lambda access: access.tables.acls, server))
    acls = _carry_out(server, lambda access: access.acls(header.subject_filter or ""))
    wanted = header.resource_filter or ""
    infos = (acl.info(wanted if wanted.strip() else "") for acl in acls)
    body = yield from _listed(info for info in infos if info.policies)
    return Reply(body=body, remark=UNSET)


def _carry_out(server: HasUsers, operation: Callable[[AccessAdministration], T]) -> T:
    """Run an operation on the tables and return its result. Raises `RequestError`."""
    access = server.access
    if access is None:
        raise RequestError(ResponseCode.SYSTEM_ERROR, TRY_LATER)
    return _or_refused(lambda: operation(access))


def _or_refused(operation: Callable[[], T]) -> T:
    """Run an operation and convert its errors. Raises `RequestError`."""
    try:
        return operation()
    except OnlySuperUsers as error:
        raise RequestError(ResponseCode.SYSTEM_ERROR, str(error)) from None
    except AccessError as error:
        raise RequestError(ResponseCode.NO_PERMISSION, str(error)) from None


def _caller(call: Call) -> str:
    return call.command.ext_fields.get(ACCESS_KEY, "")


def _username(given: str | None) -> str:
    if not given:
        raise RequestError(ResponseCode.INVALID_PARAMETER, "The username is blank")
    return given


def _given(call: Call) -> UserInfo:
    if not call.body:
        raise RequestError(ResponseCode.SYSTEM_ERROR, _NO_BODY)
    return UserInfo.decode(call.body)


def _subject(*texts: str | None) -> str:
    """Return the user of the first valid subject. Raises `RequestError`."""
    for text in texts:
        username = username_of(text)
        if username is not None:
            return username
    raise RequestError(ResponseCode.SYSTEM_ERROR, TRY_LATER)


def _user_info(server: HasUsers, call: Call, user: User) -> UserInfo:
    """Return a user's attributes, with the password only if the caller may see it."""
    info = user.info()
    if server.access is None or not server.access.shows_passwords(_caller(call)):
        info.password = None
    return info


def _is_for_slave(server: HasUsers, call: Call) -> bool:
    """Return True if an authorized slave requests the whole table."""
    if AS_TABLE not in call.command.ext_fields:
        return False
    return _carry_out(server, lambda access: access.shows_passwords(_caller(call)))


def _as_table(
    call: Call, choose: Callable[[AccessAdministration], UserTable | AclTable], server: HasUsers
) -> Steps[Reply]:
    """Return a whole table in its file format; an empty answer if the slave's version is current."""
    table = _carry_out(server, choose)
    version = table.data_version.encode()
    if call.command.ext_fields[AS_TABLE].encode() == version:
        return Reply(remark=UNSET)
    parts = []
    entries: list[User | Acl] = list(table.all())
    for entry in entries:
        parts.append(lenient_json.dumps({entry.key: entry.to_json()})[1:-1])
        yield
    body = b'{"%s":%s,"%s":{%s}}' % (VERSION.encode(), version, table.member.encode(), b",".join(parts))
    return Reply(body=body, remark=UNSET)


def _listed(infos: Iterable[Body]) -> Steps[bytes]:
    """Encode an array; an empty one as an empty body."""
    parts = []
    for info in infos:
        parts.append(info.encode())
        yield
    return b"[" + b",".join(parts) + b"]" if parts else b""


REQUESTS: dict[int, Callable[[Any, Call], Reply | Steps[Reply]]] = {
    RequestCode.AUTH_CREATE_USER: create_user,
    RequestCode.AUTH_UPDATE_USER: update_user,
    RequestCode.AUTH_DELETE_USER: delete_user,
    RequestCode.AUTH_GET_USER: get_user,
    RequestCode.AUTH_LIST_USER: list_users,
    RequestCode.AUTH_CREATE_ACL: update_acl,
    RequestCode.AUTH_UPDATE_ACL: update_acl,
    RequestCode.AUTH_DELETE_ACL: delete_acl,
    RequestCode.AUTH_GET_ACL: get_acl,
    RequestCode.AUTH_LIST_ACL: list_acls,
}
