"""Requests between members."""

from mqgateway.engine.raft.log import Entry
from mqgateway.engine.raft.messages import Code, Push, PushType


def test_a_push_says_which_entries_it_has() -> None:
    entries = (Entry(4, 1, 100, b""), Entry(5, 1, 148, b""))
    push = Push(PushType.APPEND, "n0", 1, 3, entries)
    assert (push.first_index, push.last_index) == (4, 5)
    none = Push(PushType.COMMIT, "n0", 1, 3)
    assert (none.first_index, none.last_index) == (-1, -1)


def test_codes_are_the_standards() -> None:
    assert {code.name: int(code) for code in Code if code < 404} == {
        "SUCCESS": 200,
        "NETWORK_ERROR": 302,
        "UNKNOWN_GROUP": 400,
        "UNKNOWN_MEMBER": 401,
        "UNEXPECTED_MEMBER": 402,
        "EXPIRED_TERM": 403,
    }
