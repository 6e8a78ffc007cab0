"""Settings of access control of version 4, and of the migration from it."""

from __future__ import annotations

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import BrokerOptions


def check_plain_settings(options: BrokerOptions, has_users: bool) -> None:
    """Check `aclEnable` and `migrateAuthFromV1Enabled`; `has_users` is True if ACL 2.0 has its tables.

    Raises `ConfigError`.
    """
    if options.acl_enable and has_users:
        raise ConfigError(
            "aclEnable is access control of version 4, authenticationEnabled and authorizationEnabled are "
            "version 5's: there can be only one. To move on: aclEnable=false, migrateAuthFromV1Enabled=true"
        )
    if options.migrate_auth_from_v1_enabled and not has_users:
        raise ConfigError(
            "migrateAuthFromV1Enabled makes users and policies of ACL 2.0, which is off: set "
            "authenticationEnabled=true and authorizationEnabled=true"
            + (" in the place of aclEnable" if options.acl_enable else "")
        )
    if (options.acl_enable or options.migrate_auth_from_v1_enabled) and not options.rocketmq_home:
        raise ConfigError(
            f"accounts are read from {options.acl_plain_file} and conf/acl of the installation folder: say "
            "where that is by rocketmqHome or ROCKETMQ_HOME"
        )
