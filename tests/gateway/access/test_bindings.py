"""Bindings decide as Kafka's authorizer does, and survive being stored."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.access.bindings import (
    ACTIONS,
    ANY_HOST,
    EVERYONE,
    OPERATIONS,
    Binding,
    bindings_of,
    policy_with,
)
from mqgateway.gateway.access.decisions import decide
from mqgateway.gateway.access.operations import AclOperation
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
    any_one,
    literal,
)
from mqgateway.gateway.access.users import User

ALLOW, DENY = Decision
OP = AclOperation
NAMES = ("a", "ab", "abc", "b")
HOSTS = (ANY_HOST, "10.0.0.1", "10.0.0.2")
TYPES = (
    ResourceType.TOPIC,
    ResourceType.GROUP,
    ResourceType.CLUSTER,
    ResourceType.TRANSACTIONAL_ID,
    ResourceType.DELEGATION_TOKEN,
    ResourceType.USER,
)
types = st.sampled_from(TYPES)
patterns = st.one_of(
    st.builds(literal, types, st.sampled_from(NAMES)),
    st.builds(Resource, types, st.sampled_from(NAMES), st.just(ResourcePattern.PREFIXED)),
    st.builds(Resource, types, st.none(), st.just(ResourcePattern.ANY)),
)
all_bindings = st.builds(
    Binding,
    st.sampled_from(("alice", "bob", EVERYONE)),
    patterns,
    st.sampled_from(HOSTS),
    st.sampled_from(OP),
    st.sampled_from(Decision),
)
IMPLYING = {
    OP.DESCRIBE: {OP.DESCRIBE, OP.READ, OP.WRITE, OP.DELETE, OP.ALTER},
    OP.DESCRIBE_CONFIGS: {OP.DESCRIBE_CONFIGS, OP.ALTER_CONFIGS},
}


def acl_of(name: str, bindings: Iterable[Binding]) -> Acl:
    """Return the policies of a user with these bindings."""
    return Acl(name, {}).with_bindings(policy_with(one for one in bindings if one.username == name))


def is_allowed_by_kafka(
    bindings: Iterable[Binding], name: str, host: str, operation: AclOperation, resource: Resource
) -> bool:
    """Decide by the rule of `StandardAuthorizer`, looking at all bindings."""

    def applies(one: Binding) -> bool:
        wanted = resource.name or ""
        by_name = {
            ResourcePattern.LITERAL: one.resource.name == wanted,
            ResourcePattern.PREFIXED: wanted.startswith(one.resource.name or ""),
            ResourcePattern.ANY: True,
        }
        if one.resource.type is not resource.type or not by_name[one.resource.pattern]:
            return False
        if one.username not in (name, EVERYONE) or one.host not in (ANY_HOST, host):
            return False
        implying = IMPLYING.get(operation, {operation}) if one.decision is ALLOW else {operation}
        return one.operation is OP.ALL or one.operation in implying

    matching = {one.decision for one in bindings if applies(one)}
    return matching == {ALLOW}


@given(
    st.lists(all_bindings, max_size=8),
    st.sampled_from(("alice", "bob")),
    st.sampled_from(HOSTS[1:]),
    st.sampled_from(OP),
    st.builds(literal, types, st.sampled_from(NAMES)),
)
def test_bindings_decide_as_kafka_does(
    bindings: list[Binding], name: str, host: str, operation: AclOperation, resource: Resource
) -> None:
    verdict = decide(
        name,
        User(name, "s"),
        acl_of(name, bindings),
        resource,
        ACTIONS[operation],
        host,
        operation,
        acl_of(EVERYONE, bindings),
    )
    assert verdict.is_allowed == is_allowed_by_kafka(bindings, name, host, operation, resource)


def allows_any_topic_in_kafka(
    bindings: Iterable[Binding], name: str, host: str, operation: AclOperation
) -> bool:
    """Decide by the rule of `StandardAuthorizer.authorizeByResourceType`."""

    def applies(one: Binding) -> bool:
        is_of_topic = one.resource.type is ResourceType.TOPIC and one.operation in (operation, OP.ALL)
        return is_of_topic and one.username in (name, EVERYONE) and one.host in (ANY_HOST, host)

    def is_dominated(one: Binding, by: Binding) -> bool:
        by_pattern, of_pattern = by.resource.pattern, one.resource.pattern
        if by_pattern is ResourcePattern.ANY:
            return True
        if by_pattern is ResourcePattern.PREFIXED:
            return (one.resource.name or "").startswith(by.resource.name or "")
        return of_pattern is ResourcePattern.LITERAL and one.resource == by.resource

    found = [one for one in bindings if applies(one)]
    denials = [one for one in found if one.decision is DENY]
    return any(one.decision is ALLOW and not any(is_dominated(one, by) for by in denials) for one in found)


@given(
    st.lists(all_bindings, max_size=8),
    st.sampled_from(("alice", "bob")),
    st.sampled_from(HOSTS[1:]),
)
def test_bindings_decide_on_any_topic_as_kafka_does(bindings: list[Binding], name: str, host: str) -> None:
    acls = acl_of(name, bindings), acl_of(EVERYONE, bindings)
    resource = any_one(ResourceType.TOPIC)
    verdict = decide(name, User(name, "s"), acls[0], resource, ACTIONS[OP.WRITE], host, OP.WRITE, acls[1])
    assert verdict.is_allowed == allows_any_topic_in_kafka(bindings, name, host, OP.WRITE)


@given(st.lists(all_bindings, max_size=12))
def test_bindings_survive_being_stored(bindings: list[Binding]) -> None:
    for name in {one.username for one in bindings}:
        acl = acl_of(name, bindings)
        read = Acl.from_json(acl.info().to_json())
        assert read == acl
        shown = [one for entry in read.bindings.entries.values() for one in bindings_of(name, entry)]
        assert sorted(map(repr, shown)) == sorted({repr(one) for one in bindings if one.username == name})


def decided(acl: Acl, action: Action, operation: AclOperation | None = None) -> bool:
    """Return True if alice is allowed an action, or an operation that it allows, on the topic `t`."""
    actions = (action,) if operation is None else ACTIONS[operation]
    resource = literal(ResourceType.TOPIC, "t")
    return decide("alice", User("alice", "s"), acl, resource, actions, "10.0.0.1", operation).is_allowed


def bound(operation: AclOperation, decision: Decision = ALLOW) -> Binding:
    """Return a binding of alice on the topic `t`."""
    return Binding("alice", literal(ResourceType.TOPIC, "t"), ANY_HOST, operation, decision)


def custom(*actions: Action, decision: Decision = ALLOW) -> Acl:
    """Return policies of alice with an entry of ACL 2.0 on the topic `t`."""
    entry = PolicyEntry(literal(ResourceType.TOPIC, "t"), actions, decision)
    return Acl("alice", {PolicyType.CUSTOM: Policy([entry])})


def test_bindings_count_for_clients_of_rocketmq() -> None:
    acl = acl_of("alice", [bound(OP.WRITE), bound(OP.CREATE, DENY)])
    assert decided(acl, Action.PUB) and not decided(acl, Action.SUB) and not decided(acl, Action.CREATE)
    assert decided(acl, Action.GET)  # WRITE implies DESCRIBE
    assert not decided(acl, Action.ANY)


def test_a_denial_of_either_kind_wins() -> None:
    denied = custom(Action.PUB).with_bindings(policy_with([bound(OP.WRITE, DENY)]))
    assert not decided(denied, Action.PUB) and not decided(denied, Action.PUB, OP.WRITE)
    denied = custom(Action.PUB, decision=DENY).with_bindings(policy_with([bound(OP.WRITE)]))
    assert not decided(denied, Action.PUB) and not decided(denied, Action.PUB, OP.WRITE)


def test_entries_of_acl_2_allow_operations() -> None:
    writer = custom(Action.PUB)
    assert decided(writer, Action.PUB, OP.WRITE) and decided(writer, Action.PUB, OP.DESCRIBE)
    assert not decided(writer, Action.GET) and not decided(writer, Action.PUB, OP.DESCRIBE_CONFIGS)
    no_reader = custom(Action.SUB, decision=DENY).with_bindings(policy_with([bound(OP.DESCRIBE)]))
    assert decided(no_reader, Action.SUB, OP.DESCRIBE) and not decided(no_reader, Action.SUB, OP.READ)


def test_the_binding_that_decides_is_reported() -> None:
    acl = acl_of("alice", [bound(OP.READ), bound(OP.ALL, DENY)])
    resource = literal(ResourceType.TOPIC, "t")
    verdict = decide("alice", User("alice", "s"), acl, resource, (Action.SUB,), "10.0.0.1")
    assert verdict.policy is PolicyType.KAFKA and verdict.entry is not None
    assert verdict.entry.operations == (OP.ALL,) and verdict.refusal.endswith("the decision is deny.")


def test_actions_are_shown_as_the_operations_that_they_allow() -> None:
    topic, cluster = literal(ResourceType.TOPIC, "t"), literal(ResourceType.CLUSTER, "c")

    def shown(resource: Resource, *actions: Action) -> list[AclOperation]:
        entry = PolicyEntry(resource, actions, ALLOW, ("10.0.0.1", "10.1.0.0/16"))
        found = list(bindings_of("alice", entry))
        assert {one.host for one in found} <= {"10.0.0.1", "10.1.0.0/16"}
        return list(dict.fromkeys(one.operation for one in found))

    assert shown(topic, Action.PUB, Action.SUB) == [OP.WRITE, OP.READ]
    assert shown(topic, Action.UPDATE) == [OP.ALTER, OP.ALTER_CONFIGS]
    assert shown(cluster, Action.UPDATE) == [OP.ALTER, OP.ALTER_CONFIGS, OP.CLUSTER_ACTION]
    assert shown(topic, Action.GET, Action.ALL) == [OP.DESCRIBE, OP.DESCRIBE_CONFIGS, OP.ALL]
    assert shown(topic, Action.LIST, Action.UNKNOWN) == []


def test_every_operation_has_an_action_and_every_action_an_operation() -> None:
    assert set(ACTIONS) == set(OP)
    assert set(OPERATIONS) == set(Action) - {Action.ANY, Action.UNKNOWN}
