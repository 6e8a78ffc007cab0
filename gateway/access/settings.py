"""Access-control settings, read from the options once at start-up.

RocketMQ: `AuthConfig`, `AuthenticationFactory`, `AuthorizationFactory`, `AbstractAuthenticationStrategy`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mqgateway.engine import json_members, lenient_json
from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options.access import AccessOptions, AuditFormat, AuthorizationProfile
from mqgateway.gateway.access.encryption import SecretCipher
from mqgateway.gateway.access.signature import Credentials
from mqgateway.gateway.access.users import User, UserType
from mqgateway.gateway.codec.command import RemotingCommand

# RocketMQ's classes by simple name; the package may be omitted.
_DEFAULTS = {
    "authenticationProvider": ("DefaultAuthenticationProvider",),
    "authenticationMetadataProvider": ("LocalAuthenticationMetadataProvider",),
    "authenticationStrategy": ("StatelessAuthenticationStrategy", "StatefulAuthenticationStrategy"),
    "authorizationProvider": ("DefaultAuthorizationProvider",),
    "authorizationMetadataProvider": ("LocalAuthorizationMetadataProvider",),
    "authorizationStrategy": ("StatelessAuthorizationStrategy", "StatefulAuthorizationStrategy"),
}


@dataclass(frozen=True)
class Memory:
    """Maximum number of outcomes that a stateful strategy caches, and their lifetime in seconds."""

    most: int
    seconds: int


@dataclass(frozen=True)
class AccessSettings:
    """Access-control settings of a server; `first_users` are created if they do not exist.

    A memory is None if each request is checked. `credentials` sign the server's own requests. `own_user` is
    their user if they are valid in this process only.
    """

    authenticates: bool
    authorizes: bool
    has_tables: bool
    is_strict: bool
    cluster_name: str
    unsigned_codes: frozenset[int]
    unchecked_codes: frozenset[int]
    authentication_memory: Memory | None
    authorization_memory: Memory | None
    first_users: tuple[User, ...]
    credentials: Credentials | None
    own_user: User | None
    cipher: SecretCipher | None
    audit_format: AuditFormat

    @property
    def is_on(self) -> bool:
        """True if requests are authenticated or authorized."""
        return self.authenticates or self.authorizes

    @property
    def sign(self) -> Callable[[RemotingCommand], None] | None:
        """Function that signs a request of the server; None without credentials."""
        return None if self.credentials is None else self.credentials.sign

    @classmethod
    def of(
        cls, options: AccessOptions, disk: Disk, cluster_name: str, own: Credentials | None = None
    ) -> AccessSettings:
        """Read the options of a server of this cluster.

        `own` are its credentials unless the options name others. Raises `ConfigError`, without secrets in its
        text.
        """
        is_strict = options.authorization_profile is AuthorizationProfile.STRICT
        if options.authorization_enabled and not options.authentication_enabled and is_strict:
            raise ConfigError(
                "authorizationEnabled without authenticationEnabled accepts unverified user names; "
                "set both, or authorizationProfile=standard"
            )
        has_tables = _has_tables(options)
        credentials = _credentials(options.inner_client_authentication_credentials)
        is_own = credentials is None and own is not None and options.authentication_enabled
        return cls(
            authenticates=options.authentication_enabled,
            authorizes=options.authorization_enabled,
            has_tables=has_tables,
            is_strict=is_strict,
            cluster_name=cluster_name,
            unsigned_codes=_codes("authenticationWhitelist", options.authentication_whitelist),
            unchecked_codes=_codes("authorizationWhitelist", options.authorization_whitelist),
            authentication_memory=_memory(
                "authenticationStrategy",
                options.authentication_strategy,
                options.stateful_authentication_cache_max_num,
                options.stateful_authentication_cache_expired_second,
            ),
            authorization_memory=_memory(
                "authorizationStrategy",
                options.authorization_strategy,
                options.stateful_authorization_cache_max_num,
                options.stateful_authorization_cache_expired_second,
            ),
            first_users=tuple(_first_users(options, credentials)),
            credentials=own if is_own else credentials,
            own_user=User(own.access_key, own.secret_key, UserType.SUPER) if is_own and own else None,
            cipher=_cipher(options, disk) if has_tables else None,
            audit_format=options.audit_log_format,
        )


def _has_tables(options: AccessOptions) -> bool:
    """Return True if there are users and policies: if access control is on or their provider class is set.

    Raises `ConfigError` for an unsupported class.
    """
    named = {
        "authenticationProvider": options.authentication_provider,
        "authenticationMetadataProvider": options.authentication_metadata_provider,
        "authorizationProvider": options.authorization_provider,
        "authorizationMetadataProvider": options.authorization_metadata_provider,
    }
    for name, given in named.items():
        _class_name(name, given)
    is_named = named["authenticationMetadataProvider"] or named["authorizationMetadataProvider"]
    return options.authentication_enabled or options.authorization_enabled or bool(is_named.strip())


def _class_name(option: str, given: str) -> str:
    """Return the configured class, or the default. Raises `ConfigError` for an unknown one."""
    known = _DEFAULTS[option]
    name = given.strip().rpartition(".")[2] or known[0]
    if name not in known:
        raise ConfigError(f"{option}={given}: unknown class; supported: {', '.join(known)}")
    return name


def _memory(option: str, given: str, most: int, seconds: int) -> Memory | None:
    return Memory(most, seconds) if _class_name(option, given).startswith("Stateful") else None


def _codes(option: str, text: str) -> frozenset[int]:
    """Parse a list of request codes. Raises `ConfigError` for other words, which would have no effect."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    wrong = [word for word in words if not (word.isascii() and word.isdecimal())]
    if wrong:
        raise ConfigError(f"{option}: {wrong[0]} is not a request code")
    return frozenset(map(int, words))


def _first_users(options: AccessOptions, credentials: Credentials | None) -> list[User]:
    pairs = [
        _pair("initAuthenticationUser", options.init_authentication_user, "username", "password"),
        None if credentials is None else (credentials.access_key, credentials.secret_key),
    ]
    return [User(*pair, UserType.SUPER) for pair in pairs if pair is not None]


def _credentials(text: str) -> Credentials | None:
    pair = _pair("innerClientAuthenticationCredentials", text, "accessKey", "secretKey")
    return None if pair is None else Credentials(*pair)


def _pair(option: str, text: str, name: str, secret: str) -> tuple[str, str] | None:
    """Return two texts of a JSON object; None if the option is blank. Raises `ConfigError`."""
    if not text.strip():
        return None
    try:
        value = lenient_json.loads(text.encode())
        found = json_members.read(value, name, ""), json_members.read(value, secret, "")
    except (AttributeError, ConfigError, ValueError):
        found = ("", "")
    if not all(part.strip() for part in found):
        raise ConfigError(f'{option} must be {{"{name}":"...","{secret}":"..."}}, neither of them blank')
    return found


def _cipher(options: AccessOptions, disk: Disk) -> SecretCipher | None:
    """Return the encryption of passwords, if configured. Raises `ConfigError`."""
    if options.auth_key and options.auth_key_file:
        raise ConfigError("authKey and authKeyFile cannot both be set")
    key = options.auth_key
    if options.auth_key_file:
        try:
            key = disk.read_bytes(options.auth_key_file).decode("ascii", "replace")
        except OSError as error:
            raise ConfigError(f"authKeyFile cannot be read: {error}") from None
    return SecretCipher(key) if key or options.auth_key_file else None
