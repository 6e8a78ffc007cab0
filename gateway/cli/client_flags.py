"""Flags, settings and error handling shared by the commands that are clients.

`settings` turns the flags into settings of a client, `asking` into servers that are queried one by one;
`reports_errors` turns errors of the client into one line and exit code 1, or 3 for something that does
not exist.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from mqgateway.gateway.cli.ending import FAILED, INTERRUPTED, NOT_FOUND, complain
from mqgateway.gateway.runtime.name_servers import address_fault, split_addresses

if TYPE_CHECKING:
    from mqgateway.gateway.mqadmin.configuration import AdminConfiguration
    from mqgateway.gateway.mqadmin.servers import Servers

READERS = "TOOLS_CONSUMER"
"""A group that every broker knows, for tools."""

SETTING = click.option(
    "--set", "pairs", multiple=True, metavar="NAME=VALUE", help="Client setting; repeatable."
)
NAMESRV = click.option(
    "-n",
    "--namesrv",
    envvar="NAMESRV_ADDR",
    default="127.0.0.1:9876",
    show_default=True,
    help="Name servers, separated by ';'.",
)
TLS = click.option("--tls", is_flag=True, help="Connect with TLS.")
SECRET_KEY = click.option(
    "--secret-key", envvar="ROCKETMQ_SECRET_KEY", help="Secret key that signs requests."
)
ACCESS_KEY = click.option(
    "--access-key", envvar="ROCKETMQ_ACCESS_KEY", help="Access key that signs requests."
)

CREDENTIALS = click.option(
    "--credentials",
    type=click.Path(dir_okay=False),
    help="File with accessKey and secretKey, as tools.yml.  [default: $ROCKETMQ_HOME/conf/tools.yml]",
)


def client_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags that all of these commands have; their values reach `settings`."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line."),
        SETTING,
        TLS,
        SECRET_KEY,
        ACCESS_KEY,
        CREDENTIALS,
        click.option("--namespace", help="Namespace of topics and groups."),
        NAMESRV,
    ):
        command = option(command)
    return command


def asking_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags of commands that query servers one by one; their values reach `asking`."""
    for option in (
        click.option(
            "--timeout",
            type=click.FloatRange(0, min_open=True),
            help="Seconds that an answer may take.  [default: 5]",
        ),
        TLS,
        SECRET_KEY,
        ACCESS_KEY,
        CREDENTIALS,
        click.option("--profile", help="Servers and credentials of this profile (mqgateway profile)."),
    ):
        command = option(command)
    return command


@contextmanager
def asking(name_servers: list[str], given: Mapping[str, Any]) -> Iterator[Servers]:
    """Yield the servers of a cluster, connected by flags, profile, environment and tools.yml as by `mqadmin`.

    Without `name_servers` those of the configuration are used. Raises `click.UsageError`.
    """
    from mqgateway.engine.clock import SystemClock
    from mqgateway.gateway.mqadmin.catalogue import LOCAL_NAME_SERVERS
    from mqgateway.gateway.mqadmin.connection import Connections, encrypted, plain
    from mqgateway.gateway.mqadmin.servers import Servers

    chosen = configuration(given)
    connect = encrypted(chosen.certificates) if chosen.tls else plain
    connections = Connections(connect, SystemClock(), chosen.credentials)
    try:
        yield Servers(name_servers or chosen.name_servers or LOCAL_NAME_SERVERS, connections, chosen.timeout)
    finally:
        connections.close()


def configuration(given: Mapping[str, Any]) -> AdminConfiguration:
    """Return what flags, profile, environment and files say. Raises `click.UsageError`."""
    from mqgateway.gateway.mqadmin.configuration import configured
    from mqgateway.gateway.mqadmin.declaration import GivenOptions, UsageError
    from mqgateway.gateway.mqadmin.main import read_text_file

    keys = ("access-key", "secret-key", "credentials", "profile", "timeout")
    values = {key: given[key.replace("-", "_")] for key in keys}
    texts = {key: str(value) for key, value in values.items() if value is not None}
    try:
        return configured(
            GivenOptions(texts | ({"tls": ""} if given["tls"] else {})), os.environ, read_text_file
        )
    except UsageError as error:
        raise click.UsageError(str(error)) from None


def checked_addresses(text: str) -> list[str]:
    """Return the name servers in a text. Raises `click.BadParameter` for one that is not an address."""
    addresses = split_addresses(text)
    if fault := next(filter(None, map(address_fault, addresses)), None):
        raise click.BadParameter(fault, param_hint="--namesrv")
    return addresses


def settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of a client from flags. Raises `click.BadParameter` for an unknown name in `--set`."""
    checked_addresses(given["namesrv"])
    chosen: dict[str, Any] = {"namesrv_addr": given["namesrv"]}
    for flag, name in (
        ("namespace", "namespace"),
        ("access_key", "access_key"),
        ("secret_key", "secret_key"),
    ):
        if given.get(flag):
            chosen[name] = given[flag]
    if "access_key" not in chosen and (path := given.get("credentials") or _tools_file(os.environ)):
        chosen["credentials_file"] = path
    if given.get("tls"):
        chosen["use_tls"] = True
    return chosen | dict(_setting(pair) for pair in given.get("pairs", ()))


def _tools_file(environment: Mapping[str, str]) -> str:
    """Return the file of RocketMQ's tools, empty if there is none."""
    home = environment.get("ROCKETMQ_HOME")
    path = os.path.join(home, "conf", "tools.yml") if home else ""
    return path if path and os.path.exists(path) else ""


def _setting(pair: str) -> tuple[str, Any]:
    from mqgateway.engine.options.option import BadValue, options_of, snake_case
    from mqgateway.gateway.client.options import LitePullOptions, ProducerOptions, PushOptions

    name, separator, text = pair.partition("=")
    attribute = snake_case(name)
    for kind in (ProducerOptions, PushOptions, LitePullOptions):
        for option in options_of(kind):
            if separator and (option.name == name or option.attribute == attribute):
                try:
                    return option.attribute, option.parse(text)
                except BadValue as error:
                    raise click.BadParameter(f"{pair}: {error.what}", param_hint="--set") from None
    raise click.BadParameter(f"{pair} is not a client setting", param_hint="--set")


def check_topic(topic: str, chosen: Mapping[str, Any]) -> None:
    """Check that a name server knows the topic, with these settings. Raises `NoRoute`, `Unreachable`."""
    from mqgateway.engine.options.option import options_of
    from mqgateway.gateway.client import PullConsumer
    from mqgateway.gateway.client.options import ClientOptions

    known = {one.attribute for one in options_of(ClientOptions)}
    with PullConsumer(READERS, **{name: value for name, value in chosen.items() if name in known}) as reader:
        reader.queues(topic)


def _interrupt() -> None:
    raise KeyboardInterrupt


class _Warnings(logging.Handler):
    """Handler that prints what the client logs, each text once. The cause of a command's failure is reported
    as its error instead.
    """

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self._seen: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler.emit`."""
        text = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            text += f": {record.exc_info[1]!r}"
        if text not in self._seen:
            self._seen.add(text)
            complain(text, severity="warning")


@contextmanager
def _warnings_shown() -> Iterator[None]:
    """Report what the client logs in the form of all messages."""
    logger, handler = logging.getLogger("mqgateway"), _Warnings()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def reports_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a command so that errors of the client are one line on standard error, with exit code 1, or 3 if
    something does not exist. SIGTERM ends it as Ctrl-C does.
    """

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        from mqgateway.gateway.cli.explaining import explained
        from mqgateway.gateway.client.errors import BadArgument, ClientError, NoBroker, NoRoute
        from mqgateway.gateway.client.signals import on_sigterm

        try:
            with on_sigterm(_interrupt), _warnings_shown():
                return command(*args, **kwargs)
        except BadArgument as error:
            raise click.UsageError(str(error)) from None
        except ClientError as error:
            complain(explained(error))
            is_missing = isinstance(error, NoBroker) or (isinstance(error, NoRoute) and not error.detail)
            raise SystemExit(NOT_FOUND if is_missing else FAILED) from None
        except KeyboardInterrupt:
            raise SystemExit(INTERRUPTED) from None

    return run
