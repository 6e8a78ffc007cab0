"""Fault injection for tests: requests that are lost, late, refused or disconnected.

A `Fault` names the requests that it applies to, the number of times, and its effect:

    drop          the request is lost: it is not carried out, and not answered
    drop_answer   it is carried out, but the answer is lost
    delay         it is carried out later, in seconds of the machine
    refuse        it is answered with a code and a remark instead of being carried out
    cut           the connection is aborted instead

Only the first fault that matches a request is applied.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from twisted.internet.defer import Deferred

from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_response
from mqgateway.gateway.remoting.call import Peer
from mqgateway.gateway.remoting.dispatch import CarryOut, Dispatcher
from mqgateway.gateway.runtime.outcomes import then

SEND = (
    RequestCode.SEND_MESSAGE,
    RequestCode.SEND_MESSAGE_V2,
    RequestCode.SEND_BATCH_MESSAGE,
)
"""Request codes with which producers send messages."""
PULL = (RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE)
"""Request codes with which consumers pull."""
ANY = None
"""Every request."""
ALWAYS = 1 << 62

Codes = int | Iterable[int] | None
Answer = "bytes | Deferred[bytes | None] | None"
_BORN = {
    RequestCode.SEND_MESSAGE: "bornTimestamp",
    RequestCode.SEND_MESSAGE_V2: "g",
    RequestCode.SEND_BATCH_MESSAGE: "g",
}


@dataclass(eq=False)
class Fault:
    """One injected fault. `times` is the number of requests it will still affect, `hits` the number so far.

    As a context manager it ends with its block.
    """

    what: str
    codes: frozenset[int] | None
    times: int
    seconds: float = 0.0
    code: int = ResponseCode.SYSTEM_ERROR
    remark: str = ""
    topic: str | None = None
    hits: int = 0

    def heal(self) -> None:
        """End the fault."""
        self.times = 0

    def strikes(self, codes: Collection[int], topics: Collection[str | None]) -> bool:
        """Return True, and count a hit, if it matches a request that has one of these codes and topics."""
        if self.times <= 0 or not (self.codes is None or not self.codes.isdisjoint(codes)):
            return False
        if self.topic is not None and self.topic not in topics:
            return False
        self.times -= 1
        self.hits += 1
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.heal()


class Faults:
    """Faults of one server. `pause` returns a Deferred that fires after some seconds.

    `served` is called after a delayed request was carried out. `ahead` returns the lead of the server's clock
    over the machine's, in ms.
    """

    def __init__(
        self,
        pause: Callable[[float], Deferred[None]],
        served: Callable[[], None],
        ahead: Callable[[], int] = lambda: 0,
    ) -> None:
        self.pause = pause
        self.served = served
        self._ahead = ahead
        self._orders: list[Fault] = []

    def order(self, what: str, codes: Codes, times: int | None, **more: Any) -> Fault:
        """Add and return a fault that applies from now on; until it is healed if `times` is None."""
        wanted = None if codes is None else frozenset([codes] if isinstance(codes, int) else codes)
        fault = Fault(what, wanted, ALWAYS if times is None else times, **more)
        self._orders = [one for one in self._orders if one.times > 0] + [fault]
        return fault

    def heal(self) -> None:
        """End all faults."""
        for fault in self._orders:
            fault.heal()
        self._orders.clear()

    def attach(self, dispatcher: Dispatcher) -> None:
        """Intercept the requests of a port."""
        dispatcher.intercept_with(self._intercept)

    def striking(self, codes: Collection[int], topics: Collection[str | None]) -> Fault | None:
        """Return the fault that applies to a request, and count the hit; None if there is none."""
        return next((one for one in self._orders if one.strikes(codes, topics)), None)

    def _intercept(self, command: RemotingCommand, peer: Peer, carry_out: CarryOut) -> Any:
        self._date(command)
        fault = self.striking((command.code,), _topics(command))
        return carry_out(command, peer) if fault is None else self._strike(fault, carry_out, command, peer)

    def _strike(self, fault: Fault, carry_out: CarryOut, command: RemotingCommand, peer: Peer) -> Any:
        if fault.what == "refuse":
            return encode_response(command, fault.code, None, b"", fault.remark)
        if fault.what == "cut":
            peer.abort()  # type: ignore[attr-defined]
        elif fault.what == "drop_answer":
            answer: Any = carry_out(command, peer)
            return then(answer, lambda _: None)
        elif fault.what == "delay":
            return self._later(fault.seconds, carry_out, command, peer)
        return None

    def _later(self, seconds: float, carry_out: CarryOut, command: RemotingCommand, peer: Peer) -> Any:
        def carry(_: None) -> Any:
            answer = carry_out(command, peer)
            self.served()
            return answer

        return self.pause(seconds).addCallback(carry).addErrback(lambda _: None)

    def _date(self, command: RemotingCommand) -> None:
        """Convert the born timestamp of a send from the clients' time, the machine's, to the server's."""
        ahead = self._ahead()
        name = _BORN.get(command.code)  # type: ignore[call-overload]
        born = command.ext_fields.get(name, "") if ahead and name else ""
        if born.isdecimal():
            command.ext_fields[name] = str(int(born) + ahead)


def _topics(command: RemotingCommand) -> tuple[str | None, ...]:
    fields = command.ext_fields
    return fields.get("topic"), fields.get("b")
