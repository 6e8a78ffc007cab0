"""One file of rules: YAML to accounts and addresses, and changed back to YAML.

A change keeps unknown members and drops comments, as with RocketMQ.
RocketMQ: `PlainPermissionManager.load`, `updateAclConfigFileVersion`, `AclUtils`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.access.errors import AccessError
from mqgateway.gateway.access.plain.accounts import Account, account_of, unknown_permissions
from mqgateway.gateway.access.plain.addresses import WhiteAddresses, parse_white_address
from mqgateway.gateway.access.plain.yaml_text import parse_yaml, write_yaml
from mqgateway.gateway.codec.errors import BodyError
from mqgateway.gateway.codec.version_4 import AclDataVersion, PlainAccessConfig, PlainAccessData

ACCOUNTS, ADDRESSES, VERSION = "accounts", "globalWhiteRemoteAddresses", "dataVersion"
_MEMBERS = frozenset({ACCOUNTS, ADDRESSES, VERSION})
_ACCOUNT_MEMBERS = frozenset(PlainAccessConfig("", "", "", False, "", "", [], []).to_json())

Tree = dict[str, Any]
"""A file as YAML has it: objects, arrays, texts, booleans and null."""


@dataclass(frozen=True)
class Document:
    """The content of a file: `configs` as they are written, `accounts` parsed, by access key."""

    path: str
    tree: Tree = field(repr=False)
    addresses: tuple[str, ...]
    white_addresses: tuple[WhiteAddresses, ...]
    configs: tuple[PlainAccessConfig, ...]
    accounts: dict[str, Account]
    version: AclDataVersion
    warnings: tuple[str, ...]


def read_document(path: str, data: bytes, now: int, options: BrokerOptions) -> Document | None:
    """Return the content of a file; None if it is empty. `now`, in ms, is the version of a file without one.

    Raises `ConfigError` with the file's name and, if it is known, the line.
    """
    parsed = parse_yaml(path, data, ACCOUNTS)
    if not parsed.value:
        return None
    if not isinstance(parsed.value, dict):
        raise ConfigError(f"{path}: there must be members such as {ACCOUNTS} and {ADDRESSES}")
    tree: Tree = parsed.value
    warnings = [f"{path}: {name} is not a member of this file" for name in _others(tree, _MEMBERS)]
    addresses = _texts(tree, ADDRESSES, path)
    try:
        white_addresses = tuple(map(parse_white_address, addresses))
    except AccessError as error:
        raise ConfigError(f"{path}: {ADDRESSES}: {error}") from None
    configs: dict[str, PlainAccessConfig] = {}
    accounts: dict[str, Account] = {}
    given = tree.get(ACCOUNTS) or []
    if not isinstance(given, list):
        raise ConfigError(f"{path}: {ACCOUNTS} must be a list")
    if len(given) > options.max_users:
        raise ConfigError(f"{path}: {len(given)} accounts are more than maxUsers={options.max_users} allows")
    for line, one in zip(parsed.lines, given, strict=True):
        config, account = _account(f"{path}:{line}", one, options)
        warnings += _doubts(f"{path}:{line}", one, config, accounts)
        if account.access_key not in accounts:
            accounts[account.access_key], configs[account.access_key] = account, config
    version = _version(path, tree) or AclDataVersion(0, now)
    return Document(
        path, tree, addresses, white_addresses, tuple(configs.values()), accounts, version, tuple(warnings)
    )


def changed_document(path: str, tree: Tree, now: int, options: BrokerOptions) -> tuple[Document, bytes]:
    """Return a file with this content and the next version, and its text. Raises `ConfigError`."""
    version = _version(path, tree) or AclDataVersion()
    counter = {"counter": version.counter + 1, "timestamp": now}
    text = write_yaml({**tree, VERSION: [counter]})
    document = read_document(path, text, now, options)
    assert document is not None
    return document, text


def _account(place: str, one: Any, options: BrokerOptions) -> tuple[PlainAccessConfig, Account]:
    if not isinstance(one, dict):
        raise ConfigError(f"{place}: an account must have members such as accessKey and secretKey")
    known = {name: one[name] for name in one if name in _ACCOUNT_MEMBERS}
    for name, value in known.items():
        items = value if isinstance(value, list) else [value]
        if len(items) > options.max_policy_entries_per_user:
            raise ConfigError(f"{place}: {name}: {len(items)} are more than maxPolicyEntriesPerUser allows")
        if any(not _is_scalar(item) for item in items):
            raise ConfigError(f"{place}: {name} must be a text, or a list of texts such as topicA=PUB|SUB")
    try:
        config = PlainAccessConfig.from_json(known)
        return config, account_of(config)
    except (AccessError, BodyError) as error:
        raise ConfigError(f"{place}: {error}") from None


def _doubts(place: str, one: Tree, config: PlainAccessConfig, known: dict[str, Account]) -> Iterator[str]:
    """Yield warnings about an account that is valid, but hardly intended."""
    if config.access_key in known:
        yield f"{place}: accessKey {config.access_key} is there already; the first one counts"
    for name in _others(one, _ACCOUNT_MEMBERS):
        yield f"{place}: {name} is not a member of an account"
    for word in unknown_permissions(config):
        yield f"{place}: {word} is not a permission, so it denies; write PUB, SUB, PUB|SUB and DENY"


def _others(tree: Tree, known: frozenset[str]) -> list[str]:
    return sorted(str(name) for name in tree if name not in known)


def _texts(tree: Tree, name: str, path: str) -> tuple[str, ...]:
    """Return a list of texts without empty ones."""
    given = tree.get(name) or []
    if not isinstance(given, list) or any(not _is_scalar(item) for item in given):
        raise ConfigError(f"{path}: {name} must be a list of texts")
    return tuple(PlainAccessData.from_json({name: given}).global_white_remote_addresses or ())


def _version(path: str, tree: Tree) -> AclDataVersion | None:
    given = tree.get(VERSION)
    try:
        versions = PlainAccessData.from_json({VERSION: given}).data_version
    except (BodyError, RecursionError):
        raise ConfigError(f"{path}: {VERSION} must be a list of one counter and timestamp") from None
    return versions[0] if versions else None


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float)
