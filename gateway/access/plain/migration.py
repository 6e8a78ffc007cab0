"""Accounts of version 4 as users and policies of ACL 2.0, for `migrateAuthFromV1Enabled`.

Existing users are left unchanged, so later changes of them stay. White addresses are not migrated: ACL 2.0
accepts no address without a signature. RocketMQ: `AuthMigrator`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator

from mqgateway.gateway.access.administration import AccessAdministration
from mqgateway.gateway.access.errors import AccessError
from mqgateway.gateway.access.plain.rules import AclRules
from mqgateway.gateway.access.policies import (
    Action,
    Decision,
    Policy,
    PolicyEntry,
    PolicyType,
    Resource,
    ResourcePattern,
    ResourceType,
    group,
    literal,
)
from mqgateway.gateway.access.users import UserType
from mqgateway.gateway.codec.version_4 import PlainAccessConfig

log = logging.getLogger(__name__)

_ACTIONS = {
    "PUB": (Action.PUB,),
    "SUB": (Action.SUB,),
    "PUB|SUB": (Action.PUB, Action.SUB),
    "SUB|PUB": (Action.PUB, Action.SUB),
}
_EVERY_TOPIC = Resource(ResourceType.TOPIC, None, ResourcePattern.ANY)
_EVERY_GROUP = Resource(ResourceType.GROUP, None, ResourcePattern.ANY)


def migrate(rules: AclRules, users: AccessAdministration) -> int:
    """Create a user with policies for each account that has none; return the number of new users.

    An account that cannot be migrated is logged, and the others are migrated.
    """
    made = 0
    for path, document in rules.documents():
        for config in document.configs:
            name = config.access_key or ""
            if rules.path_of[name] != path or users.user(name) is not None:
                continue
            try:
                kind = UserType.SUPER if config.admin else UserType.NORMAL
                users.create_user("", name, config.secret_key, kind, None)
                policies = policies_of(config)
                if policies:
                    users.update_acl(name, policies)
                made += 1
            except AccessError as error:
                log.error("%s: the account %s is migrated only in part: %s", path, name, error)
            if config.white_remote_address:
                log.warning(
                    "%s: the whitelisted address of %s is not migrated: requests must be signed",
                    path,
                    name,
                )
        if document.addresses:
            log.warning("%s: globalWhiteRemoteAddresses are not migrated: requests must be signed", path)
    return made


def policies_of(config: PlainAccessConfig) -> dict[PolicyType, Policy]:
    """Return the policies that correspond to the permissions of an account."""
    custom = [*_entries(config.topic_perms, _topic), *_entries(config.group_perms, group)]
    default = [
        _entry(resource, text)
        for resource, text in (
            (_EVERY_TOPIC, config.default_topic_perm),
            (_EVERY_GROUP, config.default_group_perm),
        )
        if text and text.strip()
    ]
    kinds = {PolicyType.CUSTOM: custom, PolicyType.DEFAULT: default}
    return {kind: Policy(entries) for kind, entries in kinds.items() if entries}


def _entries(texts: Iterable[str] | None, make: Callable[[str], Resource]) -> Iterator[PolicyEntry]:
    for text in texts or ():
        pair = [part for part in text.split("=") if part]
        if len(pair) == 2:
            yield _entry(make(pair[0].strip()), pair[1])


def _entry(resource: Resource, text: str) -> PolicyEntry:
    """Return an entry. An unknown permission denies, as before; RocketMQ's migration lets it allow
    everything.
    """
    actions = _ACTIONS.get(text.strip())
    if actions is None:
        return PolicyEntry(resource, (Action.ALL,), Decision.DENY)
    return PolicyEntry(resource, actions, Decision.ALLOW)


def _topic(name: str) -> Resource:
    return literal(ResourceType.TOPIC, name)
