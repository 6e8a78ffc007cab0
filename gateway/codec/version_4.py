"""Account requests of version 4 brokers, which 5.5.0 does not have: codes, headers and bodies.

The response codes have other meanings in version 5. RocketMQ: `RequestCode`, `ResponseCode` and the classes
of the same names in version 4.9.7.
"""

from dataclasses import field
from enum import IntEnum

from mqgateway.gateway.codec.bodies.body import Body, body
from mqgateway.gateway.codec.fields import Bool, Header


class AclRequestCode(IntEnum):
    """Requests about accounts."""

    UPDATE_AND_CREATE_ACL_CONFIG = 50
    DELETE_ACL_CONFIG = 51
    GET_BROKER_CLUSTER_ACL_INFO = 52
    UPDATE_GLOBAL_WHITE_ADDRS_CONFIG = 53
    GET_BROKER_CLUSTER_ACL_CONFIG = 54


class AclResponseCode(IntEnum):
    """Response codes of refused changes."""

    UPDATE_AND_CREATE_ACL_CONFIG_FAILED = 209
    DELETE_ACL_CONFIG_FAILED = 210
    UPDATE_GLOBAL_WHITE_ADDRS_CONFIG_FAILED = 211


class CreateAccessConfigRequestHeader(Header, code=AclRequestCode.UPDATE_AND_CREATE_ACL_CONFIG):
    """Account to create or update; permissions are comma-separated, as in `topicA=DENY,topicB=PUB|SUB`."""

    access_key: str
    secret_key: str | None = None
    white_remote_address: str | None = None
    admin: Bool = False
    default_topic_perm: str | None = None
    default_group_perm: str | None = None
    topic_perms: str | None = None
    group_perms: str | None = None


class DeleteAccessConfigRequestHeader(Header, code=AclRequestCode.DELETE_ACL_CONFIG):
    """Account to delete."""

    access_key: str


class GetBrokerAclConfigResponseHeader(Header):
    """Versions of the files; `version` and `all_acl_file_version` are JSON."""

    version: str
    all_acl_file_version: str | None = None
    broker_name: str
    broker_addr: str
    cluster_name: str


class UpdateGlobalWhiteAddrsConfigRequestHeader(Header, code=AclRequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG):
    """Comma-separated addresses that need no authentication, and the file to change.

    Version 4's own tool omits the file if none is given, and its broker then refuses the request.
    """

    global_white_addrs: str
    acl_file_full_path: str | None = None


@body
class PlainAccessConfig(Body):
    """Account in the form of files and requests; permissions are as in `topicA=PUB|SUB`."""

    access_key: str | None = None
    secret_key: str | None = field(default=None, repr=False)
    white_remote_address: str | None = None
    admin: bool = False
    default_topic_perm: str | None = None
    default_group_perm: str | None = None
    topic_perms: list[str] | None = None
    group_perms: list[str] | None = None


@body
class AclDataVersion(Body):
    """Number of changes of a file by request, and the last one's time in ms since the epoch."""

    counter: int = 0
    timestamp: int = 0


@body
class PlainAccessData(Body):
    """File of rules."""

    global_white_remote_addresses: list[str] | None = None
    accounts: list[PlainAccessConfig] | None = None
    data_version: list[AclDataVersion] | None = None


@body
class GetBrokerClusterAclConfigResponseBody(Body):
    """All rules, including secrets."""

    global_white_addrs: list[str] = field(default_factory=list)
    plain_access_configs: list[PlainAccessConfig] = field(default_factory=list)
