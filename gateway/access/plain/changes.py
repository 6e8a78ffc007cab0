"""Changes of a file of rules by requests, as RocketMQ makes them: unknown members stay.

RocketMQ: `PlainPermissionManager.updateAccessConfig`, `createAclAccessConfigMap`, `deleteAccessConfig`,
`updateGlobalWhiteAddrsConfig`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mqgateway.gateway.access.plain.documents import ACCOUNTS, ADDRESSES, Tree
from mqgateway.gateway.codec.version_4 import PlainAccessConfig


def with_account(tree: Tree, config: PlainAccessConfig) -> Tree:
    """Return a file with an account at its end, changed where a value is given; `admin` always is."""
    before = next((one for one in _accounts(tree) if _is(one, config.access_key)), {})
    others = [one for one in _accounts(tree) if one is not before]
    given = {name: value for name, value in config.to_json().items() if _counts(name, value)}
    ordered = {name: given[name] for name in _ORDER if name in given}
    return {**tree, ACCOUNTS: [*others, {**before, **ordered}]}


def without_account(tree: Tree, access_key: str) -> Tree:
    """Return a file without an account."""
    return {**tree, ACCOUNTS: [one for one in _accounts(tree) if not _is(one, access_key)]}


def with_addresses(tree: Tree, addresses: Sequence[str]) -> Tree:
    """Return a file with these addresses, which need no signature."""
    return {**tree, ADDRESSES: list(addresses)}


_ORDER = (
    "accessKey",
    "secretKey",
    "whiteRemoteAddress",
    "admin",
    "defaultTopicPerm",
    "defaultGroupPerm",
    "topicPerms",
    "groupPerms",
)
_MAY_BE_EMPTY = ("whiteRemoteAddress", "admin", "topicPerms", "groupPerms")


def _counts(name: str, value: Any) -> bool:
    return name in _MAY_BE_EMPTY or bool(value)


def _accounts(tree: Tree) -> list[Tree]:
    return tree.get(ACCOUNTS) or []


def _is(account: Tree, access_key: str | None) -> bool:
    return PlainAccessConfig.from_json({"accessKey": account.get("accessKey")}).access_key == access_key
