"""Who is logged in: sessions in memory, and how long who guesses passwords has to wait. Pure."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass

from mqgateway.engine.clock import Clock

SESSIONS_MAX = 1000
FAILURES_MAX = 10_000
FREE_ATTEMPTS = 3
WAIT_MAX_SECONDS = 300.0


@dataclass(eq=False)
class LoginSession:
    """Somebody who was let in. `csrf` is what writes have to bring; `idle_seconds` None: it never ends."""

    id: str
    csrf: str
    user: str
    idle_seconds: float | None
    seen_at: float


class LoginSessions:
    """All sessions. Ids are of 256 bits and known to the browser only."""

    def __init__(self, clock: Clock, random: Callable[[], str] = lambda: secrets.token_urlsafe(32)) -> None:
        self._clock = clock
        self._random = random
        self._sessions: dict[str, LoginSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, user: str, idle_seconds: float | None) -> LoginSession:
        """A new session; the one that was silent longest ends where there are very many."""
        now = self._clock.monotonic()
        if len(self._sessions) >= SESSIONS_MAX:
            self.close(min(self._sessions.values(), key=lambda one: one.seen_at))
        session = LoginSession(self._random(), self._random(), user, idle_seconds, now)
        self._sessions[session.id] = session
        return session

    def find(self, session_id: str, *, is_use: bool = True) -> LoginSession | None:
        """The session, if it has not ended; it goes on from now where this is a use of it."""
        session = self._sessions.get(session_id)
        if session is None:
            return None
        now = self._clock.monotonic()
        if session.idle_seconds is not None and now - session.seen_at > session.idle_seconds:
            self.close(session)
            return None
        if is_use:
            session.seen_at = now
        return session

    def close(self, session: LoginSession) -> None:
        """It ends."""
        self._sessions.pop(session.id, None)


class Attempts:
    """How long somebody has to wait after wrong passwords: twice as long after each, from the fourth on."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures: dict[str, tuple[int, float]] = {}

    def wait(self, key: str) -> float:
        """Seconds until the next attempt is looked at; 0 for at once."""
        count, last = self._failures.get(key, (0, 0.0))
        if count < FREE_ATTEMPTS:
            return 0.0
        pause = min(WAIT_MAX_SECONDS, 2.0 ** (count - FREE_ATTEMPTS))
        return max(0.0, last + pause - self._clock.monotonic())

    def failed(self, key: str) -> None:
        """A wrong password; who failed longest ago is forgotten where there are very many."""
        count, _ = self._failures.pop(key, (0, 0.0))
        if len(self._failures) >= FAILURES_MAX:
            del self._failures[next(iter(self._failures))]
        self._failures[key] = count + 1, self._clock.monotonic()

    def succeeded(self, key: str) -> None:
        """The right one."""
        self._failures.pop(key, None)
