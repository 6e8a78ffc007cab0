"""Users and access policies (ACL 2.0); what is created or changed is in the body.

Standard: the classes of the same names.
"""

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.fields import Header


class CreateUserRequestHeader(Header, code=RequestCode.AUTH_CREATE_USER):
    """Create a user."""

    username: str | None = None


class UpdateUserRequestHeader(Header, code=RequestCode.AUTH_UPDATE_USER):
    """Change a user."""

    username: str | None = None


class DeleteUserRequestHeader(Header, code=RequestCode.AUTH_DELETE_USER):
    """Delete a user."""

    username: str | None = None


class GetUserRequestHeader(Header, code=RequestCode.AUTH_GET_USER):
    """One user."""

    username: str | None = None


class ListUsersRequestHeader(Header, code=RequestCode.AUTH_LIST_USER):
    """The users whose names hold `filter`."""

    filter: str | None = None


class CreateAclRequestHeader(Header, code=RequestCode.AUTH_CREATE_ACL):
    """Create the policies of a subject."""

    subject: str | None = None


class UpdateAclRequestHeader(Header, code=RequestCode.AUTH_UPDATE_ACL):
    """Change the policies of a subject."""

    subject: str | None = None


class DeleteAclRequestHeader(Header, code=RequestCode.AUTH_DELETE_ACL):
    """Delete policies of a subject, one kind or one resource only if given."""

    subject: str | None = None
    policy_type: str | None = None
    resource: str | None = None


class GetAclRequestHeader(Header, code=RequestCode.AUTH_GET_ACL):
    """The policies of a subject."""

    subject: str | None = None


class ListAclsRequestHeader(Header, code=RequestCode.AUTH_LIST_ACL):
    """The policies that match both filters."""

    subject_filter: str | None = None
    resource_filter: str | None = None
