"""A slave takes over its master's tables.

They are 21 topics, 201 groups, 43 consumer offsets, 45 delay offsets and 402 request modes.
They are asked for one after the other, every `slaveSyncInterval`; one that cannot be had or read is left out
until the next round. Timers and what was popped are not asked for: whoever becomes master finds both in the
log. Standard: `SlaveSynchronize`, each 60 s, without controllers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping
from typing import Any

from twisted.internet.defer import Deferred, inlineCallbacks

from engine import lenient_json, members
from engine.data_version import DataVersion
from engine.errors import ConfigError
from engine.ha.adoption import OffsetAdoption, Place
from engine.offsets import SEPARATOR
from gateway.broker.broker import Broker
from gateway.broker.longpoll import monotonic_millis
from gateway.codec.codes import RequestCode, ResponseCode
from gateway.codec.command import RemotingCommand
from gateway.remoting.exchange import RemotingError

log = logging.getLogger(__name__)

TICK_SECONDS = 3.0
"""How often it is looked whether a round is due; the first one is."""

Ask = Callable[[str, RemotingCommand], Deferred[RemotingCommand]]


class SlaveTables:
    """Takes over the tables of who is at `master_address`, empty while unknown; `own_address` is ours."""

    def __init__(self, broker: Broker, ask: Ask, own_address: str) -> None:
        self._broker = broker
        self._ask = ask
        self._own_address = own_address
        self.master_address = ""
        self._offsets = OffsetAdoption()
        self._is_busy = False
        self._last_round: int | None = None
        self._problem = ""
        self._adopt: dict[RequestCode, Callable[[Mapping[str, Any]], None]] = {
            RequestCode.GET_ALL_TOPIC_CONFIG: self._adopt_topics,
            RequestCode.GET_ALL_CONSUMER_OFFSET: self._adopt_offsets,
            RequestCode.GET_ALL_DELAY_OFFSET: broker.delays.adopt,
            RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: self._adopt_groups,
            RequestCode.GET_ALL_MESSAGE_REQUEST_MODE: broker.request_modes.adopt,
        }

    def tick(self) -> None:
        """Begin a round if one is due."""
        now = monotonic_millis(self._broker.clock)
        if self._is_busy or self.master_address in ("", self._own_address):
            return
        if (
            self._last_round is None
            or now - self._last_round >= self._broker.store_options.slave_sync_interval
        ):
            self._last_round = now
            self._is_busy = True
            self._round().addErrback(lambda failure: self._complain(failure.getErrorMessage())).addBoth(
                lambda _: setattr(self, "_is_busy", False)
            )

    @inlineCallbacks
    def _round(self) -> Generator[Deferred[RemotingCommand], RemotingCommand, None]:
        address = self.master_address
        problem = ""
        for code, adopt in self._adopt.items():
            try:
                answer = yield self._ask(address, RemotingCommand.request(code))
                if answer.code != ResponseCode.SUCCESS:
                    raise ConfigError(f"{answer.code} {answer.remark}")
                if answer.body:
                    adopt(lenient_json.loads(answer.body))
            except RemotingError as error:
                problem = str(error)
                break
            except (ConfigError, ValueError, TypeError, AttributeError) as error:
                problem = f"{code.name}: {error}"
        self._complain(problem)

    def _complain(self, problem: str) -> None:
        """Once, until it is another one."""
        if problem and problem != self._problem:
            log.warning("the tables of the master at %s: %s", self.master_address, problem)
        elif self._problem and not problem:
            log.info("the tables of the master at %s are taken over again", self.master_address)
        self._problem = problem

    def _adopt_topics(self, told: Mapping[str, Any]) -> None:
        self._broker.mappings.adopt(told)
        if self._broker.topics.adopt(told):
            self._broker.register_soon()

    def _adopt_groups(self, told: Mapping[str, Any]) -> None:
        self._broker.groups.adopt(told)

    def _adopt_offsets(self, told: Mapping[str, Any]) -> None:
        broker = self._broker
        table: dict[Place, int] = {}
        for key, queues in members.read(told, "offsetTable", dict[str, Any]()).items():
            topic, separator, group = key.partition(SEPARATOR)
            if separator:
                table |= {(group, topic, int(queue_id)): int(offset) for queue_id, offset in queues.items()}
        changes = self._offsets.changes(table, broker.store.max_offset, broker.offsets.query)
        for (group, topic, queue_id), offset in list(changes):
            broker.offsets.commit(group, topic, queue_id, offset)
        broker.offsets.data_version = DataVersion.from_json(told.get("dataVersion"))
