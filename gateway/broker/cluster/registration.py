"""How name servers know of this broker: registered in full again and again, and at once when topics change.

Each name server has a `Registrar`: at most one conversation with it is under way, and what changes meanwhile
is told by the next. A name server that is down is asked again every few seconds; going down and coming back
is one log line each. Nothing here is waited for by any other request. A new role is told at once; a broker
that is fenced leaves, and comes back when it is something again.

Standard: `BrokerController.registerBrokerAll`, `registerIncrementBrokerData`, `BrokerOuterAPI`.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

from twisted.internet.defer import Deferred, DeferredList, maybeDeferred
from twisted.python.failure import Failure

from mqgateway.engine.ha.role import Role, RoleKind, RoleState
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.static_topics.mappings import Mappings
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.tables.topics import PERM_READ, PERM_WRITE, TopicConfig, TopicTable
from mqgateway.gateway.codec.bodies import KVTable, RegisterBrokerBody, TopicConfigAndMappingSerializeWrapper
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import (
    QueryDataVersionRequestHeader,
    QueryDataVersionResponseHeader,
    RegisterBrokerRequestHeader,
    RegisterBrokerResponseHeader,
    UnRegisterBrokerRequestHeader,
)
from mqgateway.gateway.runtime.loop import Clockwork, Timer
from mqgateway.gateway.runtime.name_servers import split_addresses

log = logging.getLogger(__name__)

SHORTEST_PERIOD_MILLIS = 10_000
LONGEST_PERIOD_MILLIS = 60_000
RETRY_SECONDS = 5.0
"""How soon a name server that could not be told is tried again."""
GATHER_SECONDS = 0.01
"""Topic changes within this time are told together."""
TOPICS_A_PERIOD = 10_000
"""How many topics are told again with each period; where there are more, all are told so much more rarely."""
TOPICS_A_REQUEST = 20_000
"""Topics that are told in one request. Making one of many more holds the loop for long, and 90,000 do not fit
into a frame: so there are parts then, as with `enableSplitRegistration`, one after another."""
TOPICS_A_PART = 5000
UNREGISTER_SECONDS = 3.0
"""How long a name server may take to say good-bye."""


class Caller(Protocol):
    """What is needed of a `RemotingClient`."""

    def request(
        self, address: str, command: RemotingCommand, timeout: float = 3.0
    ) -> Deferred[RemotingCommand]:
        """Send a request to an address; `timeout` in seconds."""
        ...


class NotTakenError(Exception):
    """A name server answered that it does not take what it was told."""


def _nobody(main_address: str | None, ha_address: str | None) -> None:
    """Nobody wants to know."""


class Registration:
    """This broker's entry with all name servers of `namesrvAddr`, kept true from `start` to `stop`.

    `address` is where clients reach the broker, `ha_address` where its slaves do. `on_master` is told these
    two of the group's master, each time a name server says them.
    """

    def __init__(
        self,
        options: BrokerOptions,
        topics: TopicTable,
        mappings: Mappings,
        caller: Caller,
        clockwork: Clockwork,
        *,
        role: Role,
        address: str,
        ha_address: str,
    ) -> None:
        self.options = options
        self.caller = caller
        self._topics = topics
        self._mappings = mappings
        self._clockwork = clockwork
        self._role = role
        self._address = address
        self._ha_address = ha_address
        self.on_master: Callable[[str | None, str | None], None] = _nobody
        self._registrars: dict[str, Registrar] = {}
        self._gathered: set[str] | None = set()
        self._timers: dict[str, Timer] = {}
        self._waiting: list[Deferred[None]] = []
        self._is_running = False
        role.on_change(self._role_changed)

    def _role_changed(self, before: RoleState, after: RoleState) -> None:
        if not self._is_running:
            return
        if after.kind is RoleKind.FENCED:
            for registrar in self._registrars.values():
                registrar.leave()
        elif before.kind is RoleKind.FENCED or before.broker_id != after.broker_id:
            self.soon()

    def start(self) -> Deferred[None]:
        """Register everywhere now, and from now on; fires when each name server has answered, or has not."""
        self._is_running = True
        self._follow_name_servers()
        registrars = () if self._role.is_fenced else self._registrars.values()
        first = [registrar.begin() for registrar in registrars]
        self._timers["period"] = self._clockwork.callLater(self._period(), self._tick)
        return DeferredList(first, consumeErrors=True).addCallback(lambda _: None)

    def stop(self) -> Deferred[None]:
        """Take this broker off every name server that can be reached; never fails."""
        self._is_running = False
        for timer in self._timers.values():
            if timer.active():
                timer.cancel()
        self._wait_for_all()
        farewells = [registrar.stop() for registrar in self._registrars.values()]
        return DeferredList(farewells, consumeErrors=True).addCallback(lambda _: None)

    def soon(self, topic: str | None = None) -> None:
        """Tell of a changed topic, or with None of everything, together with what else changes right now."""
        if not self._is_running or self._role.is_fenced:
            return
        is_first = self._gathered is not None and not self._gathered
        if topic is None:
            self._gathered = None
        elif self._gathered is not None:
            self._gathered.add(topic)
        if is_first:
            self._timers["gather"] = self._clockwork.callLater(GATHER_SECONDS, self._tell_gathered)

    def heard(self, within: float | None = None) -> Deferred[None]:
        """Fires once each name server that is there has heard what has changed; never fails.

        With `within` it fires after so many seconds at the latest. They are told at once, but what changes
        while one of them is being told is gathered: many who wait cost few registrations.
        """
        heard: Deferred[None] = Deferred()
        self._waiting.append(heard)
        if self._gathered == set() or not self._is_running:
            self._wait_for_all()
        elif not any(registrar.is_hearing for registrar in self._registrars.values()):
            self._timers["gather"].cancel()
            self._tell_gathered()
        if within is not None and not heard.called:
            heard.addTimeout(within, self._clockwork)  # type: ignore[arg-type]
            heard.addErrback(lambda _: None)
        return heard

    def _wait_for_all(self) -> None:
        """Let those who wait go on once each name server has heard what it was to be told so far."""
        waiting, self._waiting = self._waiting, []

        def go_on(_: object) -> None:
            for heard in waiting:
                heard.callback(None)

        if waiting:
            registrars = self._registrars.values() if self._is_running else ()
            DeferredList([registrar.heard() for registrar in registrars]).addCallback(go_on)

    def again_later(self, registrar: Registrar) -> None:
        """Try a name server again that could not be told."""
        if self._is_running and not self._role.is_fenced:
            key = f"retry {registrar.address}"
            self._timers[key] = self._clockwork.callLater(RETRY_SECONDS, self._retry, registrar)

    def registrations(self, names: Iterable[str] | None) -> Iterator[RemotingCommand]:
        """The requests that tell of these topics, or of all, each made when it is asked for: one, unless
        registration is split or they are very many.

        A name server takes over what it knows only with another data version than it was told last, so the
        parts of a split registration differ in their times; the last has the table's own version.
        Standard: `TopicConfigManager.buildSerializeWrapper`, which raises the version with every part.
        """
        options = self.options
        acts = options.enable_slave_acting_master
        if names is None:
            configs = list(self._topics.all())
        else:
            configs = [config for name in names if (config := self._topics.get(name)) is not None]
            if not configs:
                return
        step = options.split_registration_size if options.enable_split_registration else 0
        if step <= 0 and len(configs) > TOPICS_A_REQUEST:
            step = TOPICS_A_PART
        chunks = list(_chunks(configs, step))
        version = self.version
        for to_come, chunk in zip(reversed(range(len(chunks))), chunks, strict=True):
            reported = RegisterBrokerBody(
                TopicConfigAndMappingSerializeWrapper(
                    topic_config_table={config.topic_name: self._as_reported(config) for config in chunk},
                    topic_queue_mapping_info_map={
                        config.topic_name: mapping.info()
                        for config in chunk
                        if (mapping := self._mappings.table.get(config.topic_name)) is not None
                    },
                    data_version=replace(version, timestamp=version.timestamp - to_come).to_json(),
                )
            )
            body = reported.encode_compressed() if options.compressed_register else reported.encode()
            header = RegisterBrokerRequestHeader(
                broker_name=options.broker_name,
                broker_addr=self._address,
                cluster_name=options.broker_cluster_name,
                ha_server_addr=self._ha_address,
                broker_id=self._role.state.broker_id,
                heartbeat_timeout_millis=options.broker_not_active_timeout_millis if acts else None,
                enable_acting_master=acts,
                compressed=options.compressed_register,
                body_crc32=zlib.crc32(body) & 0x7FFFFFFF,
            )
            yield RemotingCommand.request(RequestCode.REGISTER_BROKER, header, body)

    def version_query(self, reported: DataVersion | None = None, *, oneway: bool = False) -> RemotingCommand:
        """The request that asks whether a name server knows the topics as it was told of them last, or with
        `oneway` only shows it that this broker is alive."""
        options = self.options
        header = QueryDataVersionRequestHeader(
            broker_name=options.broker_name,
            broker_addr=self._address,
            cluster_name=options.broker_cluster_name,
            broker_id=self._role.state.broker_id,
        )
        version = reported or self._topics.data_version
        return RemotingCommand.request(
            RequestCode.QUERY_DATA_VERSION, header, version.encode(), oneway=oneway
        )

    @property
    def version(self) -> DataVersion:
        """How new the topics are now."""
        return replace(self._topics.data_version)

    @property
    def periods(self) -> int:
        """In how many periods all topics are told once: in each, unless there are very many."""
        return 1 + len(self._topics) // TOPICS_A_PERIOD

    def farewell(self) -> RemotingCommand:
        """The request that takes this broker off a name server."""
        options = self.options
        header = UnRegisterBrokerRequestHeader(
            broker_name=options.broker_name,
            broker_addr=self._address,
            cluster_name=options.broker_cluster_name,
            broker_id=self._role.state.broker_id,
        )
        return RemotingCommand.request(RequestCode.UNREGISTER_BROKER, header)

    def registered(self, answer: RemotingCommand) -> None:
        """Take over who the master is, and which topics are ordered, as the name server's settings say.

        Standard: `handleRegisterBrokerResult`, `TopicConfigManager.updateOrderTopicConfig`.
        """
        header = RegisterBrokerResponseHeader.decode(answer.ext_fields)
        self.on_master(header.master_addr, header.ha_server_addr)
        if not answer.body:
            return
        named = [self._topics.get(name) for name in KVTable.decode(answer.body).table]
        changed = [replace(config, order=True) for config in named if config is not None and not config.order]
        if changed:
            self._topics.put(*changed)

    def _tick(self) -> None:
        self._timers["period"] = self._clockwork.callLater(self._period(), self._tick)
        self._follow_name_servers()
        if self._role.is_fenced:
            return
        for registrar in self._registrars.values():
            registrar.check()

    def _period(self) -> float:
        wished = self.options.register_name_server_period
        return max(SHORTEST_PERIOD_MILLIS, min(wished, LONGEST_PERIOD_MILLIS)) / 1000

    def _tell_gathered(self) -> None:
        gathered, self._gathered = self._gathered, set()
        for registrar in () if self._role.is_fenced else self._registrars.values():
            registrar.tell(gathered)
        self._wait_for_all()

    def _retry(self, registrar: Registrar) -> None:
        if self._registrars.get(registrar.address) is registrar and not self._role.is_fenced:
            registrar.tell(None)

    def _follow_name_servers(self) -> None:
        """`namesrvAddr` may be changed while the broker runs."""
        addresses = split_addresses(self.options.namesrv_addr)
        self._registrars = {
            address: self._registrars.get(address) or Registrar(address, self) for address in addresses
        }

    def _as_reported(self, config: TopicConfig) -> dict[str, Any]:
        """A topic's configuration, with no more permission than the broker has."""
        reported = config.to_json()
        permission = self.options.broker_permission
        if not (permission & PERM_READ and permission & PERM_WRITE):
            reported["perm"] &= permission
        return reported


class Registrar:
    """What one name server has yet to be told, and whether it could be reached."""

    def __init__(self, address: str, registration: Registration) -> None:
        self.address = address
        self._registration = registration
        self._is_reachable: bool | None = None
        self._is_busy = False
        self._everything = False
        self._topics: set[str] = set()
        self._to_ask: Iterator[RemotingCommand] = iter(())
        self._reported: DataVersion | None = None
        self._checks = 0
        self._began: Deferred[None] | None = None
        self._waiting: list[Deferred[None]] = []
        self._waiting_for_next: list[Deferred[None]] = []

    def begin(self) -> Deferred[None]:
        """Tell everything for the first time; fires when that went well or did not."""
        self._began = Deferred()
        self.tell(None)
        return self._began

    def tell(self, topics: Iterable[str] | None) -> None:
        """Tell of these topics, with None of everything; after what is under way."""
        if topics is None:
            self._everything = True
        else:
            self._topics.update(topics)
        if not self._is_busy:
            self._tell_now()

    @property
    def is_hearing(self) -> bool:
        """Whether it was there the last time, and is being told something."""
        return self._is_busy and self._is_reachable is True

    def heard(self) -> Deferred[None]:
        """Fires once it has heard what it was to be told so far, or cannot; never fails."""
        heard: Deferred[None] = Deferred()
        if not self.is_hearing:
            heard.callback(None)
        elif self._everything or self._topics:
            self._waiting_for_next.append(heard)
        else:
            self._waiting.append(heard)
        return heard

    def check(self) -> None:
        """Register again; unless `forceRegister` asks for that always, only when the server is behind.

        Very many topics are told rarely then: what changes is told at once, and a server that knows what it
        was told last, which it is asked, lacks nothing.
        """
        registration = self._registration
        self._checks += 1
        is_forced = registration.options.force_register and self._checks % registration.periods == 0
        if is_forced or not self._is_reachable:
            self.tell(None)
        elif not self._is_busy:
            self._converse(iter([registration.version_query(self._reported)]), self._take_version)

    def stop(self) -> Deferred[object]:
        """Say good-bye, if the server is there; tells nothing more."""
        left = self.leave()
        self._is_busy = True
        return left

    def leave(self) -> Deferred[object]:
        """Say good-bye, if the server is there; what was to be told is not told any more."""
        self._everything, self._topics, self._to_ask = False, set(), iter(())
        self._release()
        if not self._is_reachable:
            return maybeDeferred(lambda: None)
        command = self._registration.farewell()
        asked = self._registration.caller.request(self.address, command, UNREGISTER_SECONDS)
        return asked.addErrback(
            lambda failure: log.info("No good-bye from name server %s: %s", self.address, failure.value)
        )

    def _tell_now(self) -> None:
        # After a failure the server may lack anything, so everything is told.
        names = None if self._everything or not self._is_reachable else self._topics
        self._everything, self._topics = False, set()
        self._waiting, self._waiting_for_next = self._waiting_for_next, []
        self._reported = self._registration.version
        self._converse(self._registration.registrations(names), self._registration.registered)

    def _converse(self, commands: Iterator[RemotingCommand], take: Callable[[RemotingCommand], None]) -> None:
        """Ask one after the other, until there are no more, one fails or the server is left."""
        self._is_busy = True
        self._to_ask = commands
        timeout = self._registration.options.register_broker_timeout_mills / 1000
        request = self._registration.caller.request

        def go_on(_: object) -> object:
            command = next(self._to_ask, None)
            if command is None:
                return None
            asked = maybeDeferred(request, self.address, command, timeout)
            return asked.addCallback(_accepted).addCallback(take).addCallback(go_on)

        maybeDeferred(go_on, None).addCallbacks(self._done, self._failed)

    def _take_version(self, answer: RemotingCommand) -> None:
        header = QueryDataVersionResponseHeader.decode(answer.ext_fields)
        if header.changed:
            self._everything = True

    def _done(self, _: object) -> None:
        self._end_conversation()
        if self._is_reachable is not True:
            self._is_reachable = True
            log.info("Registered with name server %s", self.address)
        if self._everything or self._topics:
            self._tell_now()

    def _end_conversation(self) -> None:
        self._is_busy = False
        began, self._began = self._began, None
        if began is not None:
            began.callback(None)
        waiting, self._waiting = self._waiting, []
        for heard in waiting:
            heard.callback(None)

    def _release(self) -> None:
        """Nobody waits any longer: it cannot be told."""
        waiting, self._waiting, self._waiting_for_next = self._waiting + self._waiting_for_next, [], []
        for heard in waiting:
            heard.callback(None)

    def _failed(self, failure: Failure) -> None:
        self._end_conversation()
        if self._is_reachable is not False:
            self._is_reachable = False
            log.warning("Name server %s cannot be told of this broker: %s", self.address, failure.value)
        self._registration.again_later(self)
        self._release()


def _accepted(answer: RemotingCommand) -> RemotingCommand:
    if answer.code != ResponseCode.SUCCESS:
        raise NotTakenError(f"it answers {answer.code}, {answer.remark}")
    return answer


def _chunks(configs: Sequence[TopicConfig], step: int) -> Iterator[Sequence[TopicConfig]]:
    if step <= 0:
        yield configs
        return
    for start in range(0, len(configs), step):
        yield configs[start : start + step]
