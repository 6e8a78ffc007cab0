"""Lite topics as front ends see them; `gateway/web/api/test_lites` has them as the console shows them."""

from __future__ import annotations

import pytest

from mqgateway.gateway.broker.operations import LiteGroup, LiteParent, Operations
from mqgateway.gateway.broker.operations.lite import LiteReader
from tests.support.gateway.broker.lite import PARENT, LiteBroker, queue
from tests.support.gateway.broker.operating import InlineRunner


@pytest.fixture
def memory() -> LiteBroker:
    """A parent with lite topics a and b, which c1 of group G reads."""
    memory = LiteBroker()
    memory.post("a", b"1", b"2", b"3")
    memory.post("b", b"1")
    memory.control("COMPLETE_ADD", "a", "b")
    return memory


def operations_of(memory: LiteBroker) -> Operations:
    return Operations(memory.broker, InlineRunner(memory))


def test_parent_has_groups_and_lite_topics(memory: LiteBroker) -> None:
    lite = operations_of(memory).lite
    memory.bind("F")
    assert lite.parents() == [PARENT]
    assert lite.parent(PARENT) == LiteParent(PARENT, 20, ["F", "G"])
    assert lite.parent("other") is None
    assert lite.counts().result == {PARENT: 2}
    assert lite.figures() == (2, 1, 0)


def test_readers_of_a_wildcard_group_read_all_lite_topics(memory: LiteBroker) -> None:
    lite = operations_of(memory).lite
    memory.bind("W", wildcard="true")
    memory.control("COMPLETE_ADD", client_id="c2", group="W")
    assert lite.group("G") == LiteGroup(["c1"], is_wildcard=False, is_exclusive=False)
    assert lite.group("W") == LiteGroup(["c2"], is_wildcard=True, is_exclusive=False)
    assert lite.reader("c1").lite_topics == 2
    assert lite.reader("c2").lite_topics is None
    assert lite.reader("gone") == LiteReader(None, -1)


def test_lag_counts_lite_topics_that_a_group_has_consumed(memory: LiteBroker) -> None:
    lite = operations_of(memory).lite
    assert lite.lag(PARENT).result == (2, {"G": {}})
    memory.broker.tables.offsets.commit("G", queue("a"), 0, 1)
    memory.broker.tables.offsets.commit("G", queue("b"), 0, 1)
    outcome = lite.lag(PARENT)
    assert outcome.result.by_group == {"G": {queue("a"): 2}}
