"""Policies: the actions of a user on resources, by source address.

A resource is written `*`, `Topic:*`, `Topic:orders*` or `Topic:orders`. An entry allows or denies actions on
it. A user has custom entries, and default entries that apply where no custom entry matches. Of each kind
there is one entry per resource; a later one replaces it.
RocketMQ: `Acl`, `Policy`, `PolicyEntry`, `Resource`, `Environment`, `AclConverter`,
`AuthorizationMetadataManagerImpl.validate`.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Self

from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.access.errors import AccessError
from mqgateway.gateway.access.users import by_name, subject_of, username_of
from mqgateway.gateway.codec.bodies.auth import AclInfo, PolicyEntryInfo, PolicyInfo
from mqgateway.gateway.codec.errors import BodyError

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

RETRY_PREFIX = "%RETRY%"


class ResourceType(StrEnum):
    """Type of a resource. RocketMQ: `ResourceType`."""

    UNKNOWN = "Unknown"
    ANY = "Any"
    CLUSTER = "Cluster"
    NAMESPACE = "Namespace"
    TOPIC = "Topic"
    GROUP = "Group"


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
    """Kind of a policy; default entries apply where no custom one matches. RocketMQ: `PolicyType`."""

    CUSTOM = "Custom"
    DEFAULT = "Default"


class Resource(NamedTuple):
    """Resource of a request or an entry; `name` is None for any name."""

    type: ResourceType
    name: str | None
    pattern: ResourcePattern

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
    """Allowed or denied actions on a resource; with empty `source_ips` from any address."""

    resource: Resource
    actions: tuple[Action, ...]
    decision: Decision
    source_ips: tuple[str, ...] = ()

    @cached_property
    def networks(self) -> tuple[Network, ...]:
        """Parsed `source_ips`."""
        return tuple(map(parse_network, self.source_ips))

    def covers(self, actions: Iterable[Action], ip: str) -> bool:
        """Return True if the entry applies to one of the actions, requested from `ip`."""
        known = self.actions
        if not any(one in known or Action.ALL in known or one is Action.ANY for one in actions):
            return False
        if not self.source_ips:
            return True
        address = parse_address(ip)
        return address is not None and any(address in network for network in self.networks)

    def info(self) -> PolicyEntryInfo:
        """Return the entry in the form of requests and files."""
        return PolicyEntryInfo(
            str(self.resource),
            [action.value for action in self.actions],
            list(self.source_ips) or None,
            self.decision.value,
        )

    @classmethod
    def of(cls, info: PolicyEntryInfo) -> Self:
        """Parse an entry; unknown actions are ignored. Raises `AccessError`."""
        resource = parse_resource(info.resource)
        if resource is None:
            raise AccessError("The resource is null.")
        actions = tuple(one for word in info.actions or () if (one := by_name(Action, word)) is not None)
        if not actions:
            raise AccessError("The actions is empty.")
        if Action.ANY in actions:
            raise AccessError("The actions can not be Any.")
        for ip in info.source_ips or ():
            parse_network(ip)
        decision = by_name(Decision, info.decision)
        if decision is None:
            raise AccessError("The decision is null or illegal.")
        return cls(resource, actions, decision, tuple(info.source_ips or ()))


class Policy:
    """Entries of one kind by resource; immutable."""

    def __init__(self, entries: Iterable[PolicyEntry]) -> None:
        self.entries: dict[Resource, PolicyEntry] = {entry.resource: entry for entry in entries}
        self._prefixes: dict[ResourceType, list[int]] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and self.entries == other.entries

    def with_entries(self, entries: Mapping[Resource, PolicyEntry]) -> Policy:
        """Return a copy with these entries, which replace those of the same resources."""
        return Policy({**self.entries, **entries}.values())

    def without(self, resource: Resource) -> Policy:
        """Return a copy without the entry of a resource."""
        return Policy(entry for entry in self.entries.values() if entry.resource != resource)

    def find(self, resource: Resource, actions: Sequence[Action], ip: str) -> PolicyEntry | None:
        """Return the deciding entry: the matching one with the most specific resource.

        The order is the exact name, the longest prefix, all resources of the type, everything. So the number
        of lookups does not grow with the number of entries. RocketMQ: `comparePolicyEntries`.
        """
        for candidate in self._candidates(resource):
            entry = self.entries.get(candidate)
            if entry is not None and entry.covers(actions, ip):
                return entry
        return None

    def _candidates(self, resource: Resource) -> Iterator[Resource]:
        """Yield the resources of entries that can match, most specific first."""
        yield resource
        kind, name, _ = resource
        if name is not None:
            for length in self._prefix_lengths().get(kind, ()):
                if length <= len(name):
                    yield Resource(kind, name[:length], ResourcePattern.PREFIXED)
        yield Resource(kind, None, ResourcePattern.ANY)
        yield EVERYTHING

    def _prefix_lengths(self) -> dict[ResourceType, list[int]]:
        """Return the lengths of the prefixes in entries, longest first, by type."""
        if self._prefixes is None:
            lengths: dict[ResourceType, set[int]] = {}
            for kind, name, pattern in self.entries:
                if pattern is ResourcePattern.PREFIXED:
                    lengths.setdefault(kind, set()).add(len(name or ""))
            self._prefixes = {kind: sorted(found, reverse=True) for kind, found in lengths.items()}
        return self._prefixes


@dataclass(frozen=True)
class Acl:
    """Policies of a user."""

    username: str
    policies: Mapping[PolicyType, Policy]

    @property
    def key(self) -> str:
        """Subject, such as `User:alice`."""
        return subject_of(self.username)

    def with_policies(self, policies: Mapping[PolicyType, Policy]) -> Acl:
        """Return a copy with further entries, which replace those of the same resources."""
        merged = dict(self.policies)
        for kind, policy in policies.items():
            before = merged.get(kind)
            merged[kind] = policy if before is None else before.with_entries(policy.entries)
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
    entries: dict[PolicyType, dict[Resource, PolicyEntry]] = {}
    for info in infos:
        if not info.entries:
            raise AccessError("The policy entries is empty.")
        kind = by_name(PolicyType, info.policy_type) or PolicyType.CUSTOM
        read = map(PolicyEntry.of, info.entries)
        entries.setdefault(kind, {}).update({entry.resource: entry for entry in read})
    if not entries:
        raise AccessError("The policies is empty.")
    return {kind: Policy(found.values()) for kind, found in entries.items()}
