"""The process of one broker of `mqgateway serve --brokers`; its argument, the folder, is shown only.

The parent writes to standard input: first the flags of its command and the settings in which this broker
differs. The broker reads its settings again at each start, so that a restart applies a changed file. The end
of standard input means that the parent is gone: the broker then stops. It reports on standard output that it
is up, or why it failed. See `gateway.container.children` for the messages.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.protocol import Protocol
from twisted.internet.stdio import StandardIO
from twisted.python.failure import Failure

from mqgateway.engine.errors import ConfigError, EngineError
from mqgateway.engine.options import Setting
from mqgateway.gateway.broker.removal import BrokerRemoval, RemovalReport
from mqgateway.gateway.cli.added_brokers import Snapshot, add_tables
from mqgateway.gateway.cli.boot import log_boot
from mqgateway.gateway.cli.collecting import WHILE_STARTING, seldom
from mqgateway.gateway.cli.container_broker import (
    STDIN,
    STDOUT,
    Parent,
    first_message,
    follow,
    log_as,
    report_progress,
)
from mqgateway.gateway.cli.log_levels import LogLevels
from mqgateway.gateway.cli.numbering import ORIGIN, read_numbered
from mqgateway.gateway.cli.run import run
from mqgateway.gateway.cli.service_flags import process_start
from mqgateway.gateway.cli.services import Both
from mqgateway.gateway.cli.settings import BrokerSettings
from mqgateway.gateway.container.children import (
    COPIED,
    COPYING,
    LEAVING,
    REMOVAL,
    REMOVING,
    SHORTFALL,
    Message,
    line_of,
)
from mqgateway.gateway.runtime.loop import Reactor

log = logging.getLogger(__name__)

METRICS, FRONT_ENDS = "metrics", "frontEnds"
"""Keys of messages to the parent: the port of metrics, and the endpoints of front ends by name."""
REPORT_SECONDS = 2.0
"""Interval of reports during the removal of the broker."""
GIVEN, SETTINGS = "given", "settings"
"""Keys of the first message: flags of the command, and the settings in which the broker differs."""


class ServedBroker(Both):
    """The broker of this process.

    `say` writes to the parent, `attach` connects a protocol to its messages, `end` ends the process.
    """

    def __init__(
        self,
        reactor: Reactor,
        settings: BrokerSettings,
        began: float,
        *,
        say: Callable[[bytes], object],
        attach: Callable[[Protocol], object],
        end: Callable[[], None],
    ) -> None:
        super().__init__(reactor, None, settings, began)
        self._say = say
        self._attach = attach
        self._end_process = end
        self._leaving: tuple[str, ...] = ()
        self._staying: tuple[str, ...] = ()
        self._removal: BrokerRemoval | None = None
        self._is_counting = False

    def _begin(self) -> Deferred[Any]:
        self._attach(Parent(self._received, self._alone))
        report_progress(
            self._schedule, self._say, lambda: "" if self.broker is None else self.broker.progress
        )
        begun = super()._begin()
        self._say(line_of({METRICS: self._observation.scraped_port}))
        return begun.addErrback(self._report_failure)

    def report_up(self) -> None:
        """Report to the parent that the broker serves clients, and where."""
        summary = self.summary()
        endpoints = {front_end.name: endpoint for front_end, endpoint in summary.front_ends if endpoint}
        self._say(line_of({FRONT_ENDS: endpoints}))
        self._say(line_of({"up": summary.broker}))

    def drain(self) -> Deferred[None]:
        """Drain the broker before a stop, and report to the parent if that was incomplete."""
        return Deferred.fromCoroutine(self._drain_and_report())

    async def _drain_and_report(self) -> None:
        # The parent writes the names of the brokers that stop too before it signals: they are read first.
        await self._schedule.pause(0)
        if self.broker is None:
            return
        try:
            await self.broker.drain(self._leaving)
            shortfall = self.broker.drain_shortfall
        except CancelledError:
            shortfall = "a second stop request ended its drain"
        if shortfall:
            self._say(line_of({SHORTFALL: shortfall}))

    def _received(self, message: Message) -> None:
        if LEAVING in message:
            self._leaving = tuple(message[LEAVING])
        if REMOVING in message:
            self.remove(message[REMOVING])
        if COPYING in message:
            self._copy_tables(message[COPYING])
        if self._broker_settings is not None:
            follow(message, self._broker_settings.options)

    def _copy_tables(self, added: Message) -> None:
        """Write the tables of a broker that is added, whose first message is `added`; report the end."""
        broker = self.broker
        assert broker is not None, "the parent sends this to brokers that are up"
        tables = broker.broker.tables
        options = broker.broker.options
        snapshot = Snapshot.of(
            options.broker_name, tables.topics, tables.groups, tables.mappings, broker.users
        )

        def copied(result: Exception | None) -> None:
            error = "" if result is None else str(result)
            self._say(line_of({COPIED: {"name": added[SETTINGS]["brokerName"], "error": error}}))

        disk, clock = self._runtime.disk, self._runtime.clock
        self._worker.run(lambda: add_tables(snapshot, settings_from(added), disk, clock), copied)

    def remove(self, staying: Sequence[str]) -> None:
        """Prepare the removal of this broker, and report its progress; cancel that if no broker stays."""
        self._staying = tuple(staying)
        if self._removal is None and self.broker is not None and staying:
            pause = self.broker.broker.options.rolling_restart_pause_millis / 1000
            self._removal = BrokerRemoval(self.broker.broker, self._schedule, pause)
            self._schedule.every(0, REPORT_SECONDS, self._report_removal)
        if self._removal is None:
            return
        if staying:
            self._removal.begin()
        else:
            self._removal.cancel()

    def _report_removal(self) -> None:
        if self._removal is None or not self._staying or self._is_counting:
            return
        self._is_counting = True

        def reported(report: RemovalReport) -> None:
            if self._staying:
                self._say(line_of({REMOVAL: report.to_json()}))

        def counted(_: object) -> None:
            self._is_counting = False

        report = Deferred.fromCoroutine(self._removal.report(self._staying))
        report.addCallback(reported).addErrback(_log_failure).addBoth(counted)

    def _report_failure(self, failure: Failure) -> Failure:
        self._say(line_of({"failed": failure.getErrorMessage()}))
        return failure

    def _alone(self) -> None:
        if not self.is_ending:
            log.error("the parent process is gone: this broker stops")
            self._end_process()


def _log_failure(failure: Failure) -> None:
    log.error("messages that are left cannot be counted: %s", failure.getErrorMessage())


def settings_from(first: Message) -> BrokerSettings:
    """Return the settings by the first message of the parent, which has reported their warnings.

    Raises `ConfigError` for the first error.
    """
    differing = [Setting(name, value, 0, ORIGIN) for name, value in first[SETTINGS].items()]
    settings, problems = read_numbered(first[GIVEN], differing)
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        raise ConfigError(str(errors[0]))
    return settings


def main() -> None:
    """Run the broker until its parent stops it or is gone."""
    seldom(WHILE_STARTING)
    began = process_start()
    try:
        first = first_message(lambda: os.read(STDIN, 1))
        log_as(first)
        settings = settings_from(first)
    except EngineError as error:
        os.write(STDOUT, line_of({"failed": str(error)}))
        print(f"mqgateway: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    connect: Callable[..., object] = StandardIO

    def make(reactor: Any) -> ServedBroker:
        return ServedBroker(
            reactor,
            settings,
            began,
            say=lambda line: os.write(STDOUT, line),
            attach=lambda protocol: connect(protocol, STDIN, STDOUT, reactor),
            end=lambda: os.kill(os.getpid(), signal.SIGTERM),
        )

    def started(service: Any) -> None:
        log_boot(service.boot_lines())
        service.report_up()
        service.remove(first.get(REMOVING, ()))

    levels = LogLevels([settings.broker])
    levels.follow()
    sys.exit(run(make, started, levels))
