"""Steps of a member before it registers, also if other members are unreachable."""

from mqgateway.engine.ha.online import (
    ATTEMPTS_MAX,
    FOLLOWING_MILLIS,
    PAUSE_MILLIS,
    ComingOnline,
    MemberTask,
    Task,
)

MASTER, FIRST, SECOND = "m:1", "s:1", "s:2"
ASK, REGISTER = MemberTask(Task.ASK_MEMBERS), MemberTask(Task.REGISTER)


def asked(own_id: int, members: dict[int, str]) -> ComingOnline:
    """Return a member that knows the others."""
    coming = ComingOnline(own_id)
    assert coming.next(0, 0) == ASK
    assert coming.next(0, 0) is None, "one thing at a time"
    coming.members_are(members)
    return coming


def registers(coming: ComingOnline, now: int = 0) -> None:
    assert coming.next(now, 0) == REGISTER
    assert not coming.is_online
    coming.done()
    assert coming.is_online
    assert coming.next(now, 0) is None


def test_single_member_registers_at_once() -> None:
    registers(asked(0, {}))
    registers(asked(1, {}))
    registers(asked(0, {0: MASTER}))


def test_a_slave_without_master_registers_at_once() -> None:
    registers(asked(2, {1: FIRST}))


def test_a_master_waits_for_each_slave_and_takes_back_what_it_knows() -> None:
    coming = asked(0, {2: SECOND, 1: FIRST})
    for before, address in enumerate((FIRST, SECOND)):
        assert coming.next(0, before) == MemberTask(Task.ANNOUNCE, address)
        coming.done()
        assert coming.next(0, before) is None, "it does not follow yet"
        assert coming.next(0, before + 1) == MemberTask(Task.TAKE_BACK, address)
        coming.done()
    registers(coming)


def test_a_slave_waits_until_it_follows_its_master() -> None:
    coming = asked(1, {0: MASTER, 2: SECOND})
    assert coming.next(0, 0) == MemberTask(Task.ASK_MASTER, MASTER)
    coming.done()
    assert coming.next(0, 0) is None
    assert coming.next(0, 1) == REGISTER


def test_failed_step_is_retried_after_a_pause() -> None:
    coming = asked(0, {1: FIRST})
    coming.next(0, 0)
    coming.failed(0)
    assert coming.next(PAUSE_MILLIS - 1, 0) is None
    assert coming.next(PAUSE_MILLIS, 0) == ASK
    coming.members_are({})
    registers(coming, PAUSE_MILLIS)


def test_without_a_name_server_nothing_is_begun() -> None:
    coming = ComingOnline(0)
    for second in range(10):
        assert coming.next(second * PAUSE_MILLIS, 0) == ASK
        coming.failed(second * PAUSE_MILLIS)


def test_unreachable_member_is_left_out() -> None:
    coming, now = ComingOnline(0), 0
    for _ in range(ATTEMPTS_MAX):
        assert coming.next(now, 0) == ASK
        coming.members_are({1: FIRST})
        assert coming.next(now, 0) == MemberTask(Task.ANNOUNCE, FIRST)
        coming.failed(now)
        now += PAUSE_MILLIS
    assert coming.left_out == [FIRST]
    assert coming.next(now, 0) == ASK
    coming.members_are({1: FIRST})
    registers(coming, now)


def test_member_that_never_follows_is_left_out() -> None:
    coming, now = ComingOnline(0), 0
    for _ in range(ATTEMPTS_MAX):
        coming.next(now, 0)
        coming.members_are({1: FIRST})
        coming.next(now, 0)
        coming.done()
        assert coming.next(now, 0) is None
        now += FOLLOWING_MILLIS
        assert coming.next(now, 0) is None
        now += PAUSE_MILLIS
    assert coming.left_out == [FIRST]
