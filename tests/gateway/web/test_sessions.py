from mqgateway.engine.clock import ManualClock
from mqgateway.gateway.web import sessions
from mqgateway.gateway.web.sessions import Attempts, LoginSessions


def test_idle_session_ends() -> None:
    clock = ManualClock()
    made = LoginSessions(clock)
    session = made.open("alice", 60)
    clock.advance(50_000)
    assert made.find(session.id) is session
    clock.advance(50_000)
    assert made.find(session.id, is_use=False) is session
    clock.advance(20_000)
    assert made.find(session.id) is None and len(made) == 0


def test_one_without_an_end_does_not() -> None:
    clock = ManualClock()
    made = LoginSessions(clock)
    session = made.open("", None)
    clock.advance(10**10)
    assert made.find(session.id) is session
    made.close(session)
    assert made.find(session.id) is None


def test_ids_cannot_be_guessed() -> None:
    made = LoginSessions(ManualClock())
    ids = {part for _ in range(50) for one in [made.open("", None)] for part in (one.id, one.csrf)}
    assert len(ids) == 100 and all(len(one) >= 43 for one in ids)


def test_oldest_session_is_evicted_at_the_limit() -> None:
    clock = ManualClock()
    made = LoginSessions(clock)
    first = made.open("first", None)
    for _ in range(sessions.SESSIONS_MAX):
        clock.advance(1_000)
        made.open("x", None)
    assert len(made) == sessions.SESSIONS_MAX and made.find(first.id) is None


def test_failed_logins_back_off_longer_each_time() -> None:
    clock = ManualClock()
    attempts = Attempts(clock)
    waits = []
    for _ in range(6):
        attempts.failed("a")
        waits.append(attempts.wait("a"))
    assert waits == [0, 0, 1, 2, 4, 8] and attempts.wait("b") == 0
    clock.advance(8_000)
    assert attempts.wait("a") == 0
    attempts.succeeded("a")
    attempts.failed("a")
    assert attempts.wait("a") == 0
    for _ in range(50):
        attempts.failed("a")
    assert attempts.wait("a") == sessions.WAIT_MAX_SECONDS


def test_failures_are_not_kept_for_ever() -> None:
    attempts = Attempts(ManualClock())
    for number in range(sessions.FAILURES_MAX + 5):
        for _ in range(3):
            attempts.failed(str(number))
    assert attempts.wait("0") == 0 and attempts.wait("100") == 1
