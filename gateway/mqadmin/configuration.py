"""Credentials, name servers and connection settings of a call.

The sources, by precedence: given options, the profile named on the command line, the environment, the user's
current profile (`profiles`). The last source of credentials is RocketMQ's file, `conf/tools.yml` below
ROCKETMQ_HOME, with the lines `accessKey: ...` and `secretKey: ...`. `--credentials` names another file of
that form, with the precedence of a given option. RocketMQ: `AclUtils.getAclRPCHook`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.mqadmin.declaration import GivenOptions, UsageError
from mqgateway.gateway.mqadmin.profiles import Profile, Profiles, parsed, path_of
from mqgateway.gateway.runtime.name_servers import address_fault, split_addresses

if TYPE_CHECKING:
    from mqgateway.gateway.access.signature import Credentials

TIMEOUT_SECONDS = 5.0
ReadFile = Callable[[str], str | None]
"""Function that returns the text of a file, None if it is missing."""


class AdminConfiguration(NamedTuple):
    """Settings for requests to servers. `timeout` is in seconds, `certificates` a file of CA certificates."""

    name_servers: tuple[str, ...]
    credentials: Credentials | None
    timeout: float
    tls: bool
    certificates: str | None


NOWHERE = AdminConfiguration((), None, TIMEOUT_SECONDS, False, None)
"""Configuration of a call that queries no server."""


def configured(
    given: GivenOptions, environment: Mapping[str, str], read_file: ReadFile
) -> AdminConfiguration:
    """Return the configuration of a call.

    Raises `UsageError` for an invalid timeout or address, an access key without a secret key, and a missing
    profile.
    """
    named = given.text("profile")
    profile = known_profiles(environment, read_file).chosen(named)
    from_environment = Profile(
        name_servers=environment.get("NAMESRV_ADDR", ""),
        access_key=environment.get("ROCKETMQ_ACCESS_KEY", ""),
        secret_key=environment.get("ROCKETMQ_SECRET_KEY", ""),
    )
    sources = [profile, from_environment] if named else [from_environment, profile]
    addresses = given.text("n") or next((one.name_servers for one in sources if one.name_servers), "")
    certificates = given.text("tls-ca") or profile.tls_ca
    name_servers = split_addresses(addresses)
    if fault := next(filter(None, map(address_fault, name_servers)), None):
        raise UsageError(f"name server {fault}")
    return AdminConfiguration(
        tuple(name_servers),
        _chosen_credentials(given, sources, environment, read_file),
        seconds(given, "timeout", profile.timeout or TIMEOUT_SECONDS),
        "tls" in given or profile.tls or certificates is not None,
        certificates,
    )


def known_profiles(environment: Mapping[str, str], read_file: ReadFile) -> Profiles:
    """Return the profiles of the user; none without a file. Raises `UsageError` for an invalid file."""
    path = path_of(environment)
    text = read_file(path)
    return Profiles(path, None, {}) if text is None else parsed(text, path)


def seconds(given: GivenOptions, key: str, default: float) -> float:
    """Return a time in seconds, above zero. Raises `UsageError` for anything else."""
    text = given.text(key)
    try:
        value = default if text is None else float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise UsageError(f"{given.name(key)} is not a number of seconds: {text!r}")
    return value


def _chosen_credentials(
    given: GivenOptions, sources: list[Profile], environment: Mapping[str, str], read_file: ReadFile
) -> Credentials | None:
    path = given.text("credentials")
    if path is None or given.text("access-key"):
        return _credentials([_given_keys(given), *sources], lambda: _tools_file(environment, read_file))
    text = read_file(path)
    if text is None:
        raise UsageError(f"--credentials {path}: there is no such file, or it cannot be read")
    found = _parsed_file(text, path)
    if found is None:
        raise UsageError(f"--credentials {path}: the lines accessKey and secretKey are missing")
    return found


def _parsed_file(text: str, path: str) -> Credentials | None:
    # Slow to load, and many requests are not signed.
    from mqgateway.gateway.access.signature import credentials_in

    try:
        return credentials_in(text, path)
    except ConfigError as error:
        raise UsageError(str(error)) from None


def _given_keys(given: GivenOptions) -> Profile:
    return Profile(access_key=given.text("access-key") or "", secret_key=given.text("secret-key") or "")


def _tools_file(environment: Mapping[str, str], read_file: ReadFile) -> str | None:
    home = environment.get("ROCKETMQ_HOME")
    return read_file(f"{home}/conf/tools.yml") if home else None


def _credentials(sources: list[Profile], tools_file: Callable[[], str | None]) -> Credentials | None:
    """Return the credentials of the first source with an access key, else those of RocketMQ's file.

    The secret key may come from a later source. Raises `UsageError` if no source has one.
    """
    first = next((number for number, one in enumerate(sources) if one.access_key), len(sources))
    text = tools_file() if first == len(sources) else None
    if first == len(sources) and not text:
        return None
    if text:
        return _parsed_file(text, "tools.yml")
    from mqgateway.gateway.access.signature import Credentials  # as above

    secret = next((one.secret_key for one in sources[first:] if one.secret_key), "")
    if not secret:
        raise UsageError("an access key needs a secret key: give --secret-key, or set ROCKETMQ_SECRET_KEY")
    return Credentials(sources[first].access_key, secret)
