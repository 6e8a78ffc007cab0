"""Files that are written as fast as a browser reads them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.gateway.web.downloads import Download, DownloadWriter


class FakeRequest:
    """A request that notes what is written; `producer` is None before and after the writing."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.written: list[bytes] = []
        self.producer: Any = None

    def setHeader(self, name: str, value: str, /) -> None:
        self.headers[name] = value

    def write(self, data: bytes, /) -> None:
        self.written.append(data)

    def registerProducer(self, producer: Any, streaming: bool, /) -> None:
        assert streaming
        self.producer = producer

    def unregisterProducer(self) -> None:
        self.producer = None


class World:
    """A download of three chunks; `error` is raised in the place of the chunk `failing`."""

    def __init__(self, failing: int = -1) -> None:
        self.request = FakeRequest()
        self.is_alive = True
        self.outcomes: list[Any] = []
        self.read = 0

        async def chunks() -> AsyncIterator[bytes]:
            for number in range(3):
                if number == failing:
                    raise ValueError("gone")
                self.read = number + 1
                yield f"chunk {number}".encode()

        download = Download("a b/ü.csv", "text/csv", chunks())
        self.writer = DownloadWriter(self.request, download, lambda: self.is_alive)

    def write(self) -> Deferred[bool]:
        writing = Deferred.fromCoroutine(self.writer.write())
        writing.addBoth(self.outcomes.append)
        return writing


def test_file_has_a_name_a_type_and_all_chunks() -> None:
    world = World()
    world.write()
    assert world.outcomes == [True] and world.request.producer is None
    assert world.request.written == [b"chunk 0", b"chunk 1", b"chunk 2"]
    assert world.request.headers == {
        "Content-Type": "text/csv",
        "Content-Disposition": "attachment; filename*=UTF-8''a%20b%2F%C3%BC.csv",
    }


def test_nothing_is_read_ahead_of_a_browser_that_is_slow() -> None:
    world = World()
    world.writer.pauseProducing()
    world.write()
    world.writer.pauseProducing()
    assert (world.request.written, world.read, world.outcomes) == ([b"chunk 0"], 1, [])
    world.request.producer.resumeProducing()
    assert len(world.request.written) == 3 and world.outcomes == [True]


def test_file_ends_early_if_the_session_has_ended() -> None:
    world = World()
    world.writer.pauseProducing()
    world.write()
    world.is_alive = False
    world.writer.resumeProducing()
    assert world.outcomes == [False] and world.request.written == [b"chunk 0"]


@pytest.mark.parametrize(("failing", "headers"), [(0, 0), (1, 2)])
def test_failure_before_the_first_chunk_leaves_the_request_untouched(failing: int, headers: int) -> None:
    world = World(failing)
    world.write()
    [failure] = world.outcomes
    assert isinstance(failure, Failure) and failure.check(ValueError) is not None
    assert len(world.request.headers) == headers and world.request.producer is None


def test_cancelled_file_is_written_no_further() -> None:
    world = World()
    world.writer.pauseProducing()
    world.write().cancel()
    world.writer.stopProducing()
    assert world.request.written == [b"chunk 0"] and world.request.producer is None
