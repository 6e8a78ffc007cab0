"""A server for tests in memory: its loop has no thread, its sockets no network, its time is moved by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.python.failure import Failure

from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.client.loop import Loop
from mqgateway.gateway.client.producer import Producer
from mqgateway.gateway.client.push import PushConsumer
from mqgateway.gateway.testing.server import Server
from tests.support.gateway.namesrv.world import NetClock
from tests.support.gateway.remoting.pair import Net

HOST = "10.0.0.1"
STEP_SECONDS = 0.01


class HandLoop(Loop):
    """The server's loop, and the environment of the clients."""

    def __init__(self) -> None:
        net: Any = Net()
        net.callFromThread = lambda function, *args, **kw: net.callLater(0, function, *args, **kw)
        self.net = net
        self.reactor = net
        self.clock = NetClock(net)
        self.disk = CrashDisk()
        self.worker = None
        self.turn = None

    def settle(self, seconds: float = 0.0) -> None:
        """Advance the time in small steps and move bytes meanwhile."""
        for _ in range(max(1, round(seconds / STEP_SECONDS))):
            self.net.advance(STEP_SECONDS if seconds else 0)
            for pair in list(self.net.pairs):
                pair.pump()
        self.net.pairs = [pair for pair in self.net.pairs if not (pair.client.gone and pair.server.gone)]

    def submit(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
        outcome: Future[Any] = Future()
        results: list[Any] = []
        maybeDeferred(function, *args, **kwargs).addBoth(results.append)
        for _ in range(3000):
            if results:
                break
            self.settle(STEP_SECONDS)
        assert results, "nothing came of it"
        if isinstance(results[0], Failure):
            assert results[0].value is not None
            outcome.set_exception(results[0].value)
        else:
            outcome.set_result(results[0])
        return outcome

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self.submit(function, *args, **kwargs).result()


class Hands:
    """A started server and the clients of a test, which are closed at the end."""

    def __init__(self, **settings: Any) -> None:
        self.loop = HandLoop()
        self.server = Server(
            host=HOST, broker_port=10911, loop=self.loop, machine=self.loop.clock, **settings
        ).start()
        self._to_close: list[Callable[[], Deferred[Any]]] = []

    def close(self) -> None:
        for close in reversed(self._to_close):
            self.loop.call(close)
        self.server.stop()

    def producer(self, **settings: Any) -> Producer:
        return self._begun(Producer("P", self.loop, **self._given(settings)))

    def consumer(self, listener: Any, topic: str, group: str = "G", **settings: Any) -> PushConsumer:
        given = self._given({"consume_from_where": "CONSUME_FROM_FIRST_OFFSET", **settings})
        consumer = PushConsumer(group, self.loop, listener, **given)
        self.loop.call(consumer.subscribe, topic)
        return self._begun(consumer)

    def send(self, producer: Producer, message: Any, **more: Any) -> Any:
        return self.loop.call(producer.send, message, **more)

    def wait_for(self, condition: Callable[[], object], seconds: float = 30.0) -> None:
        for _ in range(round(seconds / STEP_SECONDS)):
            if condition():
                return
            self.loop.settle(STEP_SECONDS)
        assert condition(), f"it did not come about in {seconds:g} s"

    def _given(self, settings: dict[str, Any]) -> dict[str, Any]:
        return {"namesrv_addr": self.server.namesrv, "client_ip": "10.0.0.2", **settings}

    def _begun(self, member: Any) -> Any:
        self.loop.call(member.start)
        self._to_close.append(member.close)
        return member


@contextmanager
def hands(**settings: Any) -> Iterator[Hands]:
    """Yield a server, and close it and its clients afterwards."""
    held = Hands(**settings)
    yield held
    held.close()
