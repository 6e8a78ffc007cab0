"""Server-sent events: live updates for a browser.

Source: `EventSource` of the HTML standard. A browser that reads too slowly misses events, and is informed of
their number.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from mqgateway.gateway.runtime.schedule import Schedule
from mqgateway.gateway.runtime.schedule import ScheduledCall as Timer

STREAMS_MAX = 32
SILENCE_SECONDS = 15.0

Events = list[tuple[str, Any]]
"""Names of events, with their JSON values."""


class EventSource(NamedTuple):
    """Source of events: `next` is called at the start, and then every `seconds`."""

    seconds: float
    next: Callable[[], Events]


class StreamRequest(Protocol):
    """The request that a stream answers: `twisted.web.server.Request`."""

    def write(self, data: bytes, /) -> object: ...

    def finish(self) -> object: ...

    def registerProducer(self, producer: Any, streaming: bool, /) -> object: ...

    def unregisterProducer(self) -> object: ...


class EventStream:
    """One stream. `ended` is called at its end. `is_alive` is checked before each update, as the session may
    have ended."""

    def __init__(
        self,
        request: StreamRequest,
        source: EventSource,
        schedule: Schedule,
        is_alive: Callable[[], bool],
        ended: Callable[[EventStream], None],
    ) -> None:
        self._request = request
        self._source = source
        self._schedule = schedule
        self._is_alive = is_alive
        self._ended = ended
        self._is_paused = False
        self._missed = 0
        self._silent = 0.0
        self._timer: Timer | None = None

    def start(self) -> None:
        """Send the first events, and start the periodic updates."""
        self._request.registerProducer(self, True)
        self._timer = self._schedule.every(self._source.seconds, self._source.seconds, self._send)
        self._send()

    def lost(self) -> None:
        """Stop after the browser has disconnected."""
        self._stop()

    def close(self) -> None:
        """End the stream; the browser reconnects by itself."""
        if self._stop():
            self._request.unregisterProducer()
            self._request.finish()

    def _stop(self) -> bool:
        timer, self._timer = self._timer, None
        if timer is None:
            return False
        timer.cancel()
        self._ended(self)
        return True

    def _send(self) -> None:
        if not self._is_alive():
            self._write("end", {})
            self.close()
            return
        events = self._source.next()
        if self._is_paused:
            self._missed += len(events)
            return
        if self._missed:
            missed, self._missed = self._missed, 0
            self._write("missed", {"events": missed})
        for name, value in events:
            self._write(name, value)
        self._silent = 0.0 if events else self._silent + self._source.seconds
        if self._silent >= SILENCE_SECONDS:
            self._silent = 0.0
            self._request.write(b":\n\n")

    def _write(self, name: str, value: Any) -> None:
        text = json.dumps(value, separators=(",", ":"))
        self._request.write(f"event: {name}\ndata: {text}\n\n".encode())

    # As a push producer.

    def pauseProducing(self) -> None:
        """Stop writing until the browser has read."""
        self._is_paused = True

    def resumeProducing(self) -> None:
        """Write again."""
        self._is_paused = False

    def stopProducing(self) -> None:
        """Stop for good: the connection is lost."""
        self._stop()
