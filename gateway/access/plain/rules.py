"""All files of rules together, and their decision on a request.

RocketMQ: `PlainPermissionManager.validate`, `checkPerm`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mqgateway.engine.message import TRACE_TOPIC
from mqgateway.gateway.access.plain.accounts import Account, Permission
from mqgateway.gateway.access.plain.addresses import WhiteAddresses
from mqgateway.gateway.access.plain.documents import Document
from mqgateway.gateway.access.plain.folder import Files
from mqgateway.gateway.access.policies import Resource, ResourceType, topic


class PlainNeed(NamedTuple):
    """A topic or group, and the permission that it needs."""

    resource: Resource
    permission: Permission


TRACES = PlainNeed(topic(TRACE_TOPIC), Permission.PUB)
"""Topic on which every account may send message traces."""


class AclRules:
    """The rules of some files; immutable."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.path_of: dict[str, str] = {}
        """The file of each access key."""
        self._accounts: dict[str, Account] = {}
        whites: list[WhiteAddresses] = []
        for path, document in self.documents():
            whites += document.white_addresses
            for access_key, account in document.accounts.items():
                if access_key not in self._accounts:
                    self._accounts[access_key], self.path_of[access_key] = account, path
        self._whites = tuple(whites)

    def __len__(self) -> int:
        return len(self._accounts)

    def documents(self) -> Iterator[tuple[str, Document]]:
        """Yield each file with its content, without empty ones."""
        for path, known in self.files.items():
            if known.document is not None:
                yield path, known.document

    def repeated(self) -> Iterator[tuple[str, str]]:
        """Yield access keys that more than one file has, each with the file that is ignored."""
        for path, document in self.documents():
            yield from ((key, path) for key in document.accounts if self.path_of[key] != path)

    def is_white(self, ip: str) -> bool:
        """Return True if requests from an address need no signature."""
        return any(addresses.match(ip) for addresses in self._whites)

    def account(self, access_key: str) -> Account | None:
        """Return the account of an access key."""
        return self._accounts.get(access_key)


def refused_need(account: Account, needs: Iterable[PlainNeed]) -> PlainNeed | None:
    """Return the first need that an account lacks, if there is one."""
    return next((need for need in needs if not account.may(*need)), None)


def shown(resource: Resource) -> str:
    """Return a resource as refusals name it: `topic:orders`."""
    kind = "group" if resource.type is ResourceType.GROUP else "topic"
    return f"{kind}:{resource.name}"
