"""Removal of a broker while others serve: producers switch to them, and consumers read what is stored here.

From `begin` on name servers report that this broker takes no messages, while sends that still arrive are
accepted. `report` says what is left. Once nothing is, and no send has arrived for a while, sends are refused
with an error after which clients try another broker, so that a broker that was empty stays so. Topics and
groups that other brokers lack are created there first. Not in RocketMQ, where administrators withdraw the
permission of a broker (205 WIPE_WRITE_PERM_OF_BROKER) and compare offsets themselves.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.steps import run_for
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.cluster.table_copies import copy_tables
from mqgateway.gateway.broker.draining import QUIET_MILLIS
from mqgateway.gateway.broker.unread import Unread, unread
from mqgateway.gateway.remoting.call import RequestError
from mqgateway.gateway.runtime.schedule import Schedule

log = logging.getLogger(__name__)

SHOWN_MAX = 100
"""Entries of `RemovalReport.left` in its JSON form."""
COUNTING_SECONDS = 0.01
"""Time that counting may hold the event loop."""
REFUSED_MILLIS = 3_600_000
"""Time in ms for which sends are refused; the broker is stopped long before that."""


@dataclass(frozen=True)
class RemovalReport:
    """State of a removal: reasons that forbid it, what was not consumed, and why producers may still send.

    `waits` is empty once producers are gone, and other brokers have the topics and groups.
    """

    obstacles: tuple[str, ...] = ()
    left: tuple[Unread, ...] = ()
    waits: str = ""

    @property
    def is_done(self) -> bool:
        """True if the broker can be stopped without leaving anything behind."""
        return not (self.obstacles or self.left or self.waits)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values; `left` has the largest entries, `messages` counts all."""
        largest = sorted(self.left, key=lambda one: -one.messages)[:SHOWN_MAX]
        return {
            "obstacles": list(self.obstacles),
            "left": [
                {"kind": one.kind.value, "topic": one.topic, "group": one.group, "messages": one.messages}
                for one in largest
            ],
            "messages": sum(one.messages for one in self.left),
            "waits": self.waits,
            "isDone": self.is_done,
        }


class BrokerRemoval:
    """The removal of one broker. Producers have `pause` seconds to see the changed routes."""

    def __init__(self, broker: Broker, schedule: Schedule, pause: float) -> None:
        self._broker = broker
        self._schedule = schedule
        self._pause = pause
        self._began: int | None = None
        self._sends = -1
        self._quiet_since = 0
        self._accepts_from: int | None = None
        self._has_copied = False

    def begin(self) -> None:
        """Redirect producers to other brokers."""
        if self._began is None:
            log.info("this broker is to be removed: producers are redirected to other brokers")
            self._began = elapsed_millis(self._broker.clock)
            self._announce(takes_messages=False)

    def cancel(self) -> None:
        """Accept messages again."""
        if self._began is not None:
            log.info("this broker is not removed: it takes messages again")
            self._began, self._has_copied = None, False
            if self._accepts_from is not None:
                self._broker.options.start_accept_send_request_time_stamp = self._accepts_from
                self._accepts_from = None
            self._announce(takes_messages=True)

    def _announce(self, *, takes_messages: bool) -> None:
        broker = self._broker
        broker.cluster.registration.announcement.takes_messages = takes_messages
        broker.tables.topics.data_version.next(broker.clock.millis())
        broker.cluster.registration.soon()

    async def report(self, others: Sequence[str]) -> RemovalReport:
        """Return the state of the removal, which must have begun; `others` are the brokers that stay."""
        broker, found = self._broker, list[Unread]()
        if obstacles := tuple(_obstacles(broker)):
            return RemovalReport(obstacles)
        counting = unread(broker, found)
        while not run_for(counting, broker.clock, COUNTING_SECONDS):
            await self._schedule.pause(0)
        waits = self._still_sent_to() or await self._copy(others)
        if not found and not waits and self._accepts_from is None:
            # What was sent until now is counted by the next report.
            waits = "a last look"
            self._accepts_from = broker.options.start_accept_send_request_time_stamp
            broker.options.start_accept_send_request_time_stamp = broker.clock.millis() + REFUSED_MILLIS
        return RemovalReport((), tuple(found), waits)

    def _still_sent_to(self) -> str:
        """Return why producers may still send, "" if they do not."""
        now, began = elapsed_millis(self._broker.clock), self._began
        if began is None:
            return "the removal was cancelled"
        if self._broker.stats.put_total != self._sends:
            self._sends, self._quiet_since = self._broker.stats.put_total, now
        if now - began < self._pause * 1000:
            return "producers have not all seen yet that the broker takes no messages"
        return "producers still send to it" if now - self._quiet_since < QUIET_MILLIS else ""

    async def _copy(self, others: Sequence[str]) -> str:
        """Return why topics and groups cannot be copied to other brokers, "" once they are."""
        if not self._has_copied:
            try:
                await copy_tables(self._broker.cluster.broker_directory, self._broker.tables, others)
            except RequestError as error:
                return f"topics and groups were not copied: {error.remark}"
            self._has_copied = True
        return ""


def _obstacles(broker: Broker) -> Iterator[str]:
    """Yield the topics that cannot be left to other brokers, with what to do."""
    for name, mapping in broker.tables.mappings.table.items():
        items = [item for queue in mapping.queues.values() for item in queue]
        if any(item.broker_name == broker.options.broker_name for item in items):
            yield f"static topic {name} has messages here; move it with mqadmin remappingStaticTopic first"
    for config in broker.tables.topics.all():
        if config.keeps_kafka_batches:
            yield f"topic {config.topic_name} was made by Kafka; read it and delete it first"
