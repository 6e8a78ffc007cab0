"""Users and access policies (ACL 2.0). RocketMQ: `UserInfo`, `AclInfo`."""

from dataclasses import field

from mqgateway.gateway.codec.bodies.body import Body, body


@body
class UserInfo(Body):
    """A user; `user_type` is Super or Normal, `user_status` enable or disable."""

    username: str | None = None
    password: str | None = None
    user_type: str | None = None
    user_status: str | None = None


@body
class PolicyEntryInfo(Body):
    """The decision, Allow or Deny, on actions on a resource, such as `Topic:orders*`."""

    resource: str | None = None
    actions: list[str] | None = None
    source_ips: list[str] | None = None
    decision: str | None = None


@body
class PolicyInfo(Body):
    """Entries of one kind, Custom or Default."""

    policy_type: str | None = None
    entries: list[PolicyEntryInfo] = field(default_factory=list)


@body
class AclInfo(Body):
    """The policies of a subject, as in `User:alice`."""

    subject: str | None = None
    policies: list[PolicyInfo] = field(default_factory=list)
