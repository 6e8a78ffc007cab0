"""An account: its access key and secret key, and its permissions on topics and groups.

RocketMQ: `PlainAccessResource`, `Permission`, and the checks of an account in `PlainPermissionManager`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntFlag

from mqgateway.gateway.access.errors import AccessError
from mqgateway.gateway.access.plain.addresses import WhiteAddresses, parse_white_address
from mqgateway.gateway.access.policies import Resource, ResourceType, group, topic
from mqgateway.gateway.codec.version_4 import PlainAccessConfig

KEY_MIN_LENGTH = 6
"""Access keys and secret keys must be longer."""


class Permission(IntFlag):
    """Permissions on a topic or group. RocketMQ: `Permission`."""

    DENY = 1
    PUB = 4
    SUB = 8


_PERMISSIONS = {
    "PUB": Permission.PUB,
    "SUB": Permission.SUB,
    "PUB|SUB": Permission.PUB | Permission.SUB,
    "SUB|PUB": Permission.PUB | Permission.SUB,
    "DENY": Permission.DENY,
}


@dataclass(frozen=True)
class Account:
    """An account of a file; `secret_key` signs requests, and is not shown in logs."""

    access_key: str
    secret_key: str = field(repr=False)
    is_admin: bool
    white_addresses: WhiteAddresses
    default_topic: Permission
    default_group: Permission
    permissions: Mapping[Resource, Permission]

    def may(self, resource: Resource, needed: Permission) -> bool:
        """Return True if the account has the permission on a topic or group. An admin without permissions
        of its own has all.
        """
        if self.is_admin and not self.permissions:
            return True
        default = self.default_group if resource.type is ResourceType.GROUP else self.default_topic
        return needed in self.permissions.get(resource, default)


def account_of(config: PlainAccessConfig) -> Account:
    """Return the account of a configuration. Raises `AccessError` with RocketMQ's message."""
    access_key, secret_key = check_keys(config)
    permissions: dict[Resource, Permission] = {}
    for text in config.group_perms or ():
        name, permission = _entry(text, "group")
        permissions[group(name)] = permission
    for text in config.topic_perms or ():
        name, permission = _entry(text, "topic")
        permissions[topic(name)] = permission
    return Account(
        access_key,
        secret_key,
        config.admin,
        parse_white_address(config.white_remote_address),
        parse_permission(config.default_topic_perm),
        parse_permission(config.default_group_perm),
        permissions,
    )


def parse_permission(text: str | None) -> Permission:
    """Return the permission that a text names; an unknown text denies. RocketMQ: `parsePermFromString`."""
    return _PERMISSIONS.get((text or "").strip(), Permission.DENY)


def unknown_permissions(config: PlainAccessConfig) -> list[str]:
    """Return the texts of permissions that are unknown, and so deny."""
    words = [config.default_topic_perm, config.default_group_perm]
    words += [_pair(text)[1] for text in (*(config.topic_perms or ()), *(config.group_perms or ()))]
    return [word for word in words if word and word.strip() not in _PERMISSIONS]


def check_keys(config: PlainAccessConfig) -> tuple[str, str]:
    """Return the keys of an account. Raises `AccessError`."""
    access_key, secret_key = config.access_key, config.secret_key
    if not _is_long_enough(access_key) or not _is_long_enough(secret_key):
        raise AccessError(
            f"The accessKey={_shown(access_key)} and secretKey={'null' if secret_key is None else '******'} "
            f"cannot be null and length should longer than {KEY_MIN_LENGTH}"
        )
    assert access_key is not None and secret_key is not None
    return access_key, secret_key


def check_given(config: PlainAccessConfig) -> None:
    """Check the spelling of permissions in a request. Raises `AccessError`."""
    check_keys(config)
    _check_permissions(config.topic_perms or ())
    _check_permissions(config.group_perms or ())


def _check_permissions(texts: Iterable[str]) -> None:
    for text in texts:
        pair = _pair(text)
        if len(pair) != 2:
            raise AccessError(
                f"Parse Resource format error for {text}.\n"
                "The expected resource format is 'Res=Perm'. For example: topicA=SUB"
            )
        if pair[1].strip() not in _PERMISSIONS:
            raise AccessError(
                f"Parse resource permission error for {text}.\n"
                "The expected permissions are 'SUB' or 'PUB' or 'SUB|PUB' or 'PUB|SUB'."
            )


def _is_long_enough(key: str | None) -> bool:
    return key is not None and len(key) > KEY_MIN_LENGTH


def _shown(text: str | None) -> str:
    return "null" if text is None else text


def _entry(text: str, kind: str) -> tuple[str, Permission]:
    """Parse `name=permission`."""
    pair = _pair(text)
    if len(pair) != 2:
        raise AccessError(f"Parse resource permission failed for {kind}:{text}")
    return pair[0].strip(), parse_permission(pair[1])


def _pair(text: str) -> list[str]:
    return [part for part in text.split("=") if part]
