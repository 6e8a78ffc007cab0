"""Headers and bodies of version 4 as RocketMQ writes them."""

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.fields import request_header
from mqgateway.gateway.codec.version_4 import (
    AclDataVersion,
    AclRequestCode,
    CreateAccessConfigRequestHeader,
    GetBrokerClusterAclConfigResponseBody,
    PlainAccessConfig,
    PlainAccessData,
)


def test_the_codes_are_none_of_version_5() -> None:
    assert not {*map(int, AclRequestCode)} & {*map(int, RequestCode)}
    assert request_header(50) is CreateAccessConfigRequestHeader
    assert request_header(54) is None


def test_an_account_has_the_standards_members_in_order() -> None:
    config = PlainAccessConfig("a", "s", "w", True, "dt", "dg", ["t=PUB"], ["g=SUB"])
    assert GetBrokerClusterAclConfigResponseBody(["*"], [config]).encode() == (
        b'{"globalWhiteAddrs":["*"],"plainAccessConfigs":[{"accessKey":"a","admin":true,"defaultGroupPerm":"dg",'
        b'"defaultTopicPerm":"dt","groupPerms":["g=SUB"],"secretKey":"s","topicPerms":["t=PUB"],'
        b'"whiteRemoteAddress":"w"}]}'
    )
    assert AclDataVersion(1, 2).encode() == b'{"counter":1,"timestamp":2}'


def test_members_are_read_as_java_reads_them() -> None:
    data = PlainAccessData.from_json(
        {"accounts": [{"accessKey": 12345678, "admin": "true"}], "dataVersion": None}
    )
    assert data.accounts == [PlainAccessConfig("12345678", admin=True)]
