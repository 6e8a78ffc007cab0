"""The service of the console: its port and its periodic work.

It starts after the broker and does not delay it: a worker imports pages and API, or the first connection
does.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred, maybeDeferred, succeed
from twisted.internet.error import CannotListenError
from twisted.internet.protocol import Factory

from mqgateway.engine.clock import Clock
from mqgateway.engine.worker import Worker
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.namesrv.name_server import NameServer
from mqgateway.gateway.remoting.server import RemotingServer
from mqgateway.gateway.runtime.loop import ListeningPort, Reactor
from mqgateway.gateway.runtime.schedule import Schedule
from mqgateway.gateway.runtime.version import installed_version
from mqgateway.gateway.web import histories
from mqgateway.gateway.web.entrance import Entrance
from mqgateway.gateway.web.guard import Guard
from mqgateway.gateway.web.rings import STEP_SECONDS

if TYPE_CHECKING:
    from mqgateway.gateway.web.console import Console
    from mqgateway.gateway.web.site import ConsolePages

log = logging.getLogger(__name__)

BACKLOG = 50


class ConsoleService:
    """Serves the console of a broker, whose options have passed `entrance.check`.

    A port that cannot be listened on is a warning in the log, no reason not to start. `url` is where the
    console is, with what opens it; empty while it is not served. `worker` imports modules ahead of the first
    connection; without one that connection does.
    """

    def __init__(
        self,
        operations: Operations,
        server: RemotingServer,
        *,
        reactor: Reactor,
        clock: Clock,
        name_server: NameServer | None = None,
        worker: Worker | None = None,
    ) -> None:
        options = operations.options
        self._operations, self._server = operations, server
        self._clock, self._name_server = clock, name_server
        self._host, self._port = options.console_host, options.console_port
        self._reactor = reactor
        self._schedule = Schedule(reactor)
        self._entrance = Entrance(options, operations.access, clock)
        self._guard = Guard(options.console_hosts)
        self._worker = worker
        self._pages: ConsolePages | None = None
        self._listening: ListeningPort | None = None
        self._watching: Deferred[Any] | None = None

    @cached_property
    def console(self) -> Console:
        """The state of the console, which counts from the first use on: soon after the server is ready."""
        from mqgateway.gateway.web.console import Console

        entrance, schedule = self._entrance, self._schedule
        return Console(self._operations, self._server, entrance, schedule, self._clock, self._name_server)

    @property
    def url(self) -> str:
        """The URL for a person."""
        if self._listening is None:
            return ""
        host = f"[{self._host}]" if ":" in self._host else self._host
        token = self._entrance.link_token
        return f"http://{host}:{self.port}/" + (f"#token={token}" if token else "")

    @property
    def port(self) -> int:
        """The port in use; 0 while it is not served."""
        return 0 if self._listening is None else self._listening.getHost().port

    def endpoint(self, advertised: str) -> str | None:
        """See `front_end.Running`: the URL, which is at `consoleHost`."""
        return self.url or None

    def start(self) -> None:
        """Listen."""
        try:
            self._listening = self._reactor.listenTCP(
                self._port, ConsoleFactory(self._site), BACKLOG, self._host
            )
        except CannotListenError as error:
            log.warning("the console cannot be opened: %s; consolePort sets another port", error)
            return
        log.info("the console is served at http://%s:%d/", self._host, self._listening.getHost().port)
        self._schedule.every(histories.STEP_SECONDS, histories.STEP_SECONDS, self._watch)
        self._schedule.later(0, self._load_ahead)

    def _watch(self) -> None:
        """Take a sample of groups and topics, unless the one before is not finished."""
        if self._watching is None:
            self._watching = Deferred.fromCoroutine(self._sample())
            self._watching.addErrback(
                lambda failure: log.error("no sample of groups and topics", exc_info=failure.value)
            )
            self._watching.addBoth(self._watched)

    async def _sample(self) -> None:
        from mqgateway.gateway.web.lag_watch import watch_groups
        from mqgateway.gateway.web.topic_watch import watch_topics

        await watch_groups(self.console)
        await watch_topics(self.console)

    def _watched(self, _: object) -> None:
        self._watching = None

    def _load_ahead(self) -> None:
        """Import the modules that the first connection would wait for, once the server is ready."""
        if self._worker is None:
            self._begin_to_count()
        else:
            self._worker.run(
                lambda: import_module("mqgateway.gateway.web.site"), lambda _: self._begin_to_count()
            )

    def _begin_to_count(self) -> None:
        if self._listening is not None:
            self._schedule.every(STEP_SECONDS, STEP_SECONDS, self.console.sample)

    def _site(self) -> Any:
        from mqgateway.gateway.runtime.http import LimitedSite
        from mqgateway.gateway.web.site import ConsolePages, LimitedRequest

        version = installed_version() or "unknown"
        self._pages = ConsolePages(self.console, self._guard, port=self._port, version=version)
        return LimitedSite(self._pages, LimitedRequest)

    def stop(self) -> Deferred[Any]:
        """Serve nothing more; fires when that is so."""
        if self._pages is not None:
            self._pages.close()
        self._schedule.stop()
        listening, self._listening = self._listening, None
        return succeed(None) if listening is None else maybeDeferred(listening.stopListening)


class ConsoleFactory(Factory):
    """Takes connections for a site that is made when the first one comes."""

    noisy = False

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._site: Any = None

    def buildProtocol(self, addr: Any) -> Any:
        """See `LimitedSite`."""
        if self._site is None:
            self._site = self._make()
        return self._site.buildProtocol(addr)
