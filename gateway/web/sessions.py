"""Login sessions, in memory, and the back-off after failed login attempts. Pure."""

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
    """Session of an authenticated user. `csrf` is the token that writes must contain. The session does not
    expire if `idle_seconds` is None."""

    id: str
    csrf: str
    user: str
    idle_seconds: float | None
    seen_at: float


class LoginSessions:
    """All sessions. Ids have 256 bits and are known to the browser only."""

    def __init__(self, clock: Clock, random: Callable[[], str] = lambda: secrets.token_urlsafe(32)) -> None:
        self._clock = clock
        self._random = random
        self._sessions: dict[str, LoginSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, user: str, idle_seconds: float | None) -> LoginSession:
        """Return a new session; evict the one that was idle longest if there are too many."""
        now = self._clock.monotonic()
        if len(self._sessions) >= SESSIONS_MAX:
            self.close(min(self._sessions.values(), key=lambda one: one.seen_at))
        session = LoginSession(self._random(), self._random(), user, idle_seconds, now)
        self._sessions[session.id] = session
        return session

    def find(self, session_id: str, *, is_use: bool = True) -> LoginSession | None:
        """Return the session if it has not expired, else None; `is_use` resets its idle time."""
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
        """End the session. Idempotent."""
        self._sessions.pop(session.id, None)


class Attempts:
    """Exponential back-off after wrong passwords, by key: from the third on, doubled by each."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures: dict[str, tuple[int, float]] = {}

    def wait(self, key: str) -> float:
        """Return the seconds until the next attempt is accepted; 0 if it is accepted now."""
        count, last = self._failures.get(key, (0, 0.0))
        if count < FREE_ATTEMPTS:
            return 0.0
        pause = min(WAIT_MAX_SECONDS, 2.0 ** (count - FREE_ATTEMPTS))
        return max(0.0, last + pause - self._clock.monotonic())

    def failed(self, key: str) -> None:
        """Record a wrong password; evict the key that failed longest ago if there are too many."""
        count, _ = self._failures.pop(key, (0, 0.0))
        if len(self._failures) >= FAILURES_MAX:
            del self._failures[next(iter(self._failures))]
        self._failures[key] = count + 1, self._clock.monotonic()

    def succeeded(self, key: str) -> None:
        """Reset the back-off of a key, after a correct password."""
        self._failures.pop(key, None)
