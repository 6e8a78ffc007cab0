"""Subscriptions as they are sent to brokers."""

from __future__ import annotations

import pytest

from mqgateway.engine.message import java_hash
from mqgateway.gateway.client.errors import BadArgument
from mqgateway.gateway.client.subscriptions import Sql, subscription


def test_everything_tags_and_expressions() -> None:
    everything = subscription("T", "*", 5)
    assert (everything.sub_string, everything.tags_set, everything.sub_version) == ("*", [], 5)
    tags = subscription("T", "B || A", 5)
    assert (tags.sub_string, tags.tags_set) == ("B || A", ["A", "B"])
    assert tags.code_set == sorted(map(java_hash, "AB")) and tags.expression_type == "TAG"
    sql = subscription("T", Sql("a > 3"), 5)
    assert (sql.sub_string, sql.expression_type, sql.tags_set) == ("a > 3", "SQL92", [])
    assert subscription("T", "", 5).sub_string == "*"


def test_invalid_expressions_are_refused() -> None:
    with pytest.raises(BadArgument):
        subscription("T", "||", 1)
    assert subscription("T", Sql("a"), 1).sub_string == "a"
