"""Policies: the actions of a user on resources, by source address.

A resource is written `*`, `Topic:*`, `Topic:orders*` or `Topic:orders`. An entry allows or denies actions on
it. A user has custom entries, and default entries that apply where no custom entry matches. Of each kind
there is one entry per resource; a later one replaces it. A third kind has the access control lists that Kafka
clients write, whose entries name operations of Kafka.
RocketMQ: `Acl`, `Policy`, `PolicyEntry`, `Resource`, `Environment`, `AclConverter`,
`AuthorizationMetadataManagerImpl.validate`.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Self, TypeVar

from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.access.errors import AccessError
from mqgateway.gateway.access.operations import AclOperation, allows, denies
from mqgateway.gateway.access.users import by_name, subject_of, username_of
from mqgateway.gateway.codec.bodies.auth import AclInfo, PolicyEntryInfo, PolicyInfo
from mqgateway.gateway.codec.errors import BodyError

N = TypeVar("N", bound=Enum)
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

RETRY_PREFIX = "%RETRY%"


class ResourceType(StrEnum):
    """Type of a resource. RocketMQ: `ResourceType`; the last three are Kafka's."""

    UNKNOWN = "Unknown"
    ANY = "Any"
    CLUSTER = "Cluster"
    NAMESPACE = "Namespace"
    TOPIC = "Topic"
    GROUP = "Group"
    TRANSACTIONAL_ID = "TransactionalId"
    DELEGATION_TOKEN = "DelegationToken"
    USER = "User"


class ResourcePattern(StrEnum):
    """Match type of a resource name. RocketMQ: `ResourcePattern`."""

    ANY = "ANY"
    LITERAL = "LITERAL"
    PREFIXED = "PREFIXED"


class Action(StrEnum):
    """Action on a resource; in an entry `ALL` allows each, in a request `ANY` matches each."""

    UNKNOWN = "Unknown"
    ALL = "All"
    ANY = "Any"
    PUB = "Pub"
    SUB = "Sub"
    CREATE = "Create"
    UPDATE = "Update"
    DELETE = "Delete"
    GET = "Get"
    LIST = "List"


class Decision(StrEnum):
    """Effect of an entry. RocketMQ: `Decision`."""

    ALLOW = "Allow"
    DENY = "Deny"


class PolicyType(StrEnum):
    """Kind of a policy; default entries apply where no custom one matches. RocketMQ: `PolicyType`.

    Entries of the kind Kafka apply beside both.
    """

    CUSTOM = "Custom"
    DEFAULT = "Default"
    KAFKA = "Kafka"


class Resource(NamedTuple):
    """Resource of a request or an entry; `name` is None for any name."""

    type: ResourceType
    name: str | None
    pattern: ResourcePattern

    @property
    def is_unnamed(self) -> bool:
        """True if any one resource of the type will do; see `any_one`."""
        return self.name is None and self.pattern is ResourcePattern.PREFIXED

    def __str__(self) -> str:
        if self.type is ResourceType.ANY:
            return "*"
        star = "" if self.pattern is ResourcePattern.LITERAL else "*"
        return f"{self.type.value}:{self.name or ''}{star}"


EVERYTHING = Resource(ResourceType.ANY, None, ResourcePattern.ANY)
_TOPIC, _LITERAL = ResourceType.TOPIC, ResourcePattern.LITERAL  # bound for use per message


def literal(kind: ResourceType, name: str) -> Resource:
    """Return the resource with exactly this name."""
    return Resource(kind, name, ResourcePattern.LITERAL)


def any_one(kind: ResourceType) -> Resource:
    """Return what a request needs that needs a right on any one resource of a type."""
    return Resource(kind, None, ResourcePattern.PREFIXED)


def cluster(name: str) -> Resource:
    """Return the resource of a cluster."""
    return literal(ResourceType.CLUSTER, name)


def group(name: str) -> Resource:
    """Return the resource of a consumer group, also by its retry topic. RocketMQ: `Resource.ofGroup`."""
    return literal(ResourceType.GROUP, name.removeprefix(RETRY_PREFIX))


def topic(name: str) -> Resource:
    """Return the resource of a topic; for a retry topic that of its group."""
    return group(name) if name.startswith(RETRY_PREFIX) else Resource(_TOPIC, name, _LITERAL)


def parse_resource(text: str | None) -> Resource | None:
    """Parse a resource; None if it is invalid. RocketMQ: `Resource.of`."""
    if text is None or not text.strip():
        return None
    if text == "*":
        return EVERYTHING
    word, _, name = text.partition(":")
    kind = by_name(ResourceType, word)
    if kind is None:
        return None
    if kind is ResourceType.ANY:
        return EVERYTHING
    if name == "*":
        return Resource(kind, None, ResourcePattern.ANY)
    if name.endswith("*"):
        return Resource(kind, name.partition("*")[0], ResourcePattern.PREFIXED)
    return literal(kind, name)


@lru_cache(maxsize=4096)
def parse_address(text: str) -> Address | None:
    """Parse a client's address; None if it is invalid, which matches no entry with addresses."""
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


def parse_network(text: str) -> Network:
    """Parse an address or a network such as `10.0.0.0/8`.

    Raises `AccessError`. RocketMQ: `IPAddressUtils`.
    """
    if not text.strip():
        raise AccessError("The source ip is empty.")
    _, slash, size = text.partition("/")
    try:
        if slash and not (size.isascii() and size.isdecimal()):
            raise ValueError
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise AccessError("The source ip is invalid.") from None


@dataclass(frozen=True)
class PolicyEntry:
    """Allowed or denied actions on a resource; with empty `source_ips` from any address.

    An entry of the kind Kafka has `operations` in place of actions.
    """

    resource: Resource
    actions: tuple[Action, ...]
    decision: Decision
    source_ips: tuple[str, ...] = ()
    operations: tuple[AclOperation, ...] = ()

    @property
    def denies(self) -> bool:
        """True if the entry denies what it names."""
        return self.decision is Decision.DENY

    @cached_property
    def networks(self) -> tuple[Network, ...]:
        """Parsed `source_ips`."""
        return tuple(map(parse_network, self.source_ips))

    def covers(self, actions: Iterable[Action], ip: str) -> bool:
        """Return True if the entry applies to one of the actions, requested from `ip`."""
        known = self.actions
        if not any(one in known or Action.ALL in known or one is Action.ANY for one in actions):
            return False
        return self.covers_address(ip)

    def covers_operation(self, operation: AclOperation, ip: str) -> bool:
        """Return True if an entry of the kind Kafka applies to an operation, requested from `ip`."""
        names = denies if self.denies else allows
        return names(self.operations, operation) and self.covers_address(ip)

    def covers_address(self, ip: str) -> bool:
        """Return True if the entry applies to requests from `ip`."""
        if not self.source_ips:
            return True
        address = parse_address(ip)
        return address is not None and any(address in network for network in self.networks)

    def info(self) -> PolicyEntryInfo:
        """Return the entry in the form of requests and files."""
        return PolicyEntryInfo(
            str(self.resource),
            [one.value for one in (*self.actions, *self.operations)],
            list(self.source_ips) or None,
            self.decision.value,
        )

    @classmethod
    def of(cls, info: PolicyEntryInfo, kind: PolicyType = PolicyType.CUSTOM) -> Self:
        """Parse an entry of a kind; unknown actions are ignored. Raises `AccessError`."""
        resource = parse_resource(info.resource)
        if resource is None:
            raise AccessError("The resource is null.")
        actions: tuple[Action, ...] = ()
        operations: tuple[AclOperation, ...] = ()
        if kind is PolicyType.KAFKA:
            operations = _named(AclOperation, info.actions)
        else:
            actions = _named(Action, info.actions)
        if not (actions or operations):
            raise AccessError("The actions is empty.")
        if Action.ANY in actions:
            raise AccessError("The actions can not be Any.")
        for ip in info.source_ips or ():
            parse_network(ip)
        decision = by_name(Decision, info.decision)
        if decision is None:
            raise AccessError("The decision is null or illegal.")
        return cls(resource, actions, decision, tuple(info.source_ips or ()), operations)


def _named(kind: type[N], words: Iterable[str] | None) -> tuple[N, ...]:
    return tuple(one for word in words or () if (one := by_name(kind, word)) is not None)


class Candidates:
    """Resources of entries that can match a resource, found without looking at all of them."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        lengths: dict[ResourceType, set[int]] = {}
        for kind, name, pattern in resources:
            if pattern is ResourcePattern.PREFIXED:
                lengths.setdefault(kind, set()).add(len(name or ""))
        self._prefix_lengths = {kind: sorted(found, reverse=True) for kind, found in lengths.items()}

    def of(self, resource: Resource) -> Iterator[Resource]:
        """Yield the resources of entries that can match, most specific first."""
        yield resource
        kind, name, _ = resource
        if name is not None:
            for length in self._prefix_lengths.get(kind, ()):
                if length <= len(name):
                    yield Resource(kind, name[:length], ResourcePattern.PREFIXED)
        yield Resource(kind, None, ResourcePattern.ANY)
        yield EVERYTHING


class Policy:
    """Entries of one kind by resource; immutable."""

    def __init__(self, entries: Iterable[PolicyEntry]) -> None:
        self.entries: dict[Hashable, PolicyEntry] = {entry.resource: entry for entry in entries}
        self._candidates = Candidates(entry.resource for entry in self.entries.values())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and self.entries == other.entries

    def with_entries(self, entries: Iterable[PolicyEntry]) -> Self:
        """Return a copy with these entries, which replace those of the same resources."""
        return type(self)((*self.entries.values(), *entries))

    def without(self, resource: Resource) -> Self:
        """Return a copy without the entries of a resource."""
        return type(self)(entry for entry in self.entries.values() if entry.resource != resource)

    def find(self, resource: Resource, actions: Sequence[Action], ip: str) -> PolicyEntry | None:
        """Return the deciding entry: the matching one with the most specific resource.

        The order is the exact name, the longest prefix, all resources of the type, everything. So the number
        of lookups does not grow with the number of entries. RocketMQ: `comparePolicyEntries`.
        """
        for entry in self.matching(resource):
            if entry.covers(actions, ip):
                return entry
        return None

    def matching(self, resource: Resource) -> Iterator[PolicyEntry]:
        """Yield the entries whose resource matches, most specific first."""
        for candidate in self._candidates.of(resource):
            entry = self.entries.get(candidate)
            if entry is not None:
                yield entry


class BindingPolicy(Policy):
    """Entries of the kind Kafka: one for each resource, source and decision. Others add their operations.

    Standard: `StandardAuthorizerData`.
    """

    def __init__(self, entries: Iterable[PolicyEntry]) -> None:
        merged: dict[Hashable, PolicyEntry] = {}
        for entry in entries:
            key = entry.resource, entry.source_ips, entry.decision
            known = merged.get(key)
            operations = (*(() if known is None else known.operations), *entry.operations)
            merged[key] = replace(entry, operations=tuple(dict.fromkeys(operations)))
        super().__init__(merged.values())
        self._by_resource: dict[Resource, list[PolicyEntry]] = {}
        for entry in merged.values():
            self._by_resource.setdefault(entry.resource, []).append(entry)
        self.entries = merged

    def deciding(self, resource: Resource, operation: AclOperation, ip: str) -> PolicyEntry | None:
        """Return an entry that denies an operation, else one that allows it, None if there is neither."""
        allowing = None
        for entry in self.matching(resource):
            if entry.covers_operation(operation, ip):
                if entry.denies:
                    return entry
                allowing = allowing or entry
        return allowing

    def matching(self, resource: Resource) -> Iterator[PolicyEntry]:
        """Yield the entries whose resource matches, most specific first."""
        for candidate in self._candidates.of(resource):
            yield from self._by_resource.get(candidate, ())


NO_BINDINGS = BindingPolicy(())


def policy_of(kind: PolicyType, entries: Iterable[PolicyEntry]) -> Policy:
    """Return the policy of a kind with these entries."""
    return BindingPolicy(entries) if kind is PolicyType.KAFKA else Policy(entries)


@dataclass(frozen=True)
class Acl:
    """Policies of a user."""

    username: str
    policies: Mapping[PolicyType, Policy]

    @property
    def key(self) -> str:
        """Subject, such as `User:alice`."""
        return subject_of(self.username)

    @cached_property
    def bindings(self) -> BindingPolicy:
        """The entries of the kind Kafka."""
        policy = self.policies.get(PolicyType.KAFKA)
        return policy if isinstance(policy, BindingPolicy) else NO_BINDINGS

    def with_bindings(self, bindings: BindingPolicy) -> Acl:
        """Return a copy with these entries of the kind Kafka in place of its own."""
        policies = dict(self.policies)
        policies.pop(PolicyType.KAFKA, None)
        if bindings.entries:
            policies[PolicyType.KAFKA] = bindings
        return Acl(self.username, policies)

    def with_policies(self, policies: Mapping[PolicyType, Policy]) -> Acl:
        """Return a copy with further entries, which replace those of the same resources."""
        merged = dict(self.policies)
        for kind, policy in policies.items():
            before = merged.get(kind)
            merged[kind] = policy if before is None else before.with_entries(policy.entries.values())
        return Acl(self.username, merged)

    def without(self, kind: PolicyType, resource: Resource) -> Acl:
        """Return a copy without an entry; policies without entries are removed."""
        left = {
            one: policy.without(resource) if one is kind else policy for one, policy in self.policies.items()
        }
        return Acl(self.username, {one: policy for one, policy in left.items() if policy.entries})

    def info(self, resource_filter: str = "") -> AclInfo:
        """Return the policies in the form of requests and files, filtered by `resource_filter` in the
        resource."""
        policies = []
        for kind, policy in self.policies.items():
            shown = [e.info() for e in policy.entries.values() if resource_filter in str(e.resource)]
            if shown:
                policies.append(PolicyInfo(kind.value, shown))
        return AclInfo(self.key, policies)

    def to_json(self) -> dict[str, Any]:
        """Return the fields under the names of `AclInfo`."""
        return self.info().to_json()

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Parse the policies in a file. Raises `ConfigError`."""
        try:
            info = AclInfo.from_json(value)
            username = username_of(info.subject)
            if not username:
                raise AccessError("there is no such subject")
            return cls(username, read_policies(info.policies))
        except (AccessError, BodyError) as error:
            raise ConfigError(f"policies of {value.get('subject')!r}: {error}") from None


def read_policies(infos: Iterable[PolicyInfo]) -> dict[PolicyType, Policy]:
    """Parse the policies of a request; those without a kind are custom ones. Raises `AccessError`."""
    entries: dict[PolicyType, list[PolicyEntry]] = {}
    for info in infos:
        if not info.entries:
            raise AccessError("The policy entries is empty.")
        kind = by_name(PolicyType, info.policy_type) or PolicyType.CUSTOM
        entries.setdefault(kind, []).extend(PolicyEntry.of(entry, kind) for entry in info.entries)
    if not entries:
        raise AccessError("The policies is empty.")
    return {kind: policy_of(kind, found) for kind, found in entries.items()}
