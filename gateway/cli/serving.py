"""`mqgateway serve --brokers N`: check and start several brokers, and restart them one after the other."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from mqgateway.engine.clock import SystemClock
from mqgateway.engine.errors import EngineError
from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.cli.boot import log_boot
from mqgateway.gateway.cli.collecting import WHILE_STARTING, seldom
from mqgateway.gateway.cli.loading import load_transports
from mqgateway.gateway.cli.numbering import NumberedBroker, numbered, read_all, remember, serve_again
from mqgateway.gateway.cli.service_flags import begin_logging, fail, log_folder, process_start
from mqgateway.gateway.cli.settings import BrokerSettings, NamesrvSettings, from_file

if TYPE_CHECKING:
    from mqgateway.gateway.cli.secure import Secured
    from mqgateway.gateway.cli.served_brokers import ServedBrokers

log = logging.getLogger(__name__)


def run_brokers(
    namesrv: NamesrvSettings,
    broker: BrokerSettings,
    count: int,
    given: Mapping[str, Any],
    secured: Secured | None = None,
) -> None:
    """Run a name server and `count` brokers until a signal stops them. Print their summary when they are up.

    SIGHUP restarts the brokers one after the other, with the settings that the files have then.
    """
    seldom(WHILE_STARTING)
    load_transports()
    began, output = process_start(), given["output"]
    levels = begin_logging(given, {"broker": broker.broker, "namesrv": namesrv.namesrv})
    brokers = _checked(namesrv, broker, count, given)
    from mqgateway.gateway.cli.container import child_command, child_environment
    from mqgateway.gateway.cli.run import run
    from mqgateway.gateway.cli.served_brokers import ServedBrokers
    from mqgateway.gateway.container.children import launcher
    from mqgateway.gateway.runtime.service import Runtime

    def make(reactor: Any) -> ServedBrokers:
        return ServedBrokers(
            Runtime(reactor, SystemClock(), RealDisk()),
            namesrv,
            broker,
            brokers,
            launch=launcher(reactor, child_command("served_broker"), child_environment(os.environ)),
            first={
                "given": dict(given),
                "logging": {"form": output, "level": given["log_level"], "folder": log_folder(given)},
            },
            began=began,
        )

    def started(service: Any) -> None:
        log_boot(service.boot_lines())
        summary = service.summary()
        if output == "json":
            document = {} if secured is None else {"secure": secured.as_json()}
            click.echo(json.dumps(document | summary.as_json()))
        else:
            secure_lines = [] if secured is None else secured.lines()
            click.echo("\n".join(secure_lines + summary.lines()))
        sys.stdout.flush()

    sys.exit(run(make, started, levels, lambda service: reread(service, given), is_daemon=True))


def reread(service: Any, given: Mapping[str, Any]) -> None:
    """Apply the name server's file, and restart the brokers one by one. Errors in a file change nothing."""
    cluster: ServedBrokers = service
    try:
        settings = read_all(given, cluster.brokers)
        if cluster.namesrv is not None:
            cluster.namesrv.namesrv.configuration.reread(from_file(given.get("namesrv_config")))
    except EngineError as error:
        log.error("no broker is restarted: %s", error)
    else:
        cluster.roll(settings[0].broker.rolling_restart_pause_millis / 1000)


def _checked(
    namesrv: NamesrvSettings, broker: BrokerSettings, count: int, given: Mapping[str, Any]
) -> list[NumberedBroker]:
    """Return the brokers if all of them can start; added ones have tables then. Errors end the process."""
    from mqgateway.gateway.cli.added_brokers import copy_tables
    from mqgateway.gateway.cli.preconditions import check_starts

    try:
        brokers = numbered(broker, count)
        settings = read_all(given, brokers)
        check_starts(namesrv, {one.name: each for one, each in zip(brokers, settings, strict=True)})
        copy_tables(settings, RealDisk(), SystemClock())
        serve_again(brokers, RealDisk())
        remember(given["brokers"], broker.store.store_path_root_dir, RealDisk())
    except (EngineError, OSError) as error:
        fail(str(error).splitlines(), given["output"])
    return brokers
