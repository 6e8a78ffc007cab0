"""Texts that users read on the screen: option meanings, metric help, command help, console labels and API."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

import click

from mqgateway.engine.options import BrokerOptions, NamesrvOptions, RemotingOptions, StoreOptions, TlsOptions
from mqgateway.engine.options.container import ContainerOptions
from mqgateway.engine.options.controller import ControllerOptions
from mqgateway.engine.options.option import options_of
from mqgateway.gateway.cli.container import mqbrokercontainer
from mqgateway.gateway.cli.controller import mqcontroller
from mqgateway.gateway.cli.main import main, mqbroker, mqnamesrv
from mqgateway.gateway.client import options as client
from mqgateway.gateway.front_ends import FRONT_ENDS
from mqgateway.gateway.metrics.broker_metrics import BROKER_METRICS, PROXY_METRICS
from mqgateway.gateway.metrics.controller_metrics import CONTROLLER_METRICS, OWN_CONTROLLER_METRICS
from mqgateway.gateway.metrics.exporter_metrics import EXPORTER_METRICS
from mqgateway.gateway.metrics.name_server_metrics import NAME_SERVER_METRICS
from mqgateway.gateway.metrics.own_metrics import (
    OPENING_METRICS,
    OWN_BROKER_METRICS,
    SERVER_METRICS,
    connection_metrics,
)
from mqgateway.gateway.mqadmin.catalogue import MQADMIN
from mqgateway.gateway.mqadmin.declaration import every
from mqgateway.gateway.resources import ABOUT, CATALOGUE
from mqgateway.gateway.web.api.routes import ROUTES
from mqgateway.gateway.web.openapi import document
from mqgateway.pipeline import options as pipeline
from tests.house.source import ROOT

OPTION_CLASSES = (
    *(BrokerOptions, NamesrvOptions, RemotingOptions, StoreOptions, TlsOptions),
    *(ContainerOptions, ControllerOptions),
    *(client.ProducerOptions, client.PushOptions, client.PullOptions),
    *(client.SimpleOptions, client.LitePullOptions),
    *(pipeline.SourceOptions, pipeline.SinkOptions, pipeline.StoreReadOptions),
)
METRICS = (
    *(BROKER_METRICS, PROXY_METRICS, CONTROLLER_METRICS, OWN_CONTROLLER_METRICS, EXPORTER_METRICS),
    *(NAME_SERVER_METRICS, OPENING_METRICS, OWN_BROKER_METRICS, SERVER_METRICS),
    connection_metrics(FRONT_ENDS),
)
_LABEL = re.compile(r'^  "((?:[^"\\]|\\.)*)":', re.MULTILINE)


def option_meanings() -> Iterator[tuple[str, str]]:
    """Yield the name and meaning of every setting, and its reason if it has no effect."""
    for kind in OPTION_CLASSES:
        for option in chain(options_of(kind), kind.also_accepted):
            yield option.name, option.meaning
            if option.no_effect:
                yield option.name, option.no_effect


def metric_meanings() -> Iterator[tuple[str, str]]:
    """Yield the name and help text of every metric."""
    for metrics in METRICS:
        for metric in metrics:
            yield metric.name, metric.meaning


def command_texts() -> Iterator[tuple[str, str]]:
    """Yield the help texts of all commands and of their options."""
    for catalogue in (MQADMIN, CATALOGUE):
        for name, place in {**catalogue.places, **catalogue.more}.items():
            yield f"{catalogue.program} {name}", place.about
        for command in every(catalogue):
            for option in command.options:
                yield f"{catalogue.program} {command.name} {option.name}", option.about
    yield from (("mqgateway " + name, about) for name, about in ABOUT.items())
    yield from _of_click(main, "mqgateway")
    for command in (mqbroker, mqnamesrv, mqbrokercontainer, mqcontroller):
        yield from _of_click(command, command.name or "")


def console_labels() -> Iterator[tuple[str, str]]:
    """Yield the English texts of the console."""
    for label in _LABEL.findall((ROOT / "gateway/web/static/i18n.js").read_text()):
        yield "console", label


def api_texts() -> Iterator[tuple[str, str]]:
    """Yield the summaries and descriptions in the OpenAPI document of the console."""
    yield from _descriptions("openapi.json", document(ROUTES, ""))


def _descriptions(place: str, part: object) -> Iterator[tuple[str, str]]:
    members = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for name, value in members:
        if name in ("summary", "description") and isinstance(value, str):
            yield place, value
        else:
            yield from _descriptions(f"{place} {name}", value)


def _of_click(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    yield name, command.help or ""
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.help:
            yield f"{name} {parameter.opts[0]}", parameter.help
    if isinstance(command, click.Group):
        context = click.Context(command)
        for one in command.list_commands(context):
            found = command.get_command(context, one)
            if found is not None and (name != "mqgateway" or one not in {*ABOUT, "admin"}):
                yield from _of_click(found, f"{name} {one}")
