"""The caller: the headers of a call, and the call as a connection.

RocketMQ: `ContextInitPipeline`, `GrpcConstants`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from mqgateway.gateway.codec.codes import LanguageCode
from mqgateway.gateway.grpc.call import GrpcCall

CLIENT_ID: Final = "x-mq-client-id"
LANGUAGE: Final = "x-mq-language"
CLIENT_VERSION: Final = "x-mq-client-version"
DATE_TIME: Final = "x-mq-date-time"
AUTHORIZATION: Final = "authorization"

_LANGUAGES: Final = {language.name for language in LanguageCode}
_OTHER_NAMES: Final = {"GOLANG": "GO", "DOT_NET": "DOTNET", "C++": "CPP", "C#": "DOTNET", "NODEJS": "NODE_JS"}
"""Languages of clients whose name differs in the remoting protocol."""


def language_of(text: str) -> str:
    """Return a client's language by its name in the remoting protocol; OTHER if it has none."""
    name = text.strip().upper()
    name = _OTHER_NAMES.get(name, name)
    return name if name in _LANGUAGES else LanguageCode.OTHER.name


class CallConnection:
    """A call, as a `ClientConnection` that is lost when the call ends."""

    def __init__(self, call: GrpcCall) -> None:
        self.call = call
        self.is_open = True
        self._on_lost: dict[Callable[[Any], None], None] = {}
        self._is_watched = False

    @property
    def client_id(self) -> str:
        """The client id of the header; empty without one."""
        return self.call.metadata.get(CLIENT_ID, "")

    @property
    def language(self) -> str:
        """The client's language, by its name in the remoting protocol."""
        return language_of(self.call.metadata.get(LANGUAGE, ""))

    @property
    def version(self) -> str:
        """The client's version; empty without one."""
        return self.call.metadata.get(CLIENT_VERSION, "")

    @property
    def address(self) -> str:
        """The client's address as `ip:port`."""
        return self.call.peer.address

    @property
    def host_bytes(self) -> bytes:
        """The client's address, packed as a message's born host."""
        return self.call.peer.host_bytes

    def close(self, reason: str) -> None:
        """Do nothing: the call ends with its answer."""

    def on_lost(self, callback: Callable[[Any], None]) -> None:
        """Call back once the call is over; at once if it is."""
        if not self.is_open:
            callback(self)
            return
        self._on_lost[callback] = None
        self.watch()

    def watch(self) -> None:
        """Keep `is_open` up to date from now on."""
        if not self._is_watched:
            self._is_watched = True
            self.call.on_end(self._ended)

    def _ended(self, is_left: bool) -> None:
        self.is_open = False
        callbacks, self._on_lost = list(self._on_lost), {}
        for callback in callbacks:
            callback(self)
