"""Settings that exclude each other."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.access.plain.settings import check_plain_settings


@pytest.mark.parametrize(
    ("options", "has_users", "problem"),
    [
        ({}, False, ""),
        ({}, True, ""),
        ({"acl_enable": True, "rocketmq_home": "/rmq"}, False, ""),
        ({"migrate_auth_from_v1_enabled": True, "rocketmq_home": "/rmq"}, True, ""),
        ({"acl_enable": True, "rocketmq_home": "/rmq"}, True, "there can be only one"),
        ({"acl_enable": True}, False, "accounts are read from conf/plain_acl.yml and conf/acl"),
        ({"migrate_auth_from_v1_enabled": True}, True, "rocketmqHome or ROCKETMQ_HOME"),
        ({"migrate_auth_from_v1_enabled": True, "rocketmq_home": "/rmq"}, False, "which is off: set"),
        (
            {"migrate_auth_from_v1_enabled": True, "acl_enable": True, "rocketmq_home": "/rmq"},
            False,
            "in the place of aclEnable",
        ),
    ],
)
def test_settings(options: dict[str, Any], has_users: bool, problem: str) -> None:
    made_of = BrokerOptions(**options)
    if not problem:
        check_plain_settings(made_of, has_users)
        return
    with pytest.raises(ConfigError, match=problem):
        check_plain_settings(made_of, has_users)
