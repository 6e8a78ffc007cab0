"""The process of one broker in a container; its last argument is the broker's file. `loading` starts it.

The first line of standard input has the container's settings, later lines have changes. The end of standard
input means that the container is gone: the broker then stops cleanly, as it is no longer supervised. On
standard output the broker reports that it is up, or why it failed. See `gateway.container.children` for both.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.stdio import StandardIO
from twisted.python.failure import Failure

from mqgateway.engine.clock import SystemClock
from mqgateway.engine.errors import ConfigError, EngineError
from mqgateway.engine.meters import Meters
from mqgateway.engine.options import OptionSet, Setting, SettingProblem
from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.broker.service import BrokerService
from mqgateway.gateway.cli.boot import contained_broker_boot_line, log_boot
from mqgateway.gateway.cli.front_ends import start_front_ends
from mqgateway.gateway.cli.log_levels import LogLevels
from mqgateway.gateway.cli.logs import LogFormat, start_logging
from mqgateway.gateway.cli.observing import Observation
from mqgateway.gateway.cli.run import PROGRESS_SECONDS, run
from mqgateway.gateway.cli.settings import BrokerSettings, from_file
from mqgateway.gateway.cli.tier_start import start_saver
from mqgateway.gateway.container.children import FOLLOWED, Lines, Message, line_of
from mqgateway.gateway.container.container import LOGGING
from mqgateway.gateway.container.plan import settings_of_broker
from mqgateway.gateway.front_end import Running
from mqgateway.gateway.front_ends import FRONT_ENDS
from mqgateway.gateway.runtime.loop import Reactor
from mqgateway.gateway.runtime.schedule import Schedule
from mqgateway.gateway.runtime.service import Runtime, Service

if TYPE_CHECKING:
    from mqgateway.gateway.tiering.saver import TierSaver

log = logging.getLogger(__name__)

STDIN, STDOUT = 0, 1


class Parent(Protocol):
    """Standard input while the broker runs: the container's messages, and its end."""

    def __init__(self, on_message: Callable[[Message], None], on_gone: Callable[[], None]) -> None:
        self._lines = Lines()
        self._on_message = on_message
        self._on_gone = on_gone

    def dataReceived(self, data: bytes) -> None:
        for message in self._lines.feed(data):
            self._on_message(message)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._on_gone()


class ContainedBroker(Service):
    """The broker of this process.

    `say` writes to the container, `attach` connects a protocol to its messages, `end` ends the process.
    """

    def __init__(
        self,
        reactor: Reactor,
        settings: BrokerSettings,
        *,
        say: Callable[[bytes], object],
        attach: Callable[[Protocol], object],
        end: Callable[[], None],
    ) -> None:
        runtime, options = Runtime(reactor, SystemClock(), RealDisk()), settings.broker
        super().__init__(runtime)
        self._settings = settings
        self._say = say
        self._attach = attach
        self._end_process = end
        self._observation = Observation(
            options, runtime, bound_to=settings.remoting.bind_address, advertised=options.broker_ip1
        )
        self._meters = meters = Meters(options.metrics_otel_cardinality_limit)
        self.front_ends: dict[str, Running] = {}
        self.broker = BrokerService(settings.options, runtime, hooks=self._observation.broker_hooks(options))
        self._observation.broker(self.broker, options, meters)
        self._on_stop(self._observation.stop)
        self._on_stop(self.broker.stop)
        self._saver: TierSaver | None = None
        self._on_stop(lambda: None if self._saver is None else self._saver.stop())
        self._on_stop(self._stop_front_ends)

    def _begin(self) -> Deferred[None]:
        """Start the broker and report the result to the container."""
        self._attach(Parent(self._received, self._alone))
        report_progress(self._schedule, self._say, lambda: self.broker.progress)
        self._observation.start()
        return self.broker.start().addCallback(self._up).addErrback(self._failed)

    @property
    def entries(self) -> int:
        """Number of topics, groups and queues of the broker."""
        return self.broker.entries

    def _stop_front_ends(self) -> None:
        for running in reversed(self.front_ends.values()):
            running.stop()

    def _up(self, _: object) -> None:
        if self.is_ending:
            return
        self.front_ends = start_front_ends(
            [one for one in FRONT_ENDS if one.is_for_clients],
            self.broker,
            self._settings,
            self._observation,
            self._meters,
            self._runtime,
        )
        self._saver = start_saver(self.broker, self._settings, self._runtime, self._schedule)
        self._observation.started()
        log_boot(
            [contained_broker_boot_line(self._settings.broker.broker_name, self._settings.broker.broker_id)]
        )
        self._say(line_of({"up": f"{self._settings.broker.broker_ip1}:{self.broker.port}"}))

    def _failed(self, failure: Failure) -> Failure:
        self._say(line_of({"failed": failure.getErrorMessage()}))
        return failure

    def _received(self, message: Message) -> None:
        follow(message, self._settings.options)

    def _alone(self) -> None:
        if not self.is_ending:
            log.error("the container is gone: this broker stops")
            self._end_process()


def follow(message: Message, options: OptionSet) -> None:
    """Apply the settings in a message that the parent changes while brokers run."""
    for name in FOLLOWED:
        if name in message:
            try:
                options.set(name, str(message[name]), "the parent process")
            except ConfigError as error:
                log.warning("%s", error)


def report_progress(schedule: Schedule, say: Callable[[bytes], object], progress: Callable[[], str]) -> None:
    """Report the progress of a start to the parent whenever it has changed, until it is empty.

    The parent kills a broker whose start makes no progress (`brokerStartTimeout`).
    """
    said = ""

    def look() -> None:
        nonlocal said
        if not (now := progress()):
            looking.cancel()
        elif now != said:
            said = now
            say(line_of({"progress": now}))

    looking = schedule.every(PROGRESS_SECONDS, PROGRESS_SECONDS, look)


def first_message(read: Callable[[], bytes]) -> Message:
    """Return the container's first message.

    `read` returns a single byte, so that nothing of the next line is consumed. Raises `ConfigError` if the
    input ends before.
    """
    lines = Lines()
    while data := read():
        for message in lines.feed(data):
            return message
    raise ConfigError("not started by a container: use mqgateway broker instead")


def settings_from(path: str, first: Message) -> tuple[BrokerSettings, list[SettingProblem]]:
    """Return the settings from a broker's file and its container, and the problems found in them.

    Raises `ConfigError` for the first error.
    """
    settings = BrokerSettings()
    overrides = [Setting(name, value, 0, "the container") for name, value in first["settings"]]
    used, passed_over = settings_of_broker(from_file(path), overrides)
    problems = settings.options.apply(used)
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        raise ConfigError(str(errors[0]))
    settings.options.assume("brokerConfigPath", path, "the container")
    # In RocketMQ, brokers of a container write for one another without a setting.
    settings.options.assume("enableRemoteEscape", True, "the container")
    settings.find_out()
    why = "has no effect in a container: the container's own setting applies"
    return settings, problems + [SettingProblem(name, "...", why, file=path) for name in passed_over]


def log_as(first: Message) -> None:
    """Start logging as in the container, each line with the broker's name.

    Log files are in a folder of that name. Raises `ConfigError` if it cannot be written.
    """
    logs: Mapping[str, str] = first.get(LOGGING, {})
    form: LogFormat = "json" if logs.get("form") == "json" else "text"
    folder = os.path.join(logs["folder"], first["name"]) if logs.get("folder") else None
    try:
        start_logging(form, logs.get("level", "info"), first["name"], folder=folder, servers=["broker"])
    except OSError as error:
        raise ConfigError(f"--log-dir: {error}") from None


def main() -> None:
    """Run the broker of the file on the command line until the container stops it or is gone."""
    try:
        first = first_message(lambda: os.read(STDIN, 1))
        log_as(first)
        settings, problems = settings_from(sys.argv[-1], first)
    except EngineError as error:
        os.write(STDOUT, line_of({"failed": str(error)}))
        print(f"mqgateway: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    for problem in problems:
        log.warning("%s", problem)

    connect: Callable[..., object] = StandardIO

    def make(reactor: Any) -> ContainedBroker:
        return ContainedBroker(
            reactor,
            settings,
            say=lambda line: os.write(STDOUT, line),
            attach=lambda protocol: connect(protocol, STDIN, STDOUT, reactor),
            end=lambda: os.kill(os.getpid(), signal.SIGTERM),
        )

    levels = LogLevels([settings.broker])
    levels.follow()
    sys.exit(run(make, lambda _: None, levels))
