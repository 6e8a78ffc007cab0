"""Policies: their notation, invalid ones, and the matching entry."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.access.errors import AccessError
from mqgateway.gateway.access.policies import (
    EVERYTHING,
    Acl,
    Action,
    Decision,
    Policy,
    PolicyEntry,
    PolicyType,
    Resource,
    ResourcePattern,
    ResourceType,
    cluster,
    group,
    literal,
    parse_address,
    parse_network,
    parse_resource,
    read_policies,
    topic,
)
from mqgateway.gateway.codec.bodies.auth import PolicyEntryInfo, PolicyInfo

GOOD = {"resource": "Topic:ta", "actions": ["Pub", "sub"], "decision": "allow"}
LOCAL = "127.0.0.1"


def entry(
    resource: str, *actions: Action, decision: Decision = Decision.ALLOW, ips: tuple[str, ...] = ()
) -> PolicyEntry:
    parsed = parse_resource(resource)
    assert parsed is not None
    return PolicyEntry(parsed, actions or (Action.SUB,), decision, ips)


@pytest.mark.parametrize(
    ("text", "kind", "name", "pattern"),
    [
        ("*", "ANY", None, "ANY"),
        ("Any:x", "ANY", None, "ANY"),
        ("Topic:*", "TOPIC", None, "ANY"),
        ("topic:pre*", "TOPIC", "pre", "PREFIXED"),
        ("Topic:a*b*", "TOPIC", "a", "PREFIXED"),
        ("Group:g:h", "GROUP", "g:h", "LITERAL"),
        ("Cluster", "CLUSTER", "", "LITERAL"),
    ],
)
def test_parse_resource_returns_type_name_and_pattern(
    text: str, kind: str, name: str | None, pattern: str
) -> None:
    assert parse_resource(text) == Resource(ResourceType[kind], name, ResourcePattern[pattern])


@pytest.mark.parametrize("text", [None, "", "  ", "Queue:x", "ta", ":x"])
def test_parse_resource_returns_none_for_invalid_text(text: str | None) -> None:
    assert parse_resource(text) is None


@pytest.mark.parametrize("text", ["*", "Topic:*", "Topic:pre*", "Group:g", "Cluster:c"])
def test_resource_text_round_trips(text: str) -> None:
    assert str(parse_resource(text)) == text


def test_retry_topic_is_resource_of_its_group() -> None:
    assert topic("%RETRY%g") == group("%RETRY%g") == group("g") == literal(ResourceType.GROUP, "g")
    assert topic("t") == literal(ResourceType.TOPIC, "t")
    assert str(cluster("c")) == "Cluster:c"


@pytest.mark.parametrize(
    ("change", "remark"),
    [
        ({"resource": "Queue:x"}, "The resource is null."),
        ({"resource": None}, "The resource is null."),
        ({"actions": ["Fly"]}, "The actions is empty."),
        ({"actions": None}, "The actions is empty."),
        ({"actions": ["Pub", "Any"]}, "The actions can not be Any."),
        ({"source_ips": [" "]}, "The source ip is empty."),
        ({"source_ips": [LOCAL, "1.2.3"]}, "The source ip is invalid."),
        ({"source_ips": ["1.2.3.4/33"]}, "The source ip is invalid."),
        ({"source_ips": ["1.2.3.4/255.0.0.0"]}, "The source ip is invalid."),
        ({"source_ips": ["localhost/8"]}, "The source ip is invalid."),
        ({"source_ips": ["::1/129"]}, "The source ip is invalid."),
        ({"decision": "Maybe"}, "The decision is null or illegal."),
        ({"decision": None}, "The decision is null or illegal."),
    ],
)
def test_invalid_entry_is_refused(change: dict[str, Any], remark: str) -> None:
    with pytest.raises(AccessError, match=f"^{remark}$"):
        PolicyEntry.of(PolicyEntryInfo(**(GOOD | change)))


def test_unknown_actions_are_ignored() -> None:
    read = PolicyEntry.of(PolicyEntryInfo("Topic:ta", ["Fly", "PUB"], ["10.0.0.0/8", "::1"], "Deny"))
    assert read == entry("Topic:ta", Action.PUB, decision=Decision.DENY, ips=("10.0.0.0/8", "::1"))
    assert read.info() == PolicyEntryInfo("Topic:ta", ["Pub"], ["10.0.0.0/8", "::1"], "Deny")


def test_policies_require_entries_and_default_to_custom() -> None:
    with pytest.raises(AccessError, match="The policy entries is empty"):
        read_policies([PolicyInfo("Custom", [])])
    with pytest.raises(AccessError, match="The policies is empty"):
        read_policies([])
    first, second = PolicyEntryInfo(**GOOD), PolicyEntryInfo("Topic:tb", ["Sub"], None, "Deny")
    read = read_policies([PolicyInfo("nothing", [first]), PolicyInfo("custom", [second])])
    assert list(read) == [PolicyType.CUSTOM]
    assert [str(one) for one in read[PolicyType.CUSTOM].entries] == ["Topic:ta", "Topic:tb"]


@pytest.mark.parametrize(
    ("ips", "ip", "is_covered"),
    [
        ((), "", True),
        ((LOCAL,), LOCAL, True),
        ((LOCAL,), "127.0.0.2", False),
        (("10.1.2.3/8", "fe80::/10"), "10.250.0.1", True),
        (("10.1.2.3/8", "fe80::/10"), "fe80::1%eth0", True),
        (("10.1.2.3/8",), "11.0.0.1", False),
        (("0:0:0:0:0:0:0:1",), "::1", True),
        (("0.0.0.0/0",), "::1", False),
        (("0.0.0.0/0",), "nowhere", False),
    ],
)
def test_entry_covers_source_addresses(ips: tuple[str, ...], ip: str, is_covered: bool) -> None:
    assert entry("*", ips=ips).covers([Action.SUB], ip) is is_covered


def test_entry_covers_its_actions() -> None:
    pub = entry("*", Action.PUB, Action.GET)
    assert pub.covers([Action.SUB, Action.GET], "") and not pub.covers([Action.SUB], "")
    assert pub.covers([Action.ANY], "") and entry("*", Action.ALL).covers([Action.DELETE], "")


def test_most_specific_entry_decides() -> None:
    texts = ["*", "Topic:*", "Topic:o*", "Topic:orders*", "Topic:orders", "Group:orders"]
    policy = Policy(entry(text) for text in texts)
    asked = [Action.SUB]
    while texts[-1] != "*":
        found = policy.find(topic("orders"), asked, LOCAL)
        assert found is not None
        expected = texts[-2] if texts[-1] == "Group:orders" else texts[-1]
        assert str(found.resource) == expected
        texts.remove(expected)
        policy = policy.without(found.resource)
        if texts == ["*", "Group:orders"]:
            break
    assert policy.find(topic("orders"), asked, LOCAL) == entry("*")
    assert policy.without(EVERYTHING).find(topic("orders"), asked, LOCAL) is None


def test_entry_of_other_actions_is_skipped() -> None:
    policy = Policy([entry("Topic:orders", Action.PUB), entry("Topic:*", Action.SUB)])
    found = policy.find(topic("orders"), [Action.SUB], LOCAL)
    assert found is not None and str(found.resource) == "Topic:*"


def test_prefix_longer_than_name_does_not_match() -> None:
    assert Policy([entry("Topic:orders*")]).find(topic("order"), [Action.SUB], LOCAL) is None


def acl(*resources: str, kind: PolicyType = PolicyType.CUSTOM) -> Acl:
    return Acl("alice", {kind: Policy(map(entry, resources))})


def test_policies_are_merged_by_resource() -> None:
    merged = acl("Topic:a", "Topic:b").with_policies(
        {PolicyType.CUSTOM: Policy([entry("Topic:b", Action.PUB)])}
    )
    assert merged.info().to_json() == {
        "subject": "User:alice",
        "policies": [
            {
                "policyType": "Custom",
                "entries": [
                    {"resource": "Topic:a", "actions": ["Sub"], "decision": "Allow"},
                    {"resource": "Topic:b", "actions": ["Pub"], "decision": "Allow"},
                ],
            }
        ],
    }
    both = acl("Topic:a").with_policies(acl("Topic:a", kind=PolicyType.DEFAULT).policies)
    assert list(both.policies) == [PolicyType.CUSTOM, PolicyType.DEFAULT]


def test_policy_without_entries_is_removed() -> None:
    one = acl("Topic:a")
    assert one.without(PolicyType.CUSTOM, topic("a")).policies == {}
    assert one.without(PolicyType.DEFAULT, topic("a")) == one
    assert one.without(PolicyType.CUSTOM, topic("b")) == one


def test_info_contains_only_filtered_resources() -> None:
    shown = acl("Topic:ab", "Group:b").info("ic:a")
    assert [entry.resource for entry in shown.policies[0].entries] == ["Topic:ab"]
    assert acl("Topic:ab").info("x").policies == []


def test_policies_round_trip_as_json() -> None:
    one = Acl("alice", {PolicyType.DEFAULT: Policy([entry("Topic:a*", Action.PUB, ips=("10.0.0.0/8",))])})
    assert Acl.from_json(one.to_json()) == one


@pytest.mark.parametrize(
    "value",
    [
        {"subject": "Role:x", "policies": [{"entries": [GOOD]}]},
        {"subject": "User:x"},
        {"subject": "User:x", "policies": [{"entries": [GOOD | {"decision": "x"}]}]},
        {"subject": "User:x", "policies": [{"entries": 3}]},
    ],
)
def test_invalid_policies_in_file_are_refused(value: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Acl.from_json(value)


def test_addresses_and_networks_are_parsed() -> None:
    assert parse_address("1.2.3.4") is not None and parse_address("x") is None
    assert str(parse_network("10.1.2.3/8")) == "10.0.0.0/8"


def test_matching_entries_are_ordered_by_their_resources() -> None:
    texts = ["*", "Topic:*", "Topic:o*", "Topic:orders*", "Topic:orders"]
    policy = Policy(entry(text) for text in [*texts, "Group:orders", "Topic:other"])
    assert [str(one.resource) for one in policy.matching(topic("orders"))] == texts[::-1]
    assert list(Policy([]).matching(topic("orders"))) == []
