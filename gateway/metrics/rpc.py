"""Request latencies, measured for the dispatcher when requests are answered.

RocketMQ: `RemotingMetricsManager`, which also measures from decoding to writing. It reports failed writes to
a connection separately; here they are not distinguished.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from mqgateway.engine.clock import Clock
from mqgateway.engine.meters import LATENCY_BOUNDS, Distribution, Meters
from mqgateway.engine.names import is_system_topic
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import ONEWAY_FLAG
from mqgateway.gateway.remoting.call import NO_REPLY, Call, Reply

POLLED: Final = frozenset(
    {
        RequestCode.PULL_MESSAGE,
        RequestCode.LITE_PULL_MESSAGE,
        RequestCode.POP_MESSAGE,
        RequestCode.POP_LITE_MESSAGE,
        RequestCode.NOTIFICATION,
    }
)
"""Requests that may wait for messages."""
TOPICS: Final = frozenset({RequestCode.UPDATE_AND_CREATE_TOPIC, RequestCode.UPDATE_AND_CREATE_TOPIC_LIST})
GROUPS: Final = frozenset(
    {
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST,
    }
)
CREATIONS: Final = frozenset(map(int, TOPICS | GROUPS))
SUCCESS: Final = "success"
ONEWAY: Final = "oneway"
CANCELLED: Final = "cancelled"

_Key = tuple[int, int, bool, str]


class RequestTimes:
    """Latencies of requests, in whole milliseconds, by request and response code: see `dispatch.Times`.

    A latency lasts from the read of a request to the write of its answer. It is therefore equal for all
    requests of a read that are answered at once. Late answers and errors are measured one by one.
    """

    def __init__(self, meters: Meters, clock: Clock) -> None:
        self.alone = CREATIONS
        self._meters = meters
        self._latency = meters.rpc_latency
        self._monotonic = clock.monotonic
        self._began: float | None = None
        """Start of the read that is being served; None between reads."""
        self._plain: dict[int, Distribution] = {}
        """Latencies of requests that are answered at once and successfully, as most are, by their codes."""
        self._known: dict[_Key, Distribution] = {}
        self.answered: list[int] = []

    def begin(self) -> None:
        """Start a read."""
        self._began = self._monotonic()

    def end(self) -> None:
        """End the read: count the requests that were answered at once."""
        began, answered = self._began, self.answered
        self._began = None
        if began is None or not answered:
            return
        millis = int((self._monotonic() - began) * 1000)
        for code in set(answered):
            distribution = self._plain.get(code) or self._plain_of(code)
            times = answered.count(code)
            distribution.counts[bisect_left(LATENCY_BOUNDS, millis)] += times
            distribution.sum += millis * times
        answered.clear()

    def wait(self, call: Call) -> None:
        """Measure this request separately from its read."""
        call.is_late, call.is_held = True, False
        call.began = self._monotonic() if self._began is None else self._began

    def note(self, call: Call, reply: Reply) -> None:
        """Record the answer of a request, before it is written."""
        code, is_held = call.command.code, call.is_late and call.is_held
        millis = self._millis_since(call.began if call.is_late else self._began)
        result = (
            ONEWAY if call.command.flag & ONEWAY_FLAG else SUCCESS if reply is not NO_REPLY else CANCELLED
        )
        key = code, int(reply.code), is_held, result
        distribution = self._known.get(key) or self._distribution_of(key)
        distribution.counts[bisect_left(LATENCY_BOUNDS, millis)] += 1
        distribution.sum += millis
        if code in CREATIONS:
            self._created(call, reply, millis)

    def _millis_since(self, began: float | None) -> int:
        """Return the milliseconds since `began`; 0 if the request did not arrive by a read."""
        return 0 if began is None else int((self._monotonic() - began) * 1000)

    def _plain_of(self, code: int) -> Distribution:
        key = code, 0, False, SUCCESS
        distribution = self._distribution_of(key)
        if key in self._known:
            self._plain[code] = distribution
        return distribution

    def _created(self, call: Call, reply: Reply, millis: int) -> None:
        """Record the result of a request that creates topics or groups."""
        status = "success" if reply.code == ResponseCode.SUCCESS else "failure"
        if call.command.code in TOPICS:
            is_system = str(is_system_topic(getattr(call.header, "topic", ""))).lower()
            self._meters.topic_creation.record((status, is_system), millis)
        else:
            self._meters.group_creation.record((status,), millis)

    def _distribution_of(self, key: _Key) -> Distribution:
        code, answer, is_held, result = key
        is_polled = str(is_held and code in POLLED).lower()
        labels = (_name(RequestCode, code), _name(ResponseCode, answer), is_polled, result)
        distribution = self._latency.of(labels)
        if code in RequestCode._value2member_map_:  # others may be any number
            self._known[key] = distribution
        return distribution


def _name(codes: type[RequestCode] | type[ResponseCode], code: int) -> str:
    """Return RocketMQ's name of a code in lower case; the number of an unknown code."""
    try:
        return codes(code).name.lower()
    except ValueError:
        return str(int(code))
