"""Limits of request bodies, checked before they are parsed.

A body is measured in bytes and in parts: the commas, opening brackets and line ends in it. The work of every
parser is proportional to its parts. A body over a limit is refused with an answer, and a log line, that names
the option; the connection stays open.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mqgateway.engine.options import Options, RemotingOptions
from mqgateway.engine.options.option import camel_case
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.remoting.call import Call, RequestError

log = logging.getLogger(__name__)

SETTINGS = (
    RequestCode.UPDATE_BROKER_CONFIG,
    RequestCode.UPDATE_NAMESRV_CONFIG,
    RequestCode.UPDATE_CONTROLLER_CONFIG,
    RequestCode.UPDATE_COLD_DATA_FLOW_CTR_CONFIG,
)
"""Codes whose bodies are properties, which every server parses alike."""

_MARKS = (b",", b"{", b"[", b"\n", b"\r")


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """Limit of some request codes: names of attributes of `options`, whose values may change.

    Without `parts`, only the bytes are limited.
    """

    options: Options
    size: str
    parts: str = ""

    def check(self, call: Call) -> None:
        """Raise RequestError, and log it, if the body exceeds the limit."""
        length, most = len(call.body), getattr(self.options, self.size)
        if length > most:
            raise _refusal(call, f"{length} bytes", most, self.size)
        if not self.parts or length <= getattr(self.options, self.parts):
            return
        count, most = parts(call.body), getattr(self.options, self.parts)
        if count > most:
            raise _refusal(call, f"{count} parts", most, self.parts)


def parts(body: bytes) -> int:
    """Return an upper bound of the parts of a JSON or properties body."""
    return sum(map(body.count, _MARKS))


def body_limits(
    codes: Iterable[int], options: RemotingOptions, others: Mapping[int, BodyLimit | None]
) -> dict[int, BodyLimit]:
    """Return the limit of each code: from `others` if listed there (None: no limit), else the default one."""
    usual = BodyLimit(options, "max_body_size", "max_body_parts")
    of_settings = BodyLimit(options, "max_settings_size", "max_settings_parts")
    known: dict[int, BodyLimit | None] = {**dict.fromkeys(SETTINGS, of_settings), **others}
    found = {int(code): known.get(int(code), usual) for code in codes}
    return {code: limit for code, limit in found.items() if limit is not None}


def _refusal(call: Call, what: str, most: int, attribute: str) -> RequestError:
    text = f"the body of request {call.command.code} has {what}, more than the {most} that "
    text += f"{camel_case(attribute)} allows"
    log.warning("%s is refused a request: %s", call.peer.address, text)
    return RequestError(ResponseCode.SYSTEM_ERROR, text)
