"""`mqgateway profile`: named servers and credentials for `--profile`; no server is queried.

A change keeps the rest of the file, including comments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from mqgateway.gateway.client.errors import NoBroker
from mqgateway.gateway.mqadmin.configuration import seconds
from mqgateway.gateway.mqadmin.declaration import (
    CommandCall,
    NameKind,
    Row,
    UsageError,
    command,
    flag,
    operand,
)
from mqgateway.gateway.mqadmin.profiles import Profile, Profiles, parsed
from mqgateway.gateway.resources.rendering import listed, table

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

_NAME = operand("p", "name", "name of the profile", values=NameKind.PROFILE)


@command(
    "profile list",
    text=table(
        *("name", "isCurrent", "nameServers", "accessKey", "tls", "timeout"),
        nothing="no profiles; mqgateway profile set NAME creates one",
    ),
    is_local=True,
)
def list_all(call: CommandCall) -> Iterator[Row]:
    """Yield all profiles, sorted by name."""
    found = _read(call)
    yield from (_row(found, name) for name in sorted(found.by_name))


@command("profile show", _NAME, text=listed, is_local=True)
def show(call: CommandCall) -> Iterator[Row]:
    """Yield one profile."""
    yield _row(_read(call), _known(call))


@command(
    "profile set",
    _NAME,
    flag("", "ask-secret-key", "ask for the secret key on the terminal"),
    flag("", "no-tls", "connect without TLS"),
    text=listed,
    is_local=True,
)
def set_one(call: CommandCall) -> Iterator[Row]:
    """Create or change a profile from flags of all commands: -n, --access-key, --tls, --tls-ca, --timeout."""
    given, name = call.given, call.given.need("p")
    texts = {"name-servers": given.text("n"), "access-key": given.text("access-key")}
    texts |= {"secret-key": given.text("secret-key"), "tls-ca": given.text("tls-ca")}
    values: dict[str, str | bool | float] = {key: value for key, value in texts.items() if value is not None}
    if "ask-secret-key" in given:
        values["secret-key"] = call.ask_secret("Secret key: ")
    if "tls" in given or "no-tls" in given:
        values["tls"] = "no-tls" not in given
    if "timeout" in given:
        values["timeout"] = seconds(given, "timeout", 0.0)
    found = _change(
        call, lambda document: document.setdefault("profiles", {}).setdefault(name, {}).update(values)
    )
    yield _row(found, name)


@command("profile use", _NAME, text=listed, is_local=True)
def use(call: CommandCall) -> Iterator[Row]:
    """Make an existing profile the current one."""
    name = _known(call)
    yield _row(_change(call, lambda document: document.update({"current": name})), name)


@command("profile remove", _NAME, text=table("name"), is_local=True)
def remove(call: CommandCall) -> Iterator[Row]:
    """Remove a profile. If it is the current one, there is no current one afterwards."""
    name = _known(call)

    def change(document: TOMLDocument) -> None:
        del document["profiles"][name]
        if document.get("current") == name:
            del document["current"]

    _change(call, change)
    yield {"name": name}


def _read(call: CommandCall) -> Profiles:
    return parsed(call.profiles.read(), call.profiles.name)


def _known(call: CommandCall) -> str:
    """Return the given name. Raises `NoBroker` if there is no such profile."""
    name = call.given.need("p")
    try:
        _read(call).chosen(name)
    except UsageError as error:
        raise NoBroker(str(error)) from None
    return name


def _row(found: Profiles, name: str) -> Row:
    """Return the row of a profile, without its secret key."""
    one = found.by_name.get(name, Profile())
    return {
        "name": name,
        "isCurrent": name == found.current,
        "nameServers": one.name_servers,
        "accessKey": one.access_key,
        "secretKey": "***" if one.secret_key else "",
        "tls": one.tls,
        "tlsCa": one.tls_ca,
        "timeout": one.timeout,
    }


def _change(call: CommandCall, change: Callable[[TOMLDocument], object]) -> Profiles:
    """Change the file, except in a dry run. Return the new profiles.

    Raises `UsageError` if the new text could not be parsed.
    """
    import tomlkit  # slow to load, and needed for changes only

    _read(call)
    document = tomlkit.parse(call.profiles.read())
    change(document)
    text = tomlkit.dumps(document)
    found = parsed(text, call.profiles.name)
    if not call.is_dry:
        call.profiles.write(text)
    return found
