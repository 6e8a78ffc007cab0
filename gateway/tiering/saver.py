"""The process that saves a broker's log, `cli/tier_saver`: started, informed of role and confirmed offset,
and started again when it has ended.

Grouping records takes processor time, which sends would lack in the broker's own process. The process reads
the store's files, and reports how far the log is saved; retention waits for that. It ends when its input
ends, so also if the broker is killed.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from mqgateway.engine.store.saved_log import DeletedObjects
from mqgateway.engine.tier.continuous import SavingRules, SavingState
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.container.children import Child, Launch, Message
from mqgateway.gateway.runtime.schedule import Schedule

log = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
RESTART_SECONDS = 10.0
_HOUR_MILLIS = 3_600_000


class TierSaver:
    """The saver of one broker, whose store is open. `first` is the first message to its process."""

    def __init__(self, broker: Broker, first: Message, launch: Launch, schedule: Schedule) -> None:
        self._broker = broker
        self._first = first
        self._launch = launch
        self._schedule = schedule
        self._child: Child | None = None
        self._is_stopped = False
        self._failure = ""

    def start(self) -> None:
        """Start the process, and inform it from now on."""
        self._begin()
        self._schedule.every(0.0, LOOK_SECONDS, self._look)

    def stop(self) -> None:
        """End the process. What it has not committed is saved by the next one."""
        self._is_stopped = True
        if self._child is not None:
            self._child.kill()

    @property
    def pid(self) -> int | None:
        """Id of the process, None while there is none."""
        return None if self._child is None else self._child.pid

    def _begin(self) -> None:
        if self._is_stopped:
            return
        try:
            self._child = self._launch(self._broker.store.root, self._first, self._reported, self._ended)
        except OSError as error:
            self._ended(str(error))

    def _ended(self, cause: str) -> None:
        self._child = None
        if self._is_stopped:
            return
        self._note_failure(f"the process that saves the log has ended: {cause}")
        self._schedule.later(RESTART_SECONDS, self._begin)

    def _look(self) -> None:
        if self._child is None:
            return
        options, store = self._broker.store_options, self._broker.store
        rules = SavingRules(
            self._broker.role.is_master,
            store.confirm_offset,
            options.tiered_range_time,
            options.tiered_may_lose,
            options.tiered_store_file_reserved_time * _HOUR_MILLIS,
            min(self._broker.clock.millis(), store.steady.now()),
        )
        self._child.send(rules._asdict())

    def _reported(self, message: Message) -> None:
        """Take over how far the log is saved."""
        state = _state_in(message)
        if state is None:
            log.warning("the process that saves the log sent %s", message)
            return
        saved = self._broker.store.admin.saved
        if state.saved_to >= 0:
            saved.saved_to = state.saved_to
        saved.oldest = state.oldest
        saved.deleted = DeletedObjects(state.expired_segments, state.orphans, state.deleted_bytes)
        self._note_failure(state.failure)

    def _note_failure(self, failure: str) -> None:
        if failure and failure != self._failure:
            log.error("%s", failure)
        elif self._failure and not failure:
            log.info("the log is saved again")
        self._failure = self._broker.store.admin.saved.failure = failure


def _state_in(message: Mapping[str, Any]) -> SavingState | None:
    try:
        state = SavingState(**message)
    except TypeError:
        return None
    numbers = (*state[:3], *state[4:])
    is_sound = all(type(number) is int for number in numbers) and isinstance(state.failure, str)
    return state if is_sound else None
