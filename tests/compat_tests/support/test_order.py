"""The order of scenarios in a run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from compat_tests.support.order import arranged, group_of


def item(name: str, kind: str | None = None, *, overlaps: bool = False) -> Any:
    """A collected scenario, as far as its order depends on it."""
    return SimpleNamespace(
        nodeid=f"compat_tests/{name}.py::test",
        callspec=SimpleNamespace(params={"kind": kind} if kind else {}),
        get_closest_marker=lambda marker: overlaps or None if marker == "overlap" else None,
    )


def test_one_of_each_group_comes_first_and_the_others_last() -> None:
    alone, other = item("test_acl1", "ours"), item("kafka.test_records", "ours")
    first, second = (item("test_push", "ours", overlaps=True) for _ in range(2))
    page, another_page = item("test_documents"), item("test_documents")
    items = [alone, first, page, other, second, another_page]
    assert arranged(items) == [first, page, alone, other, second, another_page]


def test_servers_have_groups_of_their_own() -> None:
    items = [item("test_push", kind, overlaps=True) for kind in ("apache", "ours", None)]
    assert len({group_of(one) for one in items}) == 3
    assert arranged(items) == items


def test_shortest_is_waited_for_and_longest_starts_next() -> None:
    names = ("test_crash", "test_push", "test_takeover", "test_send", "test_etcd")
    crash, push, takeover, send, etcd = items = [item(name, overlaps=True) for name in names]
    assert arranged(items) == [send, etcd, takeover, crash, push]


def test_scenarios_without_threads_keep_their_order() -> None:
    items = [item(name) for name in ("test_b", "test_a", "test_etcd")]
    assert arranged(items) == items
