"""Requests that a sync answers, and the time of the answer."""

from mqgateway.engine.store.group_commit import GroupCommit
from mqgateway.engine.store.results import PutStatus

OK, LATE = PutStatus.PUT_OK, PutStatus.FLUSH_DISK_TIMEOUT


def test_wait_for_durable_offset_is_answered_at_once() -> None:
    commit = GroupCommit()
    commit.flushed = 10
    said: list[PutStatus] = []
    commit.wait(10, 99, said.append)
    assert said == [OK]
    assert not commit.begin(10)


def test_sync_serves_earlier_waiters_and_later_ones_wait() -> None:
    commit = GroupCommit()
    said: list[str] = []
    for end in (5, 10, 15):
        commit.wait(end, 99, lambda status, end=end: said.append(f"{end} {status.value}"))  # type: ignore[misc]
    assert commit.begin(10)
    assert not commit.begin(15)
    commit.finish()
    commit.answer()
    assert said == ["5 PUT_OK", "10 PUT_OK"]
    assert commit.waiting == 1
    assert commit.begin(15)


def test_truncated_log_is_not_durable_past_its_end() -> None:
    """Records that are appended during the sync, after a truncation, need another one."""
    commit = GroupCommit()
    assert commit.begin(10)
    commit.rewind(4)
    commit.finish()
    assert commit.flushed == 4
    commit.rewind(3)
    assert commit.begin(4)


def test_failed_sync_is_final() -> None:
    commit = GroupCommit()
    said: list[PutStatus] = []
    commit.wait(5, 99, said.append)
    assert commit.begin(5)
    commit.finish("sick disk")
    commit.answer()
    assert said == [LATE]
    assert not commit.begin(20)
    commit.wait(20, 99, said.append)
    assert said == [LATE, LATE]


def test_wait_past_deadline_times_out() -> None:
    commit = GroupCommit()
    said: list[PutStatus] = []
    commit.wait(5, 100, said.append)
    commit.wait(6, 200, said.append)
    commit.expire(99)
    assert said == []
    commit.expire(100)
    assert said == [LATE]
    commit.give_up()
    assert said == [LATE, LATE]


def test_waiter_can_wait_again_from_its_callback() -> None:
    commit = GroupCommit()
    said: list[PutStatus] = []
    commit.wait(5, 100, lambda _: commit.wait(9, 100, said.append))
    assert commit.begin(5)
    commit.finish()
    commit.answer()
    assert commit.waiting == 1
