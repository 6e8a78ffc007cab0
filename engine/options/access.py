"""Settings of access control: authentication and authorization.

Standard: `AuthConfig`, and version 4's `aclEnable`.
"""

from enum import StrEnum

from mqgateway.engine.options.option import Effect, option
from mqgateway.engine.options.option_set import Options


class AuthorizationProfile(StrEnum):
    """Requests that need permission: all, or those for which RocketMQ has a rule."""

    STRICT = "strict"
    STANDARD = "standard"


class AuditFormat(StrEnum):
    """Format of audit log lines."""

    TEXT = "text"
    JSON = "json"


class AclOptions(Options):
    """Access control of version 4, for brokers only."""

    acl_enable: bool = option(
        False,
        "Enable access control of version 4: accounts in files under rocketmqHome.",
        effect=Effect.RESTART,
    )
    acl_plain_file: str = option(
        "conf/plain_acl.yml",
        "Account file of version 4, relative to rocketmqHome. Files under conf/acl are read as well.",
        ours=True,
        effect=Effect.FIXED,
    )
    migrate_auth_from_v1_enabled: bool = option(
        False,
        "Create users from the version 4 accounts at start.",
        name="migrateAuthFromV1Enabled",
        effect=Effect.RESTART,
    )


class AccessOptions(Options):
    """Access control of every server."""

    authentication_enabled: bool = option(
        False, "Accept only requests that a known user has signed.", effect=Effect.FIXED
    )
    authentication_provider: str = option(
        "", "Class that verifies signatures. Empty: the default class.", effect=Effect.FIXED
    )
    authentication_metadata_provider: str = option(
        "",
        "Class that stores users. Empty: local storage if authentication or authorization is enabled.",
        effect=Effect.FIXED,
    )
    authentication_strategy: str = option(
        "",
        "Class that decides if every request is verified (empty or Stateless...) or results are cached "
        "(Stateful...).",
        effect=Effect.FIXED,
    )
    authentication_whitelist: str = option(
        "", "Request codes that need no signature, separated by commas.", effect=Effect.FIXED
    )
    init_authentication_user: str = option(
        "",
        'Super user to create at the first start, as {"username":"...","password":"..."}.',
        secret=True,
        effect=Effect.FIXED,
    )
    inner_client_authentication_credentials: str = option(
        "",
        'Credentials of the broker\'s own requests, as {"accessKey":"...","secretKey":"..."}. The '
        "user is a super user.",
        secret=True,
        effect=Effect.FIXED,
    )
    authorization_enabled: bool = option(
        False, "Restrict users to what their policies allow.", effect=Effect.FIXED
    )
    authorization_provider: str = option(
        "", "Class that evaluates policies. Empty: the default class.", effect=Effect.FIXED
    )
    authorization_metadata_provider: str = option(
        "", "Class that stores policies. Empty: local storage.", effect=Effect.FIXED
    )
    authorization_strategy: str = option(
        "",
        "Class that decides if every request is authorized (empty or Stateless...) or results are cached "
        "(Stateful...).",
        effect=Effect.FIXED,
    )
    authorization_whitelist: str = option(
        "", "Request codes that any user may send, separated by commas.", effect=Effect.FIXED
    )
    authorization_profile: AuthorizationProfile = option(
        AuthorizationProfile.STRICT,
        "Requests that need permission: all (strict), or those for which RocketMQ has a rule (standard).",
        ours=True,
        effect=Effect.FIXED,
    )
    stateful_authentication_cache_max_num: int = option(
        10000,
        "Maximum number of cached results with stateful authentication.",
        low=1,
        effect=Effect.FIXED,
    )
    stateful_authentication_cache_expired_second: int = option(
        60, "Lifetime of a cached authentication result.", unit="s", low=1, effect=Effect.FIXED
    )
    stateful_authorization_cache_max_num: int = option(
        10000,
        "Maximum number of cached results with stateful authorization.",
        low=1,
        effect=Effect.FIXED,
    )
    stateful_authorization_cache_expired_second: int = option(
        60, "Lifetime of a cached authorization result.", unit="s", low=1, effect=Effect.FIXED
    )
    auth_key: str = option(
        "",
        "Key that encrypts the passwords in users.json: 32 bytes in base64.",
        ours=True,
        secret=True,
        effect=Effect.FIXED,
    )
    auth_key_file: str = option("", "File that contains authKey.", ours=True, effect=Effect.FIXED)
    audit_log_format: AuditFormat = option(
        AuditFormat.TEXT, "Format of audit log lines: text or json.", ours=True, effect=Effect.FIXED
    )
    max_users: int = option(10_000, "Maximum number of users.", low=1, ours=True)
    max_policy_entries_per_user: int = option(
        2000,
        "Maximum number of policy entries of a user. A larger number makes each policy change block the "
        "server longer.",
        low=1,
        ours=True,
    )
