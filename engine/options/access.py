"""Settings of access control: who is let in, and who may do what.

Standard: `AuthConfig`, and version 4's `aclEnable`.
"""

from enum import StrEnum

from mqgateway.engine.options.option import Effect, option
from mqgateway.engine.options.option_set import Options


class AuthorizationProfile(StrEnum):
    """Which requests need something: all of them, or those that the standard has a rule for."""

    STRICT = "strict"
    STANDARD = "standard"


class AuditFormat(StrEnum):
    """How lines of the audit log are written."""

    TEXT = "text"
    JSON = "json"


class AclOptions(Options):
    """Access control of version 4, which only brokers have."""

    acl_enable: bool = option(
        False, "Access control of version 4: accounts in files below rocketmqHome.", effect=Effect.RESTART
    )
    acl_plain_file: str = option(
        "conf/plain_acl.yml",
        "File of those accounts, beside all below conf/acl; from rocketmqHome.",
        ours=True,
        effect=Effect.FIXED,
    )
    migrate_auth_from_v1_enabled: bool = option(
        False,
        "Make users of those accounts at the start.",
        name="migrateAuthFromV1Enabled",
        effect=Effect.RESTART,
    )


class AccessOptions(Options):
    """Who may do what, with any server."""

    authentication_enabled: bool = option(
        False, "Take requests only of users who sign them.", effect=Effect.FIXED
    )
    authentication_provider: str = option(
        "", "Class that checks signatures; empty: the default one.", effect=Effect.FIXED
    )
    authentication_metadata_provider: str = option(
        "",
        "Class that keeps users; empty: the local one, once a switch is on.",
        effect=Effect.FIXED,
    )
    authentication_strategy: str = option(
        "",
        "Class that says how often: each request (empty, Stateless...), or once in a while (Stateful...).",
        effect=Effect.FIXED,
    )
    authentication_whitelist: str = option(
        "", "Request codes that need no signature, separated by commas.", effect=Effect.FIXED
    )
    init_authentication_user: str = option(
        "",
        'First super user, as in {"username":"...","password":"..."}.',
        secret=True,
        effect=Effect.FIXED,
    )
    inner_client_authentication_credentials: str = option(
        "",
        'What the broker itself signs with, as in {"accessKey":"...","secretKey":"..."}; a super user.',
        secret=True,
        effect=Effect.FIXED,
    )
    authorization_enabled: bool = option(
        False, "Let users do only what policies allow them.", effect=Effect.FIXED
    )
    authorization_provider: str = option(
        "", "Class that decides; empty: the default one.", effect=Effect.FIXED
    )
    authorization_metadata_provider: str = option(
        "", "Class that keeps policies; empty: the local one.", effect=Effect.FIXED
    )
    authorization_strategy: str = option(
        "", "As authenticationStrategy, of what is allowed.", effect=Effect.FIXED
    )
    authorization_whitelist: str = option(
        "", "Request codes that any user may send, separated by commas.", effect=Effect.FIXED
    )
    authorization_profile: AuthorizationProfile = option(
        AuthorizationProfile.STRICT,
        "What needs permission: every request (strict), or what the standard has a rule for (standard).",
        ours=True,
        effect=Effect.FIXED,
    )
    stateful_authentication_cache_max_num: int = option(
        10000,
        "Outcomes kept by a stateful authentication.",
        low=1,
        effect=Effect.FIXED,
    )
    stateful_authentication_cache_expired_second: int = option(
        60, "How long each is kept.", unit="s", low=1, effect=Effect.FIXED
    )
    stateful_authorization_cache_max_num: int = option(
        10000,
        "Outcomes kept by a stateful authorization.",
        low=1,
        effect=Effect.FIXED,
    )
    stateful_authorization_cache_expired_second: int = option(
        60, "How long each is kept.", unit="s", low=1, effect=Effect.FIXED
    )
    auth_key: str = option(
        "",
        "Key that passwords are encrypted with in users.json: 32 bytes in base64.",
        ours=True,
        secret=True,
        effect=Effect.FIXED,
    )
    auth_key_file: str = option("", "File with that key.", ours=True, effect=Effect.FIXED)
    audit_log_format: AuditFormat = option(
        AuditFormat.TEXT, "Lines of the audit log.", ours=True, effect=Effect.FIXED
    )
    max_users: int = option(10_000, "Users there may be.", low=1, ours=True)
    max_policy_entries_per_user: int = option(
        2000,
        "Entries that the policies of a user may have; a change of one holds others up for all of them.",
        low=1,
        ours=True,
    )
