"""Who we are and where the name servers are: what was given, else the environment, else the tool's file.

The file is the standard's, `conf/tools.yml` below ROCKETMQ_HOME: `accessKey: ...` and `secretKey: ...`.
Standard: `AclUtils.getAclRPCHook`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from mqgateway.gateway.mqadmin.declaration import Given, UsageError

if TYPE_CHECKING:
    from mqgateway.gateway.access.signature import Credentials

TIMEOUT_SECONDS = 5.0


class Configuration(NamedTuple):
    """How servers are asked."""

    name_servers: tuple[str, ...]
    credentials: Credentials | None
    timeout: float
    tls: bool
    certificates: str | None


def configured(
    given: Given, environment: Mapping[str, str], read_file: Callable[[str], str | None]
) -> Configuration:
    """The configuration of a call; `read_file` gives None for a file that is not there.

    Raises `UsageError` for a timeout that is no number.
    """
    addresses = given.text("n") or environment.get("NAMESRV_ADDR", "")
    return Configuration(
        tuple(one.strip() for one in addresses.split(";") if one.strip()),
        _credentials(given, environment, read_file),
        seconds(given, "timeout", TIMEOUT_SECONDS),
        "tls" in given or "tls-ca" in given,
        given.text("tls-ca"),
    )


def seconds(given: Given, key: str, default: float) -> float:
    """A time in seconds, above zero."""
    text = given.text(key)
    try:
        value = default if text is None else float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise UsageError(f"the value of --{key} is no number of seconds: {text!r}")
    return value


def _credentials(
    given: Given, environment: Mapping[str, str], read_file: Callable[[str], str | None]
) -> Credentials | None:
    access = given.text("access-key") or environment.get("ROCKETMQ_ACCESS_KEY")
    secret = given.text("secret-key") or environment.get("ROCKETMQ_SECRET_KEY")
    home = environment.get("ROCKETMQ_HOME")
    text = read_file(f"{home}/conf/tools.yml") if home and not access else None
    if not access and not text:
        return None
    # Slow to load, and many calls are not signed.
    from mqgateway.gateway.access.signature import Credentials, credentials_in

    if text:
        return credentials_in(text)
    if not access or not secret:
        raise UsageError("an access key needs a secret key")
    return Credentials(access, secret)
