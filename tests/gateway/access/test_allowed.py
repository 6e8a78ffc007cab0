"""An answer is kept as long as user and policies are the same objects, and of so many questions only."""

from __future__ import annotations

from mqgateway.gateway.access.allowed import ALLOWED_MAX, NAME_MAX, Allowed, Question
from mqgateway.gateway.access.needs import PUB, SUB, Need
from mqgateway.gateway.access.policies import Acl, topic
from mqgateway.gateway.access.users import User

ALICE, ACL = User("alice", "secret"), Acl("alice", {})


def question(name: str = "t", ip: str = "10.0.0.7") -> Question:
    return "alice", Need(topic(name), (PUB,)), ip


def test_only_what_was_added_is_known() -> None:
    allowed = Allowed()
    assert not allowed.knows(question(), ALICE, ACL)
    allowed.add(question(), ALICE, ACL)
    assert allowed.knows(question(), ALICE, ACL)
    others = [question("u"), question(ip="10.0.0.8"), ("bob", *question()[1:])]
    others.append(("alice", Need(topic("t"), (SUB,)), "10.0.0.7"))
    assert not any(allowed.knows(other, ALICE, ACL) for other in others)


def test_other_objects_are_other_users_and_policies() -> None:
    allowed = Allowed()
    allowed.add(question(), ALICE, ACL)
    assert not allowed.knows(question(), User("alice", "secret"), ACL)
    assert not allowed.knows(question(), ALICE, Acl("alice", {}))
    assert not allowed.knows(question(), None, ACL)
    assert not allowed.knows(question(), ALICE, None)


def test_the_oldest_are_forgotten() -> None:
    allowed = Allowed()
    for number in range(ALLOWED_MAX + 10):
        allowed.add(question(str(number)), ALICE, ACL)
    assert len(allowed) == ALLOWED_MAX
    assert not allowed.knows(question("9"), ALICE, ACL)
    assert allowed.knows(question("10"), ALICE, ACL)


def test_names_that_are_too_long_for_a_topic_are_not_kept() -> None:
    allowed = Allowed()
    allowed.add(question("n" * (NAME_MAX + 1)), ALICE, ACL)
    assert len(allowed) == 0
