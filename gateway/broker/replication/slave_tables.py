"""Copies of the master's tables on a slave.

They are 21 topics, 201 groups, 43 consumer offsets, 45 delay offsets and 402 request modes; with access
control also 3005 users and 3010 policies, which RocketMQ's slaves do not copy. They are requested one after
the other, every `slaveSyncInterval`; a table that fails or cannot be read is skipped until the next round.
Popped messages are not requested: a new master finds them in the log. A slave that may act for its master
requests the delay offsets and the timer checkpoint (60) more often: the less of the master's later work it
has to find in the log. RocketMQ: `SlaveSynchronize`, each 60 s, without controllers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import Any

from twisted.internet.defer import Deferred, inlineCallbacks

from mqgateway.engine import json_members, lenient_json
from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.ha.adoption import OffsetAdoption, Place
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.tables.offsets import SEPARATOR
from mqgateway.engine.timers.checkpoint import TimerProgress
from mqgateway.gateway.access.tables import AS_TABLE, take_over
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.replication.offset_limit import offset_limit
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.remoting.client import Ask
from mqgateway.gateway.remoting.exchange import RemotingError

log = logging.getLogger(__name__)

TICK_SECONDS = 3.0
"""Interval of checks whether a round is due; the first one is."""

Adopt = Callable[[bytes], None]


def _of_json(adopt: Callable[[Mapping[str, Any]], None]) -> Adopt:
    return lambda body: adopt(lenient_json.loads(body))


def places(reported: Mapping[str, Any]) -> dict[Place, int]:
    """Return the offsets in an answer to 43.

    Raises `ConfigError`, `ValueError`, `TypeError`, `AttributeError`.
    """
    table: dict[Place, int] = {}
    for key, queues in json_members.read(reported, "offsetTable", dict[str, Any]()).items():
        topic, separator, group = key.partition(SEPARATOR)
        if separator:
            table |= {(group, topic, int(queue_id)): int(offset) for queue_id, offset in queues.items()}
    return table


class SlaveTables:
    """Copies the tables of the master at `master_address`, empty while unknown; `own_address` is ours."""

    def __init__(self, broker: Broker, ask: Ask, own_address: str) -> None:
        self._broker = broker
        self._ask = ask
        self._own_address = own_address
        self.master_address = ""
        self._offsets = OffsetAdoption()
        self._is_busy = False
        self._is_stopped = False
        self._last_round: int | None = None
        self._problem = ""
        self.timers: TimerProgress | None = None
        """Progress of the master's timers when last queried."""
        self.reported_at = 0
        """Start of the last record in our log when the delay offsets were last requested."""
        self._requested_at = 0
        self._adopt: dict[RequestCode, Adopt] = {
            RequestCode.GET_ALL_TOPIC_CONFIG: _of_json(self._adopt_topics),
            RequestCode.GET_ALL_CONSUMER_OFFSET: _of_json(self._adopt_offsets),
            RequestCode.GET_ALL_DELAY_OFFSET: _of_json(self._adopt_delays),
            RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: _of_json(self._adopt_groups),
            RequestCode.GET_ALL_MESSAGE_REQUEST_MODE: _of_json(broker.tables.request_modes.adopt),
        }
        self._often: dict[RequestCode, Adopt] = {}
        if broker.options.enable_slave_acting_master:
            self._often[RequestCode.GET_ALL_DELAY_OFFSET] = _of_json(self._adopt_delays)
            if broker.timers.is_enabled:
                self._often[RequestCode.GET_TIMER_CHECK_POINT] = self.take_timers
        self._adopt |= self._often

    def stop(self) -> None:
        """Stop copying, and ignore pending answers: this broker is no longer a slave."""
        self._is_stopped = True

    def hasten(self) -> None:
        """Begin a round now, or when the one that runs has ended."""
        self._last_round = None
        self.tick()

    def tick(self) -> None:
        """Begin a round if one is due."""
        now = elapsed_millis(self._broker.clock)
        if self._is_stopped or self._is_busy or self.master_address in ("", self._own_address):
            return
        interval = self._broker.store_options.slave_sync_interval
        is_whole = self._last_round is None or now - self._last_round >= interval
        if is_whole:
            self._last_round = now
        wanted = self._adopt | self._of_users() if is_whole else self._often
        if wanted:
            self._is_busy = True
            self._round(wanted).addErrback(lambda failure: self._complain(failure.getErrorMessage())).addBoth(
                lambda _: setattr(self, "_is_busy", False)
            )

    @inlineCallbacks
    def _round(
        self, wanted: Mapping[RequestCode, Adopt]
    ) -> Generator[Deferred[RemotingCommand], RemotingCommand, None]:
        address = self.master_address
        problem = ""
        last = self._broker.store.raw.last_record()
        self._requested_at = 0 if last is None else last.start
        for code, adopt in wanted.items():
            try:
                answer = yield self._ask(address, RemotingCommand.request(code, ext=self._known(code)))
                if self._is_stopped or address != self.master_address:
                    return
                if answer.code != ResponseCode.SUCCESS:
                    raise ConfigError(f"{answer.code} {answer.remark}")
                if answer.body:
                    adopt(answer.body)
            except RemotingError as error:
                problem = str(error)
                break
            except (ConfigError, ValueError, TypeError, AttributeError) as error:
                problem = f"{code.name}: {error}"
        self._complain(problem)

    def _of_users(self) -> dict[RequestCode, Adopt]:
        """Return users and policies, with authentication: the master's replace them whole."""
        access = self._broker.access
        if access is None or not self._broker.options.authentication_enabled:
            return {}
        return {
            RequestCode.AUTH_LIST_USER: partial(take_over, access.tables.users),
            RequestCode.AUTH_LIST_ACL: partial(take_over, access.tables.acls),
        }

    def _known(self, code: RequestCode) -> dict[str, str] | None:
        """Return the request's fields with the data version of our table."""
        access = self._broker.access
        if access is None or code not in (RequestCode.AUTH_LIST_USER, RequestCode.AUTH_LIST_ACL):
            return None
        table = access.tables.users if code is RequestCode.AUTH_LIST_USER else access.tables.acls
        return {AS_TABLE: table.data_version.encode().decode()}

    def _complain(self, problem: str) -> None:
        """Log a problem once, until it changes."""
        if problem and problem != self._problem:
            log.warning("the tables of the master at %s: %s", self.master_address, problem)
        elif self._problem and not problem:
            log.info("the tables of the master at %s are copied again", self.master_address)
        self._problem = problem

    def _adopt_topics(self, reported: Mapping[str, Any]) -> None:
        topics = self._broker.tables.topics
        ended = topics.ends()
        self._broker.tables.mappings.adopt(reported)
        if topics.adopt(reported, self._requested_at):
            deleted = [name for name, end in topics.ends().items() if ended.get(name) != end]
            for name in deleted:
                self._broker.tables.offsets.remove_topic(name)
            self._broker.store.admin.delete_topics(name for name in deleted if name not in topics)
            self._broker.cluster.registration.soon()

    def _adopt_delays(self, reported: Mapping[str, Any]) -> None:
        self._broker.delays.adopt(reported, self._requested_at)
        self.reported_at = self._requested_at

    def take_timers(self, data: bytes) -> None:
        """Note the timers' progress, the master's or our own from acting. Raises `ConfigError`."""
        reported = TimerProgress.decode(data)
        if self.timers is None or reported.read_time > self.timers.read_time:
            self.timers = reported

    def _adopt_groups(self, reported: Mapping[str, Any]) -> None:
        self._broker.tables.groups.adopt(reported)

    def _adopt_offsets(self, reported: Mapping[str, Any]) -> None:
        broker = self._broker
        changes = self._offsets.changes(
            places(reported), partial(offset_limit, broker), broker.tables.offsets.query
        )
        for (group, topic, queue_id), offset in list(changes):
            broker.tables.offsets.commit(group, topic, queue_id, offset)
        broker.tables.offsets.data_version = DataVersion.from_json(reported.get("dataVersion"))
