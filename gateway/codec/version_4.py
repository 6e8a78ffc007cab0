"""What brokers of version 4 have and those of 5.5.0 have not: accounts by request.

Codes of requests and answers, headers and bodies. The numbers of the answers mean other things in version 5.
Standard: `RequestCode`, `ResponseCode` and the classes of the same names in version 4.9.7.
"""

from dataclasses import dataclass, field
from enum import IntEnum

from mqgateway.gateway.codec.bodies.body import Body
from mqgateway.gateway.codec.fields import Bool, Header


class AclRequestCode(IntEnum):
    """Requests about accounts."""

    UPDATE_AND_CREATE_ACL_CONFIG = 50
    DELETE_ACL_CONFIG = 51
    GET_BROKER_CLUSTER_ACL_INFO = 52
    UPDATE_GLOBAL_WHITE_ADDRS_CONFIG = 53
    GET_BROKER_CLUSTER_ACL_CONFIG = 54


class AclResponseCode(IntEnum):
    """What a change that is refused is answered with."""

    UPDATE_AND_CREATE_ACL_CONFIG_FAILED = 209
    DELETE_ACL_CONFIG_FAILED = 210
    UPDATE_GLOBAL_WHITE_ADDRS_CONFIG_FAILED = 211


class CreateAccessConfigRequestHeader(Header, code=AclRequestCode.UPDATE_AND_CREATE_ACL_CONFIG):
    """An account; permissions are lists with commas, as in `topicA=DENY,topicB=PUB|SUB`."""

    access_key: str
    secret_key: str | None = None
    white_remote_address: str | None = None
    admin: Bool = False
    default_topic_perm: str | None = None
    default_group_perm: str | None = None
    topic_perms: str | None = None
    group_perms: str | None = None


class DeleteAccessConfigRequestHeader(Header, code=AclRequestCode.DELETE_ACL_CONFIG):
    """The account that is to go."""

    access_key: str


class GetBrokerAclConfigResponseHeader(Header):
    """How often the files changed; `version` and `all_acl_file_version` are JSON."""

    version: str
    all_acl_file_version: str | None = None
    broker_name: str
    broker_addr: str
    cluster_name: str


class UpdateGlobalWhiteAddrsConfigRequestHeader(Header, code=AclRequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG):
    """Addresses that everybody is let in from, with commas; and in which file.

    Version 4's own tool leaves the file out where none is given, and its broker then refuses the request.
    """

    global_white_addrs: str
    acl_file_full_path: str | None = None


@dataclass(slots=True)
class PlainAccessConfig(Body):
    """An account as files and requests have it; permissions are as in `topicA=PUB|SUB`."""

    access_key: str | None = None
    secret_key: str | None = field(default=None, repr=False)
    white_remote_address: str | None = None
    admin: bool = False
    default_topic_perm: str | None = None
    default_group_perm: str | None = None
    topic_perms: list[str] | None = None
    group_perms: list[str] | None = None


@dataclass(slots=True)
class AclDataVersion(Body):
    """How often a file was changed by request, and when last, in ms since the epoch."""

    counter: int = 0
    timestamp: int = 0


@dataclass(slots=True)
class PlainAccessData(Body):
    """A file of rules."""

    global_white_remote_addresses: list[str] | None = None
    accounts: list[PlainAccessConfig] | None = None
    data_version: list[AclDataVersion] | None = None


@dataclass(slots=True)
class GetBrokerClusterAclConfigResponseBody(Body):
    """All rules there are, secrets too."""

    global_white_addrs: list[str] = field(default_factory=list)
    plain_access_configs: list[PlainAccessConfig] = field(default_factory=list)
