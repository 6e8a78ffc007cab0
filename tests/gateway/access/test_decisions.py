"""Decisions are those of the plain rule, and quick however many policies there are."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from mqgateway.gateway.access.decisions import decide
from mqgateway.gateway.access.policies import (
    Acl,
    Action,
    Decision,
    Policy,
    PolicyEntry,
    PolicyType,
    Resource,
    ResourcePattern,
    ResourceType,
    literal,
    parse_resource,
    topic,
)
from mqgateway.gateway.access.users import User, UserStatus, UserType
from tests.support.cpu_time import CpuTime

ALICE = User("alice", "s")
IP = "127.0.0.1"
SUB = (Action.SUB,)


def acl(*rows: tuple[str, Decision], kind: PolicyType = PolicyType.CUSTOM) -> Acl:
    entries = [PolicyEntry(parse_resource(text), SUB, decision) for text, decision in rows]  # type: ignore[arg-type]
    return Acl("alice", {kind: Policy(entries)})


ALLOW, DENY = Decision


@pytest.mark.parametrize(
    ("user", "sentence"),
    [
        (None, "User:alice not found."),
        (User("alice", "s", UserType.SUPER, UserStatus.DISABLE), "User:alice is disabled."),
        (User("alice", "s", UserType.SUPER), ""),
        (ALICE, "User:alice has no permission to access Topic:tb from 127.0.0.1, no matched policies."),
    ],
)
def test_the_user_decides_first(user: User | None, sentence: str) -> None:
    verdict = decide("alice", user, None, topic("tb"), SUB, IP)
    assert verdict.refusal == sentence
    assert verdict.is_allowed is not bool(sentence)


def test_entry_that_decided_is_reported() -> None:
    policies = acl(("Topic:t*", ALLOW), ("Topic:tb", DENY))
    verdict = decide("alice", ALICE, policies, topic("tb"), SUB, IP)
    assert verdict.refusal.endswith("Topic:tb from 127.0.0.1, the decision is deny.")
    assert verdict.entry is not None and str(verdict.entry.resource) == "Topic:tb"
    allowed = decide("alice", ALICE, policies, topic("ta"), SUB, IP)
    assert allowed.is_allowed and allowed.policy is PolicyType.CUSTOM


def test_default_policies_count_where_no_custom_one_matches() -> None:
    both = acl(("Topic:*", DENY)).with_policies(acl(("*", ALLOW), kind=PolicyType.DEFAULT).policies)
    assert not decide("alice", ALICE, both, topic("t"), SUB, IP).is_allowed
    verdict = decide("alice", ALICE, both, literal(ResourceType.GROUP, "g"), SUB, IP)
    assert verdict.is_allowed and verdict.policy is PolicyType.DEFAULT


def by_the_plain_rule(entries: Sequence[PolicyEntry], resource: Resource, ip: str) -> PolicyEntry | None:
    """Look at all, sort those that match."""

    def matches(one: Resource) -> bool:
        if one.type is ResourceType.ANY:
            return True
        if one.type is not resource.type:
            return False
        name = resource.name or ""
        return {
            ResourcePattern.ANY: True,
            ResourcePattern.LITERAL: one.name == name,
            ResourcePattern.PREFIXED: name.startswith(one.name or ""),
        }[one.pattern]

    def rank(entry: PolicyEntry) -> tuple[bool, int, int]:
        kind, name, pattern = entry.resource
        order = (ResourcePattern.LITERAL, ResourcePattern.PREFIXED, ResourcePattern.ANY)
        return kind is ResourceType.ANY, order.index(pattern), -len(name or "")

    found = [entry for entry in entries if matches(entry.resource) and entry.covers(SUB, ip)]
    return min(found, key=rank, default=None)


def test_the_index_equals_the_plain_rule() -> None:
    chance = random.Random(7)
    words = ["", "a", "ab", "abc", "b", "ba"]
    for _ in range(300):
        entries: dict[Resource, PolicyEntry] = {}
        for _ in range(chance.randrange(8)):
            text = chance.choice(
                ["*", *(f"{k}:{w}{s}" for k in ("Topic", "Group") for w in words for s in ("", "*"))]
            )
            resource = parse_resource(text)
            assert resource is not None
            ips = chance.choice([(), ("10.0.0.0/8",), (IP,)])
            actions = chance.choice([SUB, (Action.PUB,), (Action.ALL,)])
            entries[resource] = PolicyEntry(resource, actions, chance.choice([ALLOW, DENY]), ips)
        policy = Policy(entries.values())
        asked = topic(chance.choice(words))
        assert policy.find(asked, SUB, IP) == by_the_plain_rule(list(entries.values()), asked, IP)


def test_a_hundred_thousand_policies_decide_as_fast_as_few() -> None:
    rows = [(f"Topic:t{number}{'*' * (number % 2)}", ALLOW) for number in range(100_000)]
    many = acl(*rows)
    decide("alice", ALICE, many, topic("t1"), SUB, IP)
    with CpuTime() as taken:
        for number in range(1000):
            assert decide("alice", ALICE, many, topic(f"t{number * 100}"), SUB, IP).is_allowed
    assert taken.seconds < 1.0
