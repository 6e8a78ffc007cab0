"""Timers that are set: which are accepted, and their way to the timer topic.

RocketMQ: `HookUtils.handleScheduleMessage`.
"""

from __future__ import annotations

from collections.abc import Callable
from random import random

from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.message import PROPERTY_TIMER_DEL_UNIQKEY, Message
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.steady_clock import SteadyClock
from mqgateway.engine.store.results import PutStatus
from mqgateway.engine.timers.messages import has_timer, put_aside, requested_time, slot_time
from mqgateway.engine.timers.wheel import Wheel

_NO_LIMIT = 2**31 - 1


class TimerAcceptance:
    """Moves messages with timers to the timer topic, or refuses them.

    `wheel` returns the wheel, and `precision` its step in ms: a start may change both. `is_loaded` returns
    True once the timers in the wheel are known. With timerWheelEnable false timers are refused.
    """

    def __init__(
        self,
        options: StoreOptions,
        steady: SteadyClock,
        wheel: Callable[[], Wheel],
        precision: Callable[[], int],
        is_loaded: Callable[[], bool],
    ) -> None:
        self._options = options
        self._steady = steady
        self._wheel = wheel
        self._precision = precision
        self._is_loaded = is_loaded
        self._watchers: list[Callable[[int], None]] = []

    def watch(self, callback: Callable[[int], None]) -> None:
        """Call back with the ms until a timer is due, each time one is set."""
        self._watchers.append(callback)

    def rewrite(self, message: Message, now: int) -> PutStatus | None:
        """Move a message with a timer to the timer topic; return None if it may be stored, else the refusal.

        `now` is the wall clock, from which its delay counts. Messages without timers, and those already due,
        are unchanged. RocketMQ: `HookUtils.transformTimerMessage`.
        """
        return self._put_aside(message, now, self._steady.ahead) if has_timer(message) else None

    def rewrite_steady(self, message: Message) -> PutStatus | None:
        """Move a message whose time is steady time, as those of pops are; see `rewrite`."""
        return self._put_aside(message, self._steady.now(), 0)

    def _put_aside(self, message: Message, now: int, ahead: int) -> PutStatus | None:
        """Move a message; `ahead` is the lead of steady time over the clock of `now` and of the message's
        time."""
        if not self._options.timer_wheel_enable:
            return PutStatus.WHEEL_TIMER_NOT_ENABLE
        try:
            time = requested_time(message.properties, now)
        except MessageIllegal:
            return PutStatus.WHEEL_TIMER_MSG_ILLEGAL
        if time <= now:
            is_delete = PROPERTY_TIMER_DEL_UNIQKEY in message.properties
            return PutStatus.WHEEL_TIMER_MSG_ILLEGAL if is_delete else None
        if time - now > self._options.timer_max_delay_sec * 1000:
            return PutStatus.WHEEL_TIMER_MSG_ILLEGAL
        precision = self._precision()
        out_time = slot_time(time + ahead, precision)
        if self._is_congested(out_time):
            return PutStatus.WHEEL_TIMER_FLOW_CONTROL
        put_aside(message, out_time)
        for callback in self._watchers:
            callback(out_time + precision - now - ahead)
        return None

    def _is_congested(self, out_time: int) -> bool:
        """Return True if a slot has too many timers; between once and twice the limit at random."""
        limit = self._options.timer_congest_num_each_slot
        if limit >= _NO_LIMIT or not self._is_loaded():
            return False
        slot = self._wheel().get(out_time)
        return slot is not None and slot.total > limit * (1 + random())
