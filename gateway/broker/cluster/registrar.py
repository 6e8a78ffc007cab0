"""Registration with one name server: at most one request at a time; concurrent changes follow in the next.

A server that is down is retried every few seconds, and then receives everything, however much changes until
it is back; going down and coming back is one log line each. RocketMQ: `BrokerOuterAPI.registerBrokerAll`,
which registers with each name server separately.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Protocol

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.python.failure import Failure

from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.gateway.broker.cluster.announcement import AnnouncedBroker, Announcement
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import QueryDataVersionResponseHeader
from mqgateway.gateway.runtime.loop import Clockwork, Timer

log = logging.getLogger(__name__)

RETRY_SECONDS = 5.0
"""Delay before a failed registration is retried."""
UNREGISTER_SECONDS = 3.0
"""Time limit of an unregistration."""


class RequestClient(Protocol):
    """The part of `RemotingClient` that is needed."""

    def request(
        self, address: str, command: RemotingCommand, timeout: float = 3.0
    ) -> Deferred[RemotingCommand]:
        """Send a request to an address; `timeout` in seconds."""
        ...


class NotTakenError(Exception):
    """A name server refused an announcement."""


class Registrar:
    """Pending announcements to one name server, and its reachability.

    `change` is the number of the last change before the first announcement. `on_answer` is called with the
    server's answer to a registration, and `on_end` when a conversation has ended, successfully or not.
    """

    def __init__(
        self,
        address: str,
        announcement: Announcement,
        options: BrokerOptions,
        caller: RequestClient,
        clockwork: Clockwork,
        *,
        change: int,
        on_answer: Callable[[RemotingCommand], None],
        on_end: Callable[[], None],
    ) -> None:
        self._address = address
        self._announcement = announcement
        self._options = options
        self._caller = caller
        self._clockwork = clockwork
        self._on_answer = on_answer
        self._on_end = on_end
        self._is_reachable: bool | None = None
        self._is_busy = False
        self._has_left = False
        self._retry: Timer | None = None
        # Pending: the topics, up to which change, and whether they are sent as soon as no request is in
        # flight.
        self._everything = False
        self._topics: set[str] = set()
        self._noted = change
        self._is_due = False
        # In flight
        self._to_ask: Iterator[RemotingCommand] = iter(())
        self._reporting = change
        self._reported: DataVersion | None = None
        self._checks = 0
        self._began: Deferred[None] | None = None
        self._warned = ""  # last warning of the server
        self._known: AnnouncedBroker | None = None  # as the server has registered this broker
        self.heard = change
        """Number of the last change that the server has received, with all before."""

    @property
    def is_there(self) -> bool:
        """True if the server accepted the last announcement; False before its first answer."""
        return self._is_reachable is True

    def begin(self) -> Deferred[None]:
        """Announce everything for the first time; return a Deferred that fires on success or failure."""
        began: Deferred[None] = Deferred()
        self._began = began
        self._report_all()
        return began

    def note(self, topic: str | None, change: int) -> None:
        """Note the change of a topic, of everything if None, with its number; `report` announces it."""
        self._noted = change
        if topic is None:
            self._everything = True
        else:
            self._topics.add(topic)

    def report(self) -> None:
        """Announce the noted changes: now, after the request in flight, or with the next retry."""
        self._has_left = False
        if self._is_busy:
            self._is_due = True
        elif self._retry is None:
            self._report_now()

    def check(self) -> None:
        """Register again; unless `forceRegister` always requires that, only if the server's topics are stale.

        Very many topics are then announced rarely: changes are announced at once, and a server whose data
        version, which is queried, matches the last announcement lacks nothing.
        """
        self._checks += 1
        is_forced = self._options.force_register and self._checks % self._announcement.periods == 0
        if is_forced or not self._is_reachable:
            self._report_all()
        elif not self._is_busy:
            self._reporting = self.heard
            self._converse(iter([self._announcement.version_query(self._reported)]), self._take_version)

    def stop(self) -> Deferred[object]:
        """Unregister, if the server is reachable; announce nothing more."""
        left = self.leave()
        self._is_busy = True
        return left

    def leave(self) -> Deferred[object]:
        """Unregister, if the server is reachable, and drop pending announcements."""
        self.forget()
        if not self._is_reachable or self._known is None:
            return maybeDeferred(lambda: None)
        farewell = self._announcement.farewell(self._known)
        asked = self._caller.request(self._address, farewell, UNREGISTER_SECONDS)
        return asked.addErrback(
            lambda failure: log.info(
                "Unregistration at name server %s failed: %s", self._address, failure.value
            )
        )

    def forget(self) -> None:
        """Send the server nothing until there is a new announcement."""
        self._has_left = True
        self._everything, self._topics, self._is_due, self._to_ask = False, set(), False, iter(())
        self._end_retry()

    def _end_retry(self) -> None:
        retry, self._retry = self._retry, None
        if retry is not None and retry.active():
            retry.cancel()

    def _report_all(self) -> None:
        self._everything = True
        self._end_retry()
        self.report()

    def _report_now(self) -> None:
        # After a failure the server may lack anything, so everything is announced.
        names = None if self._everything or not self._is_reachable else self._topics
        self._everything, self._topics, self._is_due = False, set(), False
        self._reporting = self._noted
        self._reported = self._announcement.version
        self._converse(self._introduction(names), self._on_answer)

    def _introduction(self, names: set[str] | None) -> Iterator[RemotingCommand]:
        """Yield the requests that announce topics, and unregister a former identity of this broker.

        The server removes the old identity before it learns the new one: name servers of RocketMQ 4 remove
        any broker that has the id, and later ones any that has the address.
        """
        announcement, before = self._announcement, self._known
        identity = announcement.identity
        if before is not None and before != identity:
            yield announcement.farewell(before)
            names = None
        yield from announcement.registrations(names)
        self._known = identity

    def _converse(self, commands: Iterator[RemotingCommand], take: Callable[[RemotingCommand], None]) -> None:
        """Send requests one after the other, until there are no more, one fails or the server is dropped."""
        self._is_busy = True
        self._to_ask = commands
        timeout = self._options.register_broker_timeout_mills / 1000
        request = self._caller.request

        def register_next(_: object) -> object:
            command = next(self._to_ask, None)
            if command is None:
                return None
            asked = maybeDeferred(request, self._address, command, timeout)
            if command.code == RequestCode.UNREGISTER_BROKER:
                return asked.addBoth(register_next)  # the rest of an old identity expires
            return (
                asked.addCallback(_accepted)
                .addCallback(self._heed)
                .addCallback(take)
                .addCallback(register_next)
            )

        maybeDeferred(register_next, None).addCallbacks(self._done, self._failed)

    def _heed(self, answer: RemotingCommand) -> RemotingCommand:
        """Log the server's remark on an accepted registration, once."""
        if answer.remark and answer.remark != self._warned:
            self._warned = answer.remark
            log.warning("Name server %s: %s", self._address, answer.remark)
        return answer

    def _take_version(self, answer: RemotingCommand) -> None:
        header = QueryDataVersionResponseHeader.decode(answer.ext_fields)
        if header.changed:
            self._everything = self._is_due = True

    def _done(self, _: object) -> None:
        self.heard = self._reporting
        if self._is_reachable is not True:
            self._is_reachable = True
            log.info("Registered with name server %s", self._address)
        self._end_conversation()

    def _failed(self, failure: Failure) -> None:
        if self._is_reachable is not False:
            self._is_reachable = False
            log.warning("Registration with name server %s failed: %s", self._address, failure.value)
        self._is_due = False
        if not self._has_left:
            self._retry = self._clockwork.callLater(RETRY_SECONDS, self._report_all)
        self._end_conversation()

    def _end_conversation(self) -> None:
        self._is_busy = False
        began, self._began = self._began, None
        if began is not None:
            began.callback(None)
        if self._is_due:
            self._report_now()
        self._on_end()


def _accepted(answer: RemotingCommand) -> RemotingCommand:
    if answer.code != ResponseCode.SUCCESS:
        raise NotTakenError(f"it answers {answer.code}, {answer.remark}")
    return answer
