"""The keys that an identity provider publishes, from a file or by HTTP, never read on the event loop.

They are read at first use and then at an interval. A token with an unknown key id has them read again, at
most every ten seconds, and waits for that: providers sign with a new key as soon as they publish it. If they
cannot be read, the last ones stay in use. Source: `RefreshingHttpsJwks`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Thread
from typing import Any, Final, TypeVar
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from twisted.internet.defer import Deferred, succeed

from mqgateway.engine.clock import monotonic_seconds
from mqgateway.engine.worker import Worker
from mqgateway.gateway.kafka.sasl.key_set import InvalidKeySet, KeySet, SigningKey
from mqgateway.gateway.runtime.threads import ThreadedLoop

log = logging.getLogger(__name__)

T = TypeVar("T")

AGAIN_SECONDS: Final = 10.0
"""Shortest time between two reads for unknown key ids."""
DOCUMENT_SIZE_MAX: Final = 1024 * 1024
"""Bytes of the largest document."""
FETCH_SECONDS: Final = 10.0
"""Longest time of one read."""
_CHUNK: Final = 64 * 1024


class PublishedKeys:
    """The keys of one provider. `read` returns them, on the worker; `seconds` is the time of the loop."""

    def __init__(self, read: Callable[[], KeySet], worker: Worker, seconds: Callable[[], float]) -> None:
        self._read = read
        self._worker = worker
        self._seconds = seconds
        self._keys = KeySet()
        self._began: float | None = None  # the last read
        self._is_reading = False
        self._waiting: list[Deferred[None]] = []

    def find(self, key_id: str | None, algorithm: str) -> Deferred[SigningKey | None]:
        """Return a key of `KeySet.find`; for one that is not known, once the keys were read again."""
        found = self._keys.find(key_id, algorithm)
        if found is not None or not (self._is_reading or self._may_read_again()):
            return succeed(found)
        waiting: Deferred[None] = Deferred()
        self._waiting.append(waiting)
        self.refresh()
        return waiting.addCallback(lambda _: self._keys.find(key_id, algorithm))

    def refresh(self) -> None:
        """Read the keys again, unless they are being read."""
        if not self._is_reading:
            self._is_reading, self._began = True, self._seconds()
            self._worker.run(self._read, self._have_read)

    def _may_read_again(self) -> bool:
        return self._began is None or self._seconds() - self._began >= AGAIN_SECONDS

    def _have_read(self, outcome: KeySet | Exception) -> None:
        self._is_reading = False
        if isinstance(outcome, KeySet):
            self._keys = outcome
            if not outcome:
                log.warning("the key set of kafkaOauthbearerJwksUrl has no key that can verify a token")
        else:
            log.warning("the key set of kafkaOauthbearerJwksUrl cannot be read: %s", outcome)
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each.callback(None)


def read_key_set(url: str) -> KeySet:
    """Read a key set from a `file:`, `http:` or `https:` URL; blocks.

    Raises `OSError`, `ValueError` for a URL that is none, `InvalidKeySet`.
    """
    until, document = monotonic_seconds() + FETCH_SECONDS, bytearray()
    with build_opener(SecureRedirects).open(url, timeout=FETCH_SECONDS) as response:
        while chunk := response.read1(_CHUNK):
            document += chunk
            if len(document) > DOCUMENT_SIZE_MAX:
                raise InvalidKeySet(f"it is larger than {DOCUMENT_SIZE_MAX} bytes")
            if monotonic_seconds() > until:
                raise TimeoutError(f"it was not there within {FETCH_SECONDS:.0f} s")
    return KeySet.parse(bytes(document))


class SecureRedirects(HTTPRedirectHandler):
    """Redirects of `https:` URLs to such only: else who is on the way could replace the keys."""

    def redirect_request(
        self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        """Return the next request. Raises `HTTPError`."""
        if req.type == "https" and urlsplit(newurl).scheme != "https":
            raise HTTPError(req.full_url, code, f"it redirects to {newurl:.100}", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class FetchThreads:
    """Worker with a thread for each piece of work, which does not delay the end of the process."""

    def __init__(self, reactor: ThreadedLoop) -> None:
        self._reactor = reactor

    def run(self, work: Callable[[], T], done: Callable[[T | Exception], None]) -> None:
        """See `engine.worker.Worker`."""

        def perform() -> None:
            outcome: T | Exception
            try:
                outcome = work()
            except Exception as error:
                outcome = error
            self._reactor.callFromThread(done, outcome)

        try:
            Thread(target=perform, name="kafka-jwks", daemon=True).start()
        except RuntimeError as error:  # the system allows no more threads
            done(error)
