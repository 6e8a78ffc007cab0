"""Pages generated from declarations: settings, commands and request codes, in Markdown.

`python -m website.reference` writes those that are kept in the repository, `KEPT`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path

from mqgateway.engine.options import BrokerOptions, NamesrvOptions, RemotingOptions, StoreOptions, TlsOptions
from mqgateway.engine.options.container import ContainerOptions
from mqgateway.engine.options.controller import ControllerOptions
from mqgateway.engine.options.option import Option, format_value, options_of
from mqgateway.engine.options.option_set import OptionSet
from mqgateway.gateway.access.requests import REQUESTS as ACCESS
from mqgateway.gateway.broker import requests as broker
from mqgateway.gateway.client import options as client
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.container import requests as container
from mqgateway.gateway.controller import requests as controller
from mqgateway.gateway.mqadmin.catalogue import MQADMIN, Catalogue
from mqgateway.gateway.mqadmin.declaration import every
from mqgateway.gateway.mqadmin.usage import help_of
from mqgateway.gateway.namesrv import service as name_server
from mqgateway.gateway.resources import CATALOGUE as RESOURCE_COMMANDS

SERVERS: Mapping[str, Callable[[], OptionSet]] = {
    "Broker": lambda: OptionSet(BrokerOptions(), RemotingOptions(), StoreOptions(), TlsOptions()),
    "Name server": lambda: OptionSet(NamesrvOptions(), RemotingOptions(), TlsOptions()),
    "Controller": lambda: OptionSet(ControllerOptions(), RemotingOptions(), TlsOptions()),
    "Container": lambda: OptionSet(ContainerOptions(), RemotingOptions(), TlsOptions()),
}
CLIENTS: Mapping[str, type[client.ClientOptions]] = {
    "Every client": client.ClientOptions,
    "Producer": client.ProducerOptions,
    "Every consumer": client.ConsumerOptions,
    "PushConsumer": client.PushOptions,
    "PullConsumer": client.PullOptions,
    "SimpleConsumer": client.SimpleOptions,
    "LitePullConsumer": client.LitePullOptions,
}
"""The classes of the Python client with the options that each adds to its base."""
ANSWERED: Mapping[str, Iterable[int]] = {
    "broker": broker.REQUESTS,
    "name server": {**name_server.REQUESTS, **ACCESS},
    "controller": controller.REQUESTS,
    "container": container.REQUESTS,
}
REFUSED: Mapping[str, Mapping[int, str]] = {
    "broker": broker.UNSUPPORTED,
    "name server": name_server.UNSUPPORTED,
    "controller": controller.UNSUPPORTED,
    "container": container.UNSUPPORTED,
}


def settings() -> str:
    """Return the page of every property of every server."""
    lines = [
        "# Settings of the servers",
        "",
        "Properties of `broker.conf` and the other settings files, of `--set property=value`, and of",
        "`updateBrokerConfig`. `mqgateway broker -p` prints the effective values of a server and the origin",
        "of each. Properties marked *only here* do not exist in Apache RocketMQ.",
        "",
        "| server | settings |",
        "| --- | --- |",
        *(f"| {name} | [{len(make().names())}](#{_anchor(name)}) |" for name, make in SERVERS.items()),
    ]
    for server, make in SERVERS.items():
        known = make()
        options = [known.option(name) for name in sorted(known.names(), key=str.lower)]
        lines += ["", f"## {server}", "", "| property | default | meaning |", "| --- | --- | --- |"]
        lines += (_setting(option) for option in options if not option.no_effect)
        lines += ["", f"### Accepted by the {server.lower()} without effect", ""]
        lines += ["| property | default | reason |", "| --- | --- | --- |"]
        lines += (
            f"| `{option.name}` | {_default(option)} | {_cell(option.no_effect)} |"
            for option in options
            if option.no_effect
        )
    return "\n".join(lines) + "\n"


def client_settings() -> str:
    """Return the page of every keyword argument of the Python client's classes."""
    lines = [
        "# Settings of the Python client",
        "",
        "Keyword arguments of the classes of `mqgateway`, `mqgateway.aio` and `mqgateway.deferred`",
        "([client](../client.md#settings)), and of `--set` of the client commands. A class takes the",
        "settings of its own section and of the sections for every client and every consumer. Settings",
        "marked *only here* do not exist in Apache's clients.",
    ]
    for name, kind in CLIENTS.items():
        bases = [base for base in kind.__bases__ if issubclass(base, client.ClientOptions)]
        inherited = {option.name for base in bases for option in options_of(base)}
        own = [option for option in options_of(kind) if option.name not in inherited]
        lines += ["", f"## {name}", ""]
        if not own:
            lines.append("No settings of its own.")
            continue
        lines += ["| argument | RocketMQ's name | default | meaning |", "| --- | --- | --- | --- |"]
        lines += map(_client_setting, sorted(own, key=lambda option: option.attribute))
    return "\n".join(lines) + "\n"


def _setting(option: Option) -> str:
    return f"| `{option.name}` | {_default(option)} | {_meaning(option)} |"


def _client_setting(option: Option) -> str:
    name = "" if option.ours else f"`{option.name}`"
    return f"| `{option.attribute}` | {name} | {_default(option)} | {_meaning(option)} |"


def _meaning(option: Option) -> str:
    notes = [option.meaning]
    if isinstance(option.default, StrEnum):
        notes.append(f"One of {', '.join(f'`{choice.value}`' for choice in type(option.default))}.")
    if option.old_names:
        notes.append(f"Formerly {', '.join(f'`{name}`' for name in option.old_names)}.")
    if option.ours:
        notes.append("*Only here.*")
    return _cell(" ".join(notes))


def _anchor(heading: str) -> str:
    return heading.lower().replace(" ", "-")


def _default(option: Option) -> str:
    text = format_value(option.default)
    return f"`{text}`{f' {option.unit}' if option.unit else ''}" if text else ""


def _cell(text: str) -> str:
    """Return text escaped for a table."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def commands() -> str:
    """Every command that is declared: those of mqadmin, and resource commands."""
    lines = ["# Every command", ""]
    lines += ["What `--help` says. [Commands](../commands.md) has what they have in common.", ""]
    for catalogue in (RESOURCE_COMMANDS, MQADMIN):
        lines += _of_catalogue(catalogue)
    return "\n".join(lines) + "\n"


def _of_catalogue(catalogue: Catalogue) -> Iterator[str]:
    yield f"## {catalogue.program}"
    yield ""
    for command in sorted(every(catalogue), key=lambda one: one.name.lower()):
        own, _, _ = help_of(command, catalogue).partition("Every command also takes")
        yield f"### {catalogue.program} {command.name}"
        yield ""
        yield f"{_cell(catalogue.places[command.name].about)}."
        yield ""
        yield from ("```text", own.rstrip(), "```", "")


def request_codes() -> str:
    """Every request code, who answers it, and why others do not."""
    lines = [
        "# Request codes",
        "",
        "The codes of the remoting protocol of Apache RocketMQ 5.5.0. Servers not named refuse a code",
        "with 3, `request type N not supported`.",
        "",
        "| code | name | answered by | else |",
        "| ---: | --- | --- | --- |",
    ]
    for code in sorted(RequestCode):
        answering = [server for server, codes in ANSWERED.items() if code in codes]
        why = "" if answering else next((why[code] for why in REFUSED.values() if code in why), "")
        lines.append(f"| {int(code)} | `{code.name}` | {', '.join(answering)} | {_cell(why)} |")
    return "\n".join(lines) + "\n"


PAGES = {
    "reference/settings.md": settings,
    "reference/client-settings.md": client_settings,
    "reference/commands.md": commands,
    "reference/requests.md": request_codes,
}
"""Generated pages by their path on the site."""
KEPT = ("reference/settings.md", "reference/client-settings.md")
"""Those that are also kept below `docs`, for readers of the repository."""
DOCS = Path(__file__).parents[1] / "docs"


def write() -> None:
    """Write the pages that are kept."""
    for page in KEPT:
        (DOCS / page).parent.mkdir(exist_ok=True)
        (DOCS / page).write_text(PAGES[page]())


if __name__ == "__main__":
    write()
