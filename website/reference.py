"""Pages that nobody writes: settings, commands and request codes, as they are declared. Markdown, pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from mqgateway.engine.options import BrokerOptions, NamesrvOptions, RemotingOptions, StoreOptions, TlsOptions
from mqgateway.engine.options.container import ContainerOptions
from mqgateway.engine.options.controller import ControllerOptions
from mqgateway.engine.options.option import Option, format_value
from mqgateway.engine.options.option_set import OptionSet
from mqgateway.gateway.access.requests import REQUESTS as ACCESS
from mqgateway.gateway.broker import requests as broker
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.container import requests as container
from mqgateway.gateway.controller import requests as controller
from mqgateway.gateway.mqadmin.declaration import MQADMIN, Catalogue, every
from mqgateway.gateway.mqadmin.usage import help_of
from mqgateway.gateway.namesrv import service as name_server
from mqgateway.gateway.nouns import CATALOGUE as NOUNS

SERVERS: Mapping[str, Callable[[], OptionSet]] = {
    "Broker": lambda: OptionSet(BrokerOptions(), RemotingOptions(), StoreOptions(), TlsOptions()),
    "Name server": lambda: OptionSet(NamesrvOptions(), RemotingOptions(), TlsOptions()),
    "Controller": lambda: OptionSet(ControllerOptions(), RemotingOptions(), TlsOptions()),
    "Container": lambda: OptionSet(ContainerOptions(), RemotingOptions(), TlsOptions()),
}
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
    """Every property of every server."""
    lines = [
        "# Settings",
        "",
        "Properties of `broker.conf` and its like, of `--set property=value`, and of `updateBrokerConfig`.",
        "Those marked *ours* are unknown to Apache's servers; all others are the standard's.",
        "`mqgateway broker -p` prints what holds for a server, and where each value came from.",
    ]
    for server, make in SERVERS.items():
        known = make()
        options = [known.option(name) for name in sorted(known.names(), key=str.lower)]
        lines += ["", f"## {server}", "", "| property | default | meaning |", "| --- | --- | --- |"]
        lines += (_setting(option) for option in options if not option.no_effect)
        lines += ["", f"### Accepted by the {server.lower()} without effect", ""]
        lines += ["| property | default | why |", "| --- | --- | --- |"]
        lines += (
            f"| `{option.name}` | {_default(option)} | {_cell(option.no_effect)} |"
            for option in options
            if option.no_effect
        )
    return "\n".join(lines) + "\n"


def _setting(option: Option) -> str:
    notes = [option.meaning]
    if option.old_names:
        notes.append(f"Once called {', '.join(f'`{name}`' for name in option.old_names)}.")
    if option.ours:
        notes.append("*Ours.*")
    return f"| `{option.name}` | {_default(option)} | {_cell(' '.join(notes))} |"


def _default(option: Option) -> str:
    text = format_value(option.default)
    return f"`{text}`{f' {option.unit}' if option.unit else ''}" if text else ""


def _cell(text: str) -> str:
    """As it may stand in a table."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def commands() -> str:
    """Every command that is declared: those of mqadmin, and the nouns."""
    lines = ["# Every command", ""]
    lines += ["What `--help` says. [Commands](../commands.md) tells what they have in common.", ""]
    for catalogue in (NOUNS, MQADMIN):
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
    "reference/commands.md": commands,
    "reference/requests.md": request_codes,
}
"""By where they stand on the site."""
