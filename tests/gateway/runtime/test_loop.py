"""Twisted's reactors and transports, and our doubles, have the methods that our protocols declare."""

import inspect
from typing import Any

import pytest
from twisted.internet.base import DelayedCall
from twisted.internet.posixbase import PosixReactorBase
from twisted.internet.selectreactor import SelectReactor
from twisted.internet.task import Clock
from twisted.internet.tcp import Connection, Port
from twisted.protocols.tls import TLSMemoryBIOProtocol

from mqgateway.engine.clock import monotonic_seconds
from mqgateway.gateway.runtime import loop
from tests.support.gateway.remoting.pair import Net, NetPort, Wire


def methods(shape: type) -> dict[str, Any]:
    """Return the public functions of a structural type, inherited ones included."""
    found = inspect.getmembers(shape, inspect.isfunction)
    return {name: function for name, function in found if not name.startswith("_")}


@pytest.mark.parametrize(
    ("shape", "real"),
    [
        (loop.Timer, DelayedCall),
        (loop.Transport, Connection),
        (loop.Transport, Wire),
        (loop.ListeningPort, Port),
        (loop.ListeningPort, NetPort),
        (loop.Clockwork, Clock),
        (loop.Clockwork, PosixReactorBase),
        (loop.Reactor, PosixReactorBase),
        (loop.Reactor, Net),
    ],
)
def test_the_real_thing_can_be_called_as_the_shape_says(shape: type, real: type) -> None:
    """Every parameter that we may pass by position fits, and none is missing."""
    assert methods(shape)
    for name, ours in methods(shape).items():
        function = getattr(real, name)
        if inspect.isbuiltin(function):  # the reactor's `seconds` is the system's own
            continue
        theirs = inspect.signature(function)
        positional = [
            parameter
            for parameter in inspect.signature(ours).parameters.values()
            if parameter.kind is parameter.POSITIONAL_ONLY
            or parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        ]
        theirs.bind(*[object()] * len(positional))


def test_the_tls_layer_is_a_transport_too() -> None:
    """It takes the methods that it lacks from the transport beneath."""
    lacking = {name for name in methods(loop.Transport) if not hasattr(TLSMemoryBIOProtocol, name)}
    assert lacking == {"pauseProducing", "resumeProducing", "setTcpNoDelay"}
    assert hasattr(TLSMemoryBIOProtocol, "__getattr__")


def test_reactor_takes_the_monotonic_clock_and_keeps_pending_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reactor: Any = SelectReactor()
    calls: list[str] = []
    reactor.callLater(0.0, calls.append, "soon")
    later = reactor.callLater(60.0, calls.append, "later")
    loop.use_monotonic_time(reactor)
    loop.use_monotonic_time(reactor)
    assert reactor.seconds is monotonic_seconds
    assert 59 < later.getTime() - monotonic_seconds() <= 60
    reactor.runUntilCurrent()
    assert calls == ["soon"]
    now = monotonic_seconds()
    monkeypatch.setattr(reactor, "seconds", lambda: now + 61)
    reactor.runUntilCurrent()
    assert calls == ["soon", "later"]


def test_other_clocks_are_left_alone() -> None:
    clock = Clock()
    loop.use_monotonic_time(clock)
    assert clock.seconds() == 0.0
