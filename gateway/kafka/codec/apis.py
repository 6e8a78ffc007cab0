"""API keys of a broker of Apache Kafka 4.4.0, and the versions of each.

Standard: `ApiKeys`. Produce is announced from version 0, because old clients give up without it, but only
versions from 3 are accepted.
"""

from __future__ import annotations

import importlib
from typing import Final

from mqgateway.gateway.kafka.codec.messages.table import ROWS
from mqgateway.gateway.kafka.codec.schema import Message


class Api:
    """An API: its versions, and the classes of its messages, which are imported on first use.

    `latest` is the latest stable version, which is announced. `newest` may be one that is not.
    """

    __slots__ = ("_module", "_request", "_response", "flexible", "key", "latest", "name", "newest", "oldest")

    def __init__(
        self, key: int, name: str, module: str, oldest: int, latest: int, newest: int, flexible: int
    ) -> None:
        self.key = key
        self.name = name
        self.oldest = oldest
        self.latest = latest
        self.newest = newest
        self.flexible = flexible
        self._module = module
        self._request: type[Message] | None = None
        self._response: type[Message] | None = None

    @property
    def announced_oldest(self) -> int:
        """Oldest version in the answer to ApiVersions."""
        return 0 if self.key == PRODUCE else self.oldest

    def is_supported(self, version: int) -> bool:
        """Return True if requests of the version are accepted."""
        return self.oldest <= version <= self.latest

    def is_flexible(self, version: int) -> bool:
        """Return True if the version has compact lengths and tagged fields."""
        return 0 <= self.flexible <= version

    @property
    def request(self) -> type[Message]:
        """The class of its requests."""
        if self._request is None:
            self._request = self._load("Request")
        return self._request

    @property
    def response(self) -> type[Message]:
        """The class of its responses."""
        if self._response is None:
            self._response = self._load("Response")
        return self._response

    def _load(self, side: str) -> type[Message]:
        package = "mqgateway.gateway.kafka.codec.messages"
        module = importlib.import_module(f"{package}.{self._module}_{side.lower()}")
        message: type[Message] = getattr(module, self.name + side)
        return message


PRODUCE: Final = 0
FETCH: Final = 1
SASL_HANDSHAKE: Final = 17
API_VERSIONS: Final = 18
SASL_AUTHENTICATE: Final = 36
APIS: Final = {row[0]: Api(*row) for row in ROWS}
"""The APIs by key."""
