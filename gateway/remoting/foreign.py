"""Peers that speak another protocol: its detection, and rate-limited log messages about it."""

SILENCE_SECONDS = 60.0
"""Time for which further events of the same kind are not logged."""

KINDS_MAX = 100
"""Maximum number of kinds of events; beyond it all are forgotten and logged again."""

_GRPC = b"PRI * HTTP/2"
_METHODS = (b"GET ", b"HEAD ", b"POST ", b"PUT ", b"DELETE ", b"OPTIONS ", b"PATCH ", b"CONNECT ", b"TRACE ")
_TLS_HANDSHAKE, _TLS_MAJOR = 0x16, 0x03

SPEAKS_GRPC = (
    "it speaks gRPC (HTTP/2), which is not served here; a broker serves it where grpcServerPort is set"
)
SPEAKS_HTTP = "it speaks HTTP; this port serves RocketMQ's remoting protocol only"
SPEAKS_TLS = "it speaks TLS inside its connection, where plain frames are expected"


def language(first: bytes) -> str | None:
    """Return a description of the protocol that starts with these bytes; None if it is unknown."""
    if len(first) > 3 and _GRPC.startswith(first[: len(_GRPC)]):
        return SPEAKS_GRPC
    if first.startswith(_METHODS):
        return SPEAKS_HTTP
    if len(first) > 1 and first[0] == _TLS_HANDSHAKE and first[1] == _TLS_MAJOR:
        return SPEAKS_TLS
    return None


class Notices:
    """Rate limiter of similar log messages.

    It passes the first, then one per `SILENCE_SECONDS` with the count of the others.
    """

    def __init__(self) -> None:
        self._last: dict[str, float] = {}
        self._unsaid: dict[str, int] = {}

    @property
    def size(self) -> int:
        """Number of remembered kinds."""
        return len(self._last)

    def say(self, what: str, now: float) -> int | None:
        """Return the number of suppressed events if this one should be logged; None if it should not."""
        if len(self._last) >= KINDS_MAX:
            self._last.clear()
            self._unsaid.clear()
        last = self._last.get(what)
        if last is not None and now - last < SILENCE_SECONDS:
            self._unsaid[what] = self._unsaid.get(what, 0) + 1
            return None
        self._last[what] = now
        return self._unsaid.pop(what, 0)
