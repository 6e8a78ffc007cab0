"""Bindings of Kafka clients survive the way through policies, and filters choose as Kafka's do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.access.bindings import Binding, bindings_of, policy_with
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.access.policies import Acl, Decision, Resource, parse_resource
from mqgateway.gateway.kafka.acl_bindings import (
    ANY,
    CLUSTER_NAME,
    LITERAL,
    MATCH,
    PREFIXED,
    BindingFilter,
    BindingRejected,
    KafkaBinding,
    kafka_bindings,
)
from mqgateway.gateway.kafka.group_names import store_group
from mqgateway.gateway.kafka.topics import store_name

CLUSTER = "DefaultCluster"
TOPIC, GROUP, CLUSTER_TYPE, ID = 2, 3, 4, 5
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
names = st.one_of(texts, st.text("ab.|%*_", min_size=1, max_size=5), st.just("*"))
bindings = st.builds(
    KafkaBinding,
    st.sampled_from((TOPIC, GROUP, ID, 6, 7)),
    names,
    st.sampled_from((LITERAL, PREFIXED)),
    texts.map(lambda name: f"User:{name}"),
    st.sampled_from(("*", "10.0.0.1", "10.0.0.0/8", "::1")),
    st.integers(2, 15),
    st.integers(2, 3),
)
READ_T = KafkaBinding(TOPIC, "t", LITERAL, "User:alice", "*", 3, 3)


@given(bindings)
def test_bindings_survive_the_way_through_stored_policies(one: KafkaBinding) -> None:
    binding = one.to_policy(CLUSTER)
    acl = Acl(binding.username, {}).with_bindings(policy_with([binding]))
    read = Acl.from_json(acl.info().to_json())
    [entry] = read.bindings.entries.values()
    [stored] = bindings_of(read.username, entry)
    assert list(kafka_bindings(stored, CLUSTER)) == [one]


@given(names, names)
def test_prefixes_of_names_are_prefixes_of_stored_names(prefix: str, name: str) -> None:
    for kind in (TOPIC, GROUP):
        pattern = READ_T._replace(resource_type=kind, resource_name=prefix, pattern_type=PREFIXED)
        stored = READ_T._replace(resource_type=kind, resource_name=name + "x").to_policy(CLUSTER).resource
        start = pattern.to_policy(CLUSTER).resource.name
        assert (stored.name or "").startswith(start or "") == (name + "x").startswith(prefix)


@given(st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True))
def test_names_are_those_of_topics_and_groups(name: str) -> None:
    assert READ_T._replace(resource_name=name).to_policy(CLUSTER).resource.name == store_name(name)
    group = READ_T._replace(resource_type=GROUP, resource_name=name)
    assert group.to_policy(CLUSTER).resource.name == store_group(name)


def test_the_cluster_is_that_of_the_broker() -> None:
    one = READ_T._replace(resource_type=CLUSTER_TYPE, resource_name=CLUSTER_NAME)
    assert str(one.to_policy(CLUSTER).resource) == "Cluster:DefaultCluster"
    assert list(kafka_bindings(one.to_policy(CLUSTER), CLUSTER)) == [one]
    assert list(kafka_bindings(one.to_policy("Other"), CLUSTER)) == []
    prefixed = one._replace(pattern_type=PREFIXED)
    assert list(kafka_bindings(prefixed.to_policy(CLUSTER), CLUSTER)) == [prefixed]


@pytest.mark.parametrize(
    ("resource", "shown"),
    [
        ("Topic:a|b", [(TOPIC, "a.b", LITERAL)]),
        ("Topic:a*", [(TOPIC, "a", PREFIXED)]),
        ("Group:*", [(GROUP, "*", LITERAL)]),
        ("Cluster:Def*", [(CLUSTER_TYPE, CLUSTER_NAME, LITERAL)]),
        ("Cluster:*", [(CLUSTER_TYPE, CLUSTER_NAME, LITERAL)]),
        ("Cluster:Other", []),
        ("Topic:%RETRY%g", []),
        ("Group:%FF", []),
        ("Namespace:n", []),
    ],
)
def test_resources_of_policies_are_shown(resource: str, shown: list[tuple[int, str, int]]) -> None:
    parsed = parse_resource(resource)
    assert parsed is not None
    binding = Binding("alice", parsed, "*", AclOperation.READ, Decision.ALLOW)
    assert [one[:3] for one in kafka_bindings(binding, CLUSTER)] == shown


def test_everything_is_shown_as_each_type() -> None:
    everything = parse_resource("*")
    assert isinstance(everything, Resource)
    binding = Binding("alice", everything, "*", AclOperation.ALL, Decision.DENY)
    found = list(kafka_bindings(binding, CLUSTER))
    assert [one.resource_type for one in found] == [2, 3, 4, 5, 6, 7]
    assert {one.resource_name for one in found} == {"*", CLUSTER_NAME}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"resource_type": ANY}, "Invalid resourceType ANY"),
        ({"resource_type": 99}, "Invalid resourceType UNKNOWN"),
        ({"pattern_type": MATCH}, "Invalid patternType MATCH"),
        ({"operation": ANY}, "Invalid operation"),
        ({"permission_type": ANY}, "Invalid permissionType"),
        ({"resource_name": ""}, "Invalid empty resource name"),
        ({"resource_type": CLUSTER_TYPE}, "kafka-cluster"),
        ({"principal": "alice"}, "Could not parse principal from `alice`"),
        ({"principal": "Group:x"}, "it must be User:NAME"),
        ({"principal": "User:"}, "it must be User:NAME"),
        ({"host": "host.example"}, "The host host.example is not an IP address"),
        ({"host": ""}, "Host pattern cannot be null or empty"),
    ],
)
def test_invalid_bindings_are_rejected(change: dict[str, object], reason: str) -> None:
    with pytest.raises(BindingRejected, match=reason):
        READ_T._replace(**change).to_policy(CLUSTER)


def wanted(**given: object) -> BindingFilter:
    """Return a filter that has everything but for what is given."""
    return BindingFilter(ANY, None, ANY, None, None, ANY, ANY)._replace(**given)


def test_filters_compare_each_element() -> None:
    assert wanted().matches(READ_T)
    for name, value, other in (
        ("resource_type", TOPIC, GROUP),
        ("resource_name", "t", "u"),
        ("pattern_type", LITERAL, PREFIXED),
        ("principal", "User:alice", "User:*"),
        ("host", "*", "10.0.0.1"),
        ("operation", 3, 2),
        ("permission_type", 3, 2),
    ):
        assert wanted(**{name: value}).matches(READ_T), name
        assert not wanted(**{name: other}).matches(READ_T), name


@pytest.mark.parametrize(
    ("name", "pattern", "is_matched"),
    [
        ("t", LITERAL, True),
        ("*", LITERAL, True),
        ("x", LITERAL, False),
        ("t", PREFIXED, True),
        ("tt", PREFIXED, False),
    ],
)
def test_match_finds_what_applies_to_a_name(name: str, pattern: int, *, is_matched: bool) -> None:
    one = READ_T._replace(resource_name=name, pattern_type=pattern)
    assert wanted(resource_name="t", pattern_type=MATCH).matches(one) is is_matched
    assert wanted(resource_name="topic", pattern_type=MATCH).matches(one) is (
        is_matched and (name, pattern) != ("t", LITERAL)
    )
    assert wanted(resource_name="topic").matches(one) is False


def test_unset_elements_are_found() -> None:
    assert not wanted().has_unset and not READ_T.has_unset
    for name in ("resource_type", "pattern_type", "operation", "permission_type"):
        assert wanted(**{name: 0}).has_unset and READ_T._replace(**{name: 0}).has_unset


def test_unknown_numbers_match_nothing() -> None:
    assert not wanted(resource_type=99).matches(READ_T) and not wanted(pattern_type=99).matches(READ_T)
