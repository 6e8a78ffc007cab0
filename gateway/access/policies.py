"""Policies: what a user may do with which resources, from where.

A resource is written `*`, `Topic:*`, `Topic:orders*` or `Topic:orders`; an entry says which actions on it are
allowed or denied. A user has entries of two kinds: custom ones, and default ones for what those say nothing
of. Of one kind there is one entry for each resource; a later one replaces it. Standard: `Acl`, `Policy`,
`PolicyEntry`, `Resource`, `Environment`, `AclConverter`, `AuthorizationMetadataManagerImpl.validate`.
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
    """What a resource is. Standard: `ResourceType`."""

    UNKNOWN = "Unknown"
    ANY = "Any"
    CLUSTER = "Cluster"
    NAMESPACE = "Namespace"
    TOPIC = "Topic"
    GROUP = "Group"


class ResourcePattern(StrEnum):
    """What the name of a resource is compared with. Standard: `ResourcePattern`."""

    ANY = "ANY"
    LITERAL = "LITERAL"
    PREFIXED = "PREFIXED"


class Action(StrEnum):
    """What is done with a resource; `ALL` allows each, `ANY` asks for no matter which."""

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
    """What an entry says. Standard: `Decision`."""

    ALLOW = "Allow"
    DENY = "Deny"


class PolicyType(StrEnum):
    """Default entries count where no custom one matches. Standard: `PolicyType`."""

    CUSTOM = "Custom"
    DEFAULT = "Default"


class Resource(NamedTuple):
    """What is asked for, or what an entry is about; `name` is None where any name will do."""

    type: ResourceType
    name: str | None
    pattern: ResourcePattern

    def __str__(self) -> str:
        if self.type is ResourceType.ANY:
            return "*"
        star = "" if self.pattern is ResourcePattern.LITERAL else "*"
        return f"{self.type.value}:{self.name or ''}{star}"


EVERYTHING = Resource(ResourceType.ANY, None, ResourcePattern.ANY)
_TOPIC, _LITERAL = ResourceType.TOPIC, ResourcePattern.LITERAL  # looked up for each message


def literal(kind: ResourceType, name: str) -> Resource:
    """The resource of this very name."""
    return Resource(kind, name, ResourcePattern.LITERAL)


def cluster(name: str) -> Resource:
    """A cluster."""
    return literal(ResourceType.CLUSTER, name)


def group(name: str) -> Resource:
    """A consumer group, which may be called by its retry topic. Standard: `Resource.ofGroup`."""
    return literal(ResourceType.GROUP, name.removeprefix(RETRY_PREFIX))


def topic(name: str) -> Resource:
    """A topic; a retry topic is its group."""
    return group(name) if name.startswith(RETRY_PREFIX) else Resource(_TOPIC, name, _LITERAL)


def parse_resource(text: str | None) -> Resource | None:
    """A resource as it is written; None for what is none. Standard: `Resource.of`."""
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
    """The address of a client; None for what is none, which no entry with addresses matches."""
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


def parse_network(text: str) -> Network:
    """An address, or many as in `10.0.0.0/8`. Raises `AccessError`. Standard: `IPAddressUtils`."""
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
    """What may, or may not, be done with a resource; `source_ips` empty: from everywhere."""

    resource: Resource
    actions: tuple[Action, ...]
    decision: Decision
    source_ips: tuple[str, ...] = ()

    @cached_property
    def networks(self) -> tuple[Network, ...]:
        """What `source_ips` are."""
        return tuple(map(parse_network, self.source_ips))

    def covers(self, actions: Iterable[Action], ip: str) -> bool:
        """Whether it is about one of the actions, asked for from there."""
        known = self.actions
        if not any(one in known or Action.ALL in known or one is Action.ANY for one in actions):
            return False
        if not self.source_ips:
            return True
        address = parse_address(ip)
        return address is not None and any(address in network for network in self.networks)

    def info(self) -> PolicyEntryInfo:
        """The entry as requests and files have it."""
        return PolicyEntryInfo(
            str(self.resource),
            [action.value for action in self.actions],
            list(self.source_ips) or None,
            self.decision.value,
        )

    @classmethod
    def of(cls, info: PolicyEntryInfo) -> Self:
        """Read an entry; words that are no actions are left out. Raises `AccessError`."""
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
    """The entries of one kind, by resource; never changed once it is made."""

    def __init__(self, entries: Iterable[PolicyEntry]) -> None:
        self.entries: dict[Resource, PolicyEntry] = {entry.resource: entry for entry in entries}
        self._prefixes: dict[ResourceType, list[int]] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and self.entries == other.entries

    def with_entries(self, entries: Mapping[Resource, PolicyEntry]) -> Policy:
        """The same with these, in place of those of the same resources."""
        return Policy({**self.entries, **entries}.values())

    def without(self, resource: Resource) -> Policy:
        """The same without the entry of a resource, if there is one."""
        return Policy(entry for entry in self.entries.values() if entry.resource != resource)

    def find(self, resource: Resource, actions: Sequence[Action], ip: str) -> PolicyEntry | None:
        """The entry that decides: of those that match the one that says most exactly which resource.

        The name itself comes first, then the longest beginning, then all of a type, then everything; so
        the looks it takes do not grow with the entries. Standard: `comparePolicyEntries`.
        """
        for candidate in self._candidates(resource):
            entry = self.entries.get(candidate)
            if entry is not None and entry.covers(actions, ip):
                return entry
        return None

    def _candidates(self, resource: Resource) -> Iterator[Resource]:
        """The resources that an entry that matches may have, best first."""
        yield resource
        kind, name, _ = resource
        if name is not None:
            for length in self._prefix_lengths().get(kind, ()):
                if length <= len(name):
                    yield Resource(kind, name[:length], ResourcePattern.PREFIXED)
        yield Resource(kind, None, ResourcePattern.ANY)
        yield EVERYTHING

    def _prefix_lengths(self) -> dict[ResourceType, list[int]]:
        """How long the beginnings are that entries name, longest first, by type."""
        if self._prefixes is None:
            lengths: dict[ResourceType, set[int]] = {}
            for kind, name, pattern in self.entries:
                if pattern is ResourcePattern.PREFIXED:
                    lengths.setdefault(kind, set()).add(len(name or ""))
            self._prefixes = {kind: sorted(found, reverse=True) for kind, found in lengths.items()}
        return self._prefixes


@dataclass(frozen=True)
class Acl:
    """The policies of a user."""

    username: str
    policies: Mapping[PolicyType, Policy]

    @property
    def key(self) -> str:
        """The subject, as in `User:alice`."""
        return subject_of(self.username)

    def with_policies(self, policies: Mapping[PolicyType, Policy]) -> Acl:
        """The same with entries of others, in place of those of the same resources."""
        merged = dict(self.policies)
        for kind, policy in policies.items():
            before = merged.get(kind)
            merged[kind] = policy if before is None else before.with_entries(policy.entries)
        return Acl(self.username, merged)

    def without(self, kind: PolicyType, resource: Resource) -> Acl:
        """The same without an entry; a policy without entries is gone too."""
        left = {
            one: policy.without(resource) if one is kind else policy for one, policy in self.policies.items()
        }
        return Acl(self.username, {one: policy for one, policy in left.items() if policy.entries})

    def info(self, resource_filter: str = "") -> AclInfo:
        """The policies as requests and files have them; of the resources with this in their texts."""
        policies = []
        for kind, policy in self.policies.items():
            shown = [e.info() for e in policy.entries.values() if resource_filter in str(e.resource)]
            if shown:
                policies.append(PolicyInfo(kind.value, shown))
        return AclInfo(self.key, policies)

    def to_json(self) -> dict[str, Any]:
        """The fields under the names of `AclInfo`."""
        return self.info().to_json()

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Read the policies in a file. Raises `ConfigError`."""
        try:
            info = AclInfo.from_json(value)
            username = username_of(info.subject)
            if not username:
                raise AccessError("there is no such subject")
            return cls(username, read_policies(info.policies))
        except (AccessError, BodyError) as error:
            raise ConfigError(f"policies of {value.get('subject')!r}: {error}") from None


def read_policies(infos: Iterable[PolicyInfo]) -> dict[PolicyType, Policy]:
    """Policies as a request gives them; those of no kind are custom ones. Raises `AccessError`."""
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
