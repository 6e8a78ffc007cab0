"""The order of scenarios in a run: what waits in threads starts first, and its results are taken last.

Scenarios marked ``overlap`` start in threads when the first of them is due, and so do the pages of
`test_documents`. Meanwhile the other scenarios run one after the other.

Bookkeeping: no scenario depends on this module, so that a change here does not invalidate what was recorded.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import pytest

from compat_tests.support.overlap import kind_of
from compat_tests.support.record import file_of

OWN_THREADS = frozenset({"test_documents"})
"""Files whose first scenario starts all others in threads of its own."""

SHORTEST = ("test_query", "test_send", "test_python_client_simple", "test_grpc_errors")
"""Files whose overlapping scenarios take seconds. One of them is due first, as its result is waited for."""

LONGEST = (
    "test_etcd",
    "test_takeover",
    "test_storm",
    "test_static",
    "test_access_clients",
    "test_spark_static",
)
"""Files whose overlapping scenarios take longest: if they started last, they would be alone at the end."""


def group_of(item: pytest.Item) -> Hashable:
    """Return what identifies the scenarios that start in threads together; None for one that does not."""
    stem = file_of(item.nodeid)
    if stem in OWN_THREADS:
        return stem
    return ("overlap", kind_of(item)) if item.get_closest_marker("overlap") else None


def arranged(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return the scenarios in their order: one of each group, those without a group, the rest of all groups.

    Within a part the order stays, but for long scenarios of the last part, which come first there.
    """
    groups: dict[Hashable, list[pytest.Item]] = {}
    for item in items:
        groups.setdefault(group_of(item), []).append(item)
    alone = groups.pop(None, [])
    first = [min(group, key=_shortest) for group in groups.values()]
    rest = [item for group in groups.values() for item in group if item not in first]
    return [*first, *alone, *sorted(rest, key=_longest)]


def _shortest(item: pytest.Item) -> int:
    return _position(item, SHORTEST)


def _longest(item: pytest.Item) -> int:
    return _position(item, LONGEST)


def _position(item: pytest.Item, files: Sequence[str]) -> int:
    stem = file_of(item.nodeid)
    return files.index(stem) if stem in files else len(files)
