"""`mqgateway profile`: servers and credentials under a name, for `mqadmin --profile`.

What people wrote into the file, remarks too, stays as it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from mqgateway.gateway.cli.plain import escaped, escaped_json
from mqgateway.gateway.mqadmin.declaration import UsageError
from mqgateway.gateway.mqadmin.profiles import Profile, Profiles, parsed, path_of

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

NOT_FOUND = 3
_AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def profile() -> None:
    """Servers and credentials under a name, for mqadmin.

    \b
    mqgateway profile set test --namesrv 10.0.0.1:9876 --access-key admin --ask-secret-key
    mqgateway profile use test
    mqadmin clusterList
    mqadmin clusterList --profile live
    """


@profile.command("list")
@_AS_JSON
def list_all(as_json: bool) -> None:
    """All profiles; a star stands before the one that counts unless another is named."""
    found = _read()
    if as_json:
        told = {name: _shown(one) for name, one in sorted(found.by_name.items())}
        click.echo(escaped_json(json.dumps({"current": found.current, "profiles": told})))
        return
    for name, one in sorted(found.by_name.items()):
        star = "*" if name == found.current else " "
        click.echo(escaped(f"{star} {name:<20} {one.name_servers}"))
    if not found.by_name:
        click.echo(f"there are none in {found.path}; mqgateway profile set NAME makes one", err=True)


@profile.command()
@click.argument("name")
@_AS_JSON
def show(name: str, as_json: bool) -> None:
    """What a profile says; its secret key is hidden."""
    told = _shown(_known(_read(), name))
    if as_json:
        click.echo(escaped_json(json.dumps(told)))
        return
    for key, value in told.items():
        click.echo(escaped(f"{key:<13} {value}"))


@profile.command("set")
@click.argument("name")
@click.option("-n", "--namesrv", help="Name servers, host:port separated by ';'.")
@click.option("--access-key", help="Name under which requests are signed.")
@click.option("--ask-secret-key", is_flag=True, help="Ask for the key that they are signed with.")
@click.option("--tls/--no-tls", default=None, help="Whether connections are opened with TLS.")
@click.option("--tls-ca", help="A file of certificates that vouch for the servers.")
@click.option("--timeout", type=float, help="Seconds that an answer may take.")
def set_one(name: str, ask_secret_key: bool, **given: Any) -> None:
    """Make a profile, or change what is given of one."""
    given["name_servers"] = given.pop("namesrv")
    if ask_secret_key:
        given["secret_key"] = click.prompt("Secret key", hide_input=True)

    def change(document: TOMLDocument) -> None:
        table = document.setdefault("profiles", {}).setdefault(name, {})
        table.update({key.replace("_", "-"): value for key, value in given.items() if value is not None})

    _change(change)


@profile.command()
@click.argument("name")
def use(name: str) -> None:
    """Let a profile count unless another is named."""
    _known(_read(), name)
    _change(lambda document: document.update({"current": name}))


@profile.command()
@click.argument("name")
def remove(name: str) -> None:
    """Forget a profile."""
    _known(_read(), name)

    def change(document: TOMLDocument) -> None:
        del document["profiles"][name]
        if document.get("current") == name:
            del document["current"]

    _change(change)


def _fail(error: object, code: int) -> NoReturn:
    click.echo(f"error: {escaped(str(error))}", err=True)
    raise SystemExit(code)


def _path() -> Path:
    return Path(path_of(os.environ))


def _text() -> str:
    try:
        return _path().read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        _fail(f"{_path()}: {error}", 1)


def _read() -> Profiles:
    try:
        return parsed(_text(), str(_path()))
    except UsageError as error:
        _fail(error, 2)


def _known(found: Profiles, name: str) -> Profile:
    try:
        return found.chosen(name)
    except UsageError as error:
        _fail(error, NOT_FOUND)


def _shown(one: Profile) -> dict[str, Any]:
    """What is said of it, without the secret."""
    told = {key.replace("_", "-"): value for key, value in one._asdict().items() if value}
    return told | ({"secret-key": "***"} if one.secret_key else {})


def _change(change: Callable[[TOMLDocument], object]) -> None:
    """Change the file, which only its owner may read; who reads meanwhile sees the old one or the new one."""
    import tomlkit  # slow to load, and needed for changes only

    _read()
    document = tomlkit.parse(_text())
    change(document)
    text = tomlkit.dumps(document)
    try:
        parsed(text, "this")
    except UsageError as error:
        _fail(error, 2)
    path = _path()
    aside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(
            os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8"
        ) as file:
            file.write(text)
        aside.replace(path)
    except OSError as error:
        _fail(error, 1)
