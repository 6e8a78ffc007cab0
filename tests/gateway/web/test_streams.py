from __future__ import annotations

from typing import Any

from twisted.internet.task import Clock

from mqgateway.gateway.runtime.schedule import Schedule
from mqgateway.gateway.web.streams import SILENCE_SECONDS, Events, EventSource, EventStream


class Asked:
    """The request that a stream answers."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.producer: Any = None
        self.is_finished = False

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def finish(self) -> None:
        self.is_finished = True

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        self.producer = producer

    def unregisterProducer(self) -> None:
        self.producer = None


class World:
    """A stream of the entries of `events`."""

    def __init__(self) -> None:
        self.clock, self.request, self.events = Clock(), Asked(), [("a", 1)]
        self.ended: list[EventStream] = []
        self.is_alive = True
        self.stream = EventStream(
            self.request,
            EventSource(1.0, self._next),
            Schedule(self.clock),
            lambda: self.is_alive,
            self.ended.append,
        )
        self.stream.start()

    def _next(self) -> Events:
        events, self.events = self.events, []
        return list(events)


def test_events_are_written_as_they_arrive() -> None:
    world = World()
    assert world.request.written == [b"event: a\ndata: 1\n\n"]
    world.events = [("b", {"x": "\n"}), ("c", None)]
    world.clock.advance(1)
    assert world.request.written[1:] == [b'event: b\ndata: {"x":"\\n"}\n\n', b"event: c\ndata: null\n\n"]


def test_silence_is_broken_now_and_then() -> None:
    world = World()
    world.clock.pump([1] * int(SILENCE_SECONDS))
    assert world.request.written[1:] == [b":\n\n"]


def test_slow_reader_misses_events() -> None:
    world = World()
    world.stream.pauseProducing()
    world.events = [("b", 1), ("b", 2)]
    world.clock.advance(1)
    assert len(world.request.written) == 1
    world.stream.resumeProducing()
    world.events = [("b", 3)]
    world.clock.advance(1)
    assert world.request.written[1:] == [b'event: missed\ndata: {"events":2}\n\n', b"event: b\ndata: 3\n\n"]


def test_it_ends_with_the_session() -> None:
    world = World()
    world.is_alive = False
    world.clock.advance(1)
    assert world.request.written[-1] == b"event: end\ndata: {}\n\n"
    assert world.request.is_finished and world.ended == [world.stream] and world.request.producer is None
    assert not world.clock.getDelayedCalls()


def test_it_ends_once() -> None:
    for end in ("lost", "close", "stopProducing"):
        world = World()
        getattr(world.stream, end)()
        world.stream.close()
        world.stream.lost()
        assert world.ended == [world.stream] and world.request.is_finished is (end == "close")
        assert not world.clock.getDelayedCalls()
