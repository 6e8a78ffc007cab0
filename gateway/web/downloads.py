"""Answers of the API that are files, written in chunks as fast as the browser reads them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import NamedTuple, Protocol
from urllib.parse import quote

from twisted.internet.defer import Deferred

DOWNLOADS_MAX = 8
"""Maximum number of files that are written at the same time."""


class Download(NamedTuple):
    """A file: its name, its content type, and its chunks. What fails before the first chunk is an error's
    answer; what fails later ends the connection."""

    name: str
    kind: str
    chunks: AsyncIterator[bytes]

    @property
    def disposition(self) -> str:
        """The value of the header `Content-Disposition`; names may have any characters."""
        return f"attachment; filename*=UTF-8''{quote(self.name, safe='')}"


class DownloadRequest(Protocol):
    """The request that a file answers: `twisted.web.server.Request`."""

    def setHeader(self, name: str, value: str, /) -> object: ...

    def write(self, data: bytes, /) -> object: ...

    def registerProducer(self, producer: object, streaming: bool, /) -> object: ...

    def unregisterProducer(self) -> object: ...


class DownloadWriter:
    """Writes one file. Ends early if `is_alive` returns False, as the session may have ended."""

    def __init__(self, request: DownloadRequest, download: Download, is_alive: Callable[[], bool]) -> None:
        self._request = request
        self._download = download
        self._is_alive = is_alive
        self._resumed: Deferred[None] | None = None

    async def write(self) -> bool:
        """Write headers and chunks; return False if the file is not complete."""
        chunks = self._download.chunks
        chunk = await anext(chunks, b"")
        self._request.setHeader("Content-Type", self._download.kind)
        self._request.setHeader("Content-Disposition", self._download.disposition)
        self._request.registerProducer(self, True)
        try:
            while chunk:
                if not self._is_alive():
                    return False
                self._request.write(chunk)
                if self._resumed is not None:
                    await self._resumed
                chunk = await anext(chunks, b"")
        finally:
            self._request.unregisterProducer()
        return True

    # As a push producer.

    def pauseProducing(self) -> None:
        """Stop writing until the browser has read."""
        if self._resumed is None:
            self._resumed = Deferred()

    def resumeProducing(self) -> None:
        """Write again."""
        resumed, self._resumed = self._resumed, None
        if resumed is not None:
            resumed.callback(None)

    def stopProducing(self) -> None:
        """Do nothing: the end of the request cancels the writing."""
