"""Bindings of Kafka clients, with their numbers and names, as those of policies, and filters of bindings.

Standard: `AclBinding`, `ResourcePatternFilter`, `AclControlManager.validateNewAcl`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from mqgateway.gateway.access.bindings import ANY_HOST, Binding
from mqgateway.gateway.access.errors import AccessError
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.access.policies import (
    Decision,
    Resource,
    ResourcePattern,
    ResourceType,
    literal,
    parse_network,
)
from mqgateway.gateway.access.users import SUBJECT_PREFIX, subject_of
from mqgateway.gateway.kafka.group_names import kafka_group, store_group

ANY, MATCH, LITERAL, PREFIXED = 1, 2, 3, 4
"""Codes of pattern types; the first one is that of any value of all other elements too."""
WILDCARD: Final = "*"
CLUSTER_NAME: Final = "kafka-cluster"
DENY, ALLOW = 2, 3

_TYPES: Final = {
    2: ResourceType.TOPIC,
    3: ResourceType.GROUP,
    4: ResourceType.CLUSTER,
    5: ResourceType.TRANSACTIONAL_ID,
    6: ResourceType.DELEGATION_TOKEN,
    7: ResourceType.USER,
}
_TYPE_CODES: Final = {kind: code for code, kind in _TYPES.items()}
_OPERATIONS: Final = dict(enumerate(AclOperation, start=2))
_OPERATION_CODES: Final = {operation: code for code, operation in _OPERATIONS.items()}
_DECISIONS: Final = {DENY: Decision.DENY, ALLOW: Decision.ALLOW}
_DECISION_CODES: Final = {decision: code for code, decision in _DECISIONS.items()}
_ESCAPED: Final = re.compile(r"(?:%[0-9A-F]{2})+")


class BindingRejected(Exception):
    """A binding that is not valid, or that policies cannot express; the text is the reason."""


class KafkaBinding(NamedTuple):
    """A binding in Kafka's terms; the numbers are those of the protocol."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int

    @property
    def has_unset(self) -> bool:
        """True if a number is 0, which ends the connection."""
        return _has_unset(self)

    def to_policy(self, cluster_name: str) -> Binding:
        """Return the binding of policies; `cluster_name` is RocketMQ's. Raises `BindingRejected`."""
        _check(self)
        resource = _resource(_TYPES[self.resource_type], self.resource_name, self.pattern_type, cluster_name)
        username = self.principal.removeprefix(SUBJECT_PREFIX)
        return Binding(
            username, resource, self.host, _OPERATIONS[self.operation], _DECISIONS[self.permission_type]
        )


class BindingFilter(NamedTuple):
    """A filter of bindings; None and `ANY` stand for everything."""

    resource_type: int
    resource_name: str | None
    pattern_type: int
    principal: str | None
    host: str | None
    operation: int
    permission_type: int

    @property
    def has_unset(self) -> bool:
        """True if a number is 0, which ends the connection."""
        return _has_unset(self)

    def matches(self, one: KafkaBinding) -> bool:
        """Return True if the filter has a binding."""
        return (
            self.resource_type in (ANY, one.resource_type)
            and self._matches_name(one)
            and self.principal in (None, one.principal)
            and self.host in (None, one.host)
            and self.operation in (ANY, one.operation)
            and self.permission_type in (ANY, one.permission_type)
        )

    def _matches_name(self, one: KafkaBinding) -> bool:
        pattern, name = self.pattern_type, self.resource_name
        if pattern not in (ANY, MATCH, one.pattern_type):
            return False
        if name is None or name == one.resource_name:
            return True
        if pattern != MATCH:
            return False
        if one.pattern_type == LITERAL:
            return one.resource_name == WILDCARD
        return name.startswith(one.resource_name)


def kafka_bindings(binding: Binding, cluster_name: str) -> Iterator[KafkaBinding]:
    """Yield a binding of policies in Kafka's terms.

    It is none for a resource that Kafka cannot name, and one for each type of resource for `*`.
    """
    resource = binding.resource
    kinds = _TYPE_CODES if resource.type is ResourceType.ANY else (resource.type,)
    for kind in kinds:
        named = _kafka_resource(kind, resource, cluster_name)
        if named is not None:
            name, pattern = named
            yield KafkaBinding(
                _TYPE_CODES[kind],
                name,
                pattern,
                subject_of(binding.username),
                binding.host,
                _OPERATION_CODES[binding.operation],
                _DECISION_CODES[binding.decision],
            )


def _has_unset(one: KafkaBinding | BindingFilter) -> bool:
    return not all((one.resource_type, one.pattern_type, one.operation, one.permission_type))


def _check(one: KafkaBinding) -> None:
    """Check a new binding. Raises `BindingRejected`."""
    if _TYPES.get(one.resource_type) is ResourceType.CLUSTER and one.resource_name != CLUSTER_NAME:
        raise BindingRejected(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not one.resource_name:
        raise BindingRejected("Invalid empty resource name")
    for name, code, known in (
        ("resourceType", one.resource_type, _TYPES),
        ("patternType", one.pattern_type, (LITERAL, PREFIXED)),
        ("operation", one.operation, _OPERATIONS),
        ("permissionType", one.permission_type, _DECISIONS),
    ):
        if code not in known:
            shown = {ANY: "ANY", MATCH: "MATCH"}.get(code, "UNKNOWN")
            raise BindingRejected(f"Invalid {name} {shown}")
    _check_principal(one.principal)
    if not one.host:
        raise BindingRejected("Host pattern cannot be null or empty")
    if one.host != ANY_HOST:
        try:
            parse_network(one.host)
        except AccessError:
            raise BindingRejected(f"The host {one.host} is not an IP address, a network or *") from None


def _check_principal(principal: str) -> None:
    if ":" not in principal:
        reason = "no colon is present separating the principal type from the principal name"
    elif not principal.startswith(SUBJECT_PREFIX) or principal == SUBJECT_PREFIX:
        reason = "it must be User:NAME"
    else:
        return
    raise BindingRejected(f"Could not parse principal from `{principal}` ({reason})")


def _resource(kind: ResourceType, name: str, pattern: int, cluster_name: str) -> Resource:
    if kind is ResourceType.CLUSTER:
        stored = cluster_name
    elif pattern == LITERAL and name == WILDCARD:
        return Resource(kind, None, ResourcePattern.ANY)
    else:
        stored = _store_topic(name) if kind is ResourceType.TOPIC else store_group(name)
    if pattern == LITERAL:
        return literal(kind, stored)
    return Resource(kind, stored, ResourcePattern.PREFIXED)


def _kafka_resource(kind: ResourceType, resource: Resource, cluster_name: str) -> tuple[str, int] | None:
    """Return Kafka's name and pattern type of a resource of policies, None if Kafka has none."""
    if kind not in _TYPE_CODES:
        return None
    stored, pattern = resource.name, resource.pattern
    if kind is ResourceType.CLUSTER:
        if stored == cluster_name:
            return CLUSTER_NAME, PREFIXED if pattern is ResourcePattern.PREFIXED else LITERAL
        is_covered = pattern is not ResourcePattern.LITERAL and cluster_name.startswith(stored or "")
        return (CLUSTER_NAME, LITERAL) if is_covered else None
    if not stored:
        return WILDCARD, LITERAL
    name = _kafka_topic(stored) if kind is ResourceType.TOPIC else kafka_group(stored)
    if name is None:
        return None
    return name, PREFIXED if pattern is ResourcePattern.PREFIXED else LITERAL


def _store_topic(name: str) -> str:
    """Return RocketMQ's name of a topic; characters that no topic of Kafka's has are escaped."""
    return "|".join(store_group(part).replace("|", "%7C") for part in name.split("."))


def _kafka_topic(stored: str) -> str | None:
    """Return Kafka's name of a topic, None if it has none."""
    plain = stored.replace("|", ".")
    try:
        name = _ESCAPED.sub(lambda match: bytes.fromhex(match[0].replace("%", "")).decode(), plain)
    except UnicodeDecodeError:
        return None
    return name if _store_topic(name) == stored else None
