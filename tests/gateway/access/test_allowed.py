"""A request is known to be allowed as long as user and policies are the same objects, and of so many only."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mqgateway.gateway.access.allowed import ALLOWED_MAX, VALUE_MAX, Allowed, Watched
from mqgateway.gateway.access.policies import Acl
from mqgateway.gateway.access.users import User

ALICE, ACL = User("alice", "secret"), Acl("alice", {})
EVERYONE = Acl("*", {})
HERE = "10.0.0.7"


def add(allowed: Allowed, code: int = 310, *seen: str, **fields: str) -> None:
    watched = Watched(fields)
    for name in seen:
        watched.get(name)
    allowed.add("alice", HERE, code, watched, ALICE, (ACL, EVERYONE))


def knows(
    allowed: Allowed,
    code: int = 310,
    *,
    who: str = "alice",
    ip: str = HERE,
    user: User | None = ALICE,
    acl: Acl | None = ACL,
    everyone: Acl | None = EVERYONE,
    **fields: str,
) -> bool:
    return allowed.knows(who, ip, code, fields, user, (acl, everyone))


def test_only_what_was_added_is_known() -> None:
    allowed = Allowed()
    assert not knows(allowed, b="t")
    add(allowed, 310, "b", b="t", i="x")
    assert knows(allowed, b="t", i="y")
    assert not knows(allowed, b="u", i="x")
    assert not knows(allowed, i="x")
    assert not knows(allowed, who="bob", b="t")
    assert not knows(allowed, ip="10.0.0.8", b="t")
    assert not knows(allowed, 320, b="t")


def test_other_objects_are_other_users_and_policies() -> None:
    allowed = Allowed()
    add(allowed, 310, "b", b="t")
    assert not knows(allowed, user=User("alice", "secret"), b="t")
    assert not knows(allowed, acl=Acl("alice", {}), b="t")
    assert not knows(allowed, user=None, b="t")
    assert not knows(allowed, acl=None, b="t")
    assert not knows(allowed, everyone=None, b="t")


def test_fields_count_whether_they_are_there_or_not() -> None:
    allowed = Allowed()
    add(allowed, 33, "topic")
    assert knows(allowed, 33, offset="1")
    assert not knows(allowed, 33, topic="t")


def test_which_fields_count_may_hang_on_the_value_of_others() -> None:
    allowed = Allowed()
    add(allowed, 310, "b", b="t", c="x")
    add(allowed, 310, "b", "c", b="u", c="x")
    assert knows(allowed, b="u", c="x")
    assert not knows(allowed, b="u", c="y")
    assert not knows(allowed, b="t", c="x")  # was kept when the other was not known to count
    add(allowed, 310, "b", b="t", c="x")
    assert knows(allowed, b="t", c="x")


def test_a_field_that_is_asked_for_was_looked_at() -> None:
    watched = Watched({"a": "1", "b": "2"})
    assert watched["a"] == "1" and watched.get("c") is None and "d" not in watched
    assert watched.seen == {"a", "c", "d"} and not watched.is_whole


@pytest.mark.parametrize("look", [list, len, dict, bool])
def test_nothing_is_kept_where_all_fields_were_looked_at(look: Callable[[Watched], object]) -> None:
    allowed, watched = Allowed(), Watched({"b": "t"})
    assert look(watched)
    allowed.add("alice", HERE, 310, watched, ALICE, (ACL, EVERYONE))
    assert len(allowed) == 0 and not knows(allowed, b="t", more="x")


def test_the_oldest_are_forgotten() -> None:
    allowed = Allowed()
    for number in range(ALLOWED_MAX + 10):
        add(allowed, 310, "b", b=str(number))
    assert len(allowed) == ALLOWED_MAX
    assert not knows(allowed, b="9")
    assert knows(allowed, b="10")


def test_fields_that_are_too_long_for_a_name_are_not_kept() -> None:
    allowed = Allowed()
    add(allowed, 310, "b", b="n" * (VALUE_MAX + 1))
    assert len(allowed) == 0
