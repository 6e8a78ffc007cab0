"""Questions to brokers about users and policies. Standard: `DefaultMQAdminExtImpl`, `MQClientAPIImpl`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mqgateway.gateway.client.admin_question import Question, asks, json_of, nothing
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.codec import bodies
from mqgateway.gateway.codec.bodies.body import Body
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.errors import BodyError
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

B = TypeVar("B", bound=Body)

# Users


@asks(RequestCode.AUTH_CREATE_USER)
def create_user(user: bodies.UserInfo) -> Question[None]:
    """Create a user; it needs a name and a password."""
    header = CreateUserRequestHeader(username=user.username)
    return Question(RequestCode.AUTH_CREATE_USER, nothing, header, user.encode())


@asks(RequestCode.AUTH_UPDATE_USER)
def update_user(user: bodies.UserInfo) -> Question[None]:
    """Change what is given of a user."""
    header = UpdateUserRequestHeader(username=user.username)
    return Question(RequestCode.AUTH_UPDATE_USER, nothing, header, user.encode())


@asks(RequestCode.AUTH_DELETE_USER)
def delete_user(name: str) -> Question[None]:
    """Delete a user."""
    return Question(RequestCode.AUTH_DELETE_USER, nothing, DeleteUserRequestHeader(username=name))


@asks(RequestCode.AUTH_GET_USER)
def user(name: str) -> Question[bodies.UserInfo | None]:
    """Return a user; None when there is none."""
    return Question(RequestCode.AUTH_GET_USER, _one_of(bodies.UserInfo), GetUserRequestHeader(username=name))


@asks(RequestCode.AUTH_LIST_USER)
def users(filter: str | None = None) -> Question[list[bodies.UserInfo]]:
    """Return the users whose names hold a text."""
    return Question(
        RequestCode.AUTH_LIST_USER, _list_of(bodies.UserInfo), ListUsersRequestHeader(filter=filter)
    )


# Policies


@asks(RequestCode.AUTH_CREATE_ACL)
def create_acl(acl: bodies.AclInfo) -> Question[None]:
    """Create the policies of a subject, as of `User:alice`."""
    header = CreateAclRequestHeader(subject=acl.subject)
    return Question(RequestCode.AUTH_CREATE_ACL, nothing, header, acl.encode())


@asks(RequestCode.AUTH_UPDATE_ACL)
def update_acl(acl: bodies.AclInfo) -> Question[None]:
    """Change the policies of a subject."""
    header = UpdateAclRequestHeader(subject=acl.subject)
    return Question(RequestCode.AUTH_UPDATE_ACL, nothing, header, acl.encode())


@asks(RequestCode.AUTH_DELETE_ACL)
def delete_acl(subject: str, resource: str | None = None, kind: str | None = None) -> Question[None]:
    """Delete the policies of a subject, those for one resource or of one kind only if given."""
    header = DeleteAclRequestHeader(subject=subject, policy_type=kind, resource=resource)
    return Question(RequestCode.AUTH_DELETE_ACL, nothing, header)


@asks(RequestCode.AUTH_GET_ACL)
def acl(subject: str) -> Question[bodies.AclInfo | None]:
    """Return the policies of a subject; None when there are none."""
    return Question(RequestCode.AUTH_GET_ACL, _one_of(bodies.AclInfo), GetAclRequestHeader(subject=subject))


@asks(RequestCode.AUTH_LIST_ACL)
def acls(subject: str | None = None, resource: str | None = None) -> Question[list[bodies.AclInfo]]:
    """Return the policies whose subjects and resources hold these texts."""
    header = ListAclsRequestHeader(subject_filter=subject, resource_filter=resource)
    return Question(RequestCode.AUTH_LIST_ACL, _list_of(bodies.AclInfo), header)


def _one_of(kind: type[B]) -> Callable[[RemotingCommand], B | None]:
    return lambda answer: _read(kind, json_of(answer)) if answer.body not in (b"", b"null") else None


def _list_of(kind: type[B]) -> Callable[[RemotingCommand], list[B]]:
    return lambda answer: [_read(kind, shape) for shape in json_of(answer) or []]


def _read(kind: type[B], shape: object) -> B:
    try:
        return kind.from_json(shape)
    except BodyError as error:
        raise ClientError(f"an answer that cannot be read: {error.remark}") from None
