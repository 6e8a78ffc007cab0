"""Peers that speak something else than the remoting protocol: what it is, and saying so not too often."""

SILENCE_SECONDS = 60.0
"""How long nothing more is said of peers that speak the same."""

KINDS_MAX = 100
"""Kinds of events that are told apart; beyond these all are forgotten and said again."""

_GRPC = b"PRI * HTTP/2"
_METHODS = (b"GET ", b"HEAD ", b"POST ", b"PUT ", b"DELETE ", b"OPTIONS ", b"PATCH ", b"CONNECT ", b"TRACE ")
_TLS_HANDSHAKE, _TLS_MAJOR = 0x16, 0x03

SPEAKS_GRPC = (
    "it speaks gRPC (HTTP/2), which is not served here; a broker serves it where grpcServerPort is set"
)
SPEAKS_HTTP = "it speaks HTTP; this port serves RocketMQ's remoting protocol only"
SPEAKS_TLS = "it speaks TLS inside its connection, where plain frames are expected"


def language(first: bytes) -> str | None:
    """What a peer speaks whose conversation begins with these bytes, in words; None when nobody knows."""
    if len(first) > 3 and _GRPC.startswith(first[: len(_GRPC)]):
        return SPEAKS_GRPC
    if first.startswith(_METHODS):
        return SPEAKS_HTTP
    if len(first) > 1 and first[0] == _TLS_HANDSHAKE and first[1] == _TLS_MAJOR:
        return SPEAKS_TLS
    return None


class Notices:
    """Which of many like events are said: the first, then one in `SILENCE_SECONDS` with the others' count."""

    def __init__(self) -> None:
        self._last: dict[str, float] = {}
        self._unsaid: dict[str, int] = {}

    @property
    def size(self) -> int:
        """Kinds that are remembered."""
        return len(self._last)

    def say(self, what: str, now: float) -> int | None:
        """How many of these events have not been said, now that one is; None when this one is not either."""
        if len(self._last) >= KINDS_MAX:
            self._last.clear()
            self._unsaid.clear()
        last = self._last.get(what)
        if last is not None and now - last < SILENCE_SECONDS:
            self._unsaid[what] = self._unsaid.get(what, 0) + 1
            return None
        self._last[what] = now
        return self._unsaid.pop(what, 0)
