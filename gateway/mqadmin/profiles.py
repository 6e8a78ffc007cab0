"""Profiles: named servers and credentials, in a file of the user; pure.

    current = "test"                    # used if no profile is named

    [profiles.test]
    name-servers = "10.0.0.1:9876;10.0.0.2:9876"
    access-key = "admin"
    secret-key = "..."
    tls = true
    tls-ca = "/etc/rocketmq/ca.pem"
    timeout = 5

All members may be left out. The file is `mqgateway/profiles.toml` below XDG_CONFIG_HOME, else below
`~/.config`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from mqgateway.gateway.mqadmin.declaration import UsageError


class Profile(NamedTuple):
    """One profile. `timeout` is in seconds; None and "" stand for missing values."""

    name_servers: str = ""
    access_key: str = ""
    secret_key: str = ""
    tls: bool = False
    tls_ca: str | None = None
    timeout: float | None = None


class Profiles(NamedTuple):
    """All profiles of a file, and the name of the current one."""

    path: str
    current: str | None
    by_name: Mapping[str, Profile]

    def chosen(self, name: str | None) -> Profile:
        """Return the profile of a name, else the current one; without either an empty one.

        Raises `UsageError` for an unknown name.
        """
        wanted = name or self.current
        if wanted is None:
            return Profile()
        if wanted not in self.by_name:
            known = ", ".join(sorted(self.by_name)) or "none"
            raise UsageError(f"{self.path} has no profile {wanted!r}; there are: {known}")
        return self.by_name[wanted]


_KINDS: dict[str, tuple[type, ...]] = {
    "name-servers": (str,),
    "access-key": (str,),
    "secret-key": (str,),
    "tls": (bool,),
    "tls-ca": (str,),
    "timeout": (int, float),
}
_WORDS = {str: "a text in quotes", bool: "true or false", int: "a number"}


def path_of(environment: Mapping[str, str]) -> str:
    """Return the path of a user's profiles."""
    folder = environment.get("XDG_CONFIG_HOME") or f"{environment.get('HOME', '~')}/.config"
    return f"{folder}/mqgateway/profiles.toml"


def parsed(text: str, path: str) -> Profiles:
    """Return the profiles of a file. Raises `UsageError` with the location and the allowed values."""
    import tomllib  # slow to load, and many have no such file

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: {error}") from None
    if unknown := document.keys() - {"current", "profiles"}:
        raise UsageError(f"{path}: {min(unknown)}: only current and [profiles.NAME] are allowed")
    current = document.get("current")
    if current is not None and not isinstance(current, str):
        raise UsageError(f"{path}: current = {current!r}: must be the name of a profile in quotes")
    tables = document.get("profiles", {})
    if not isinstance(tables, dict):
        raise UsageError(f"{path}: profiles = {tables!r}: must be a table [profiles.NAME]")
    return Profiles(path, current, {name: _profile(name, table, path) for name, table in tables.items()})


def _profile(name: str, table: Any, path: str) -> Profile:
    if not isinstance(table, dict):
        raise UsageError(f"{path}: profiles.{name}: must be a table [profiles.{name}]")
    for key, value in table.items():
        if key not in _KINDS:
            raise UsageError(f"{path}: [profiles.{name}] {key}: there are {', '.join(_KINDS)}")
        kinds = _KINDS[key]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            shown = "..." if key == "secret-key" else repr(value)
            raise UsageError(f"{path}: [profiles.{name}] {key} = {shown}: must be {_WORDS[kinds[0]]}")
    if "timeout" in table and not 0 < table["timeout"] < 1e6:
        raise UsageError(
            f"{path}: [profiles.{name}] timeout = {table['timeout']}: must be a number of seconds"
        )
    return Profile(**{key.replace("-", "_"): value for key, value in table.items()})
