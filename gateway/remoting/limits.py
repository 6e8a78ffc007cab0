"""How large bodies of requests may be, looked at before anything reads them.

A body is measured by its bytes and by its parts: the commas, opening brackets and line ends in it, of which
every reader's work is a multiple. What is over a limit is answered with a refusal that names the option, as
the log does; the connection goes on.
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
"""Their bodies are properties, which every server reads alike."""

_MARKS = (b",", b"{", b"[", b"\n", b"\r")


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """The limit of some request codes: the attributes of `options` that hold it, which may change.

    Without `parts` only the bytes count.
    """

    options: Options
    size: str
    parts: str = ""

    def check(self, call: Call) -> None:
        """Raises RequestError, and tells the log, where the body is above the limit."""
        length, most = len(call.body), getattr(self.options, self.size)
        if length > most:
            raise _refusal(call, f"{length} bytes", most, self.size)
        if not self.parts or length <= getattr(self.options, self.parts):
            return
        count, most = parts(call.body), getattr(self.options, self.parts)
        if count > most:
            raise _refusal(call, f"{count} parts", most, self.parts)


def parts(body: bytes) -> int:
    """How many parts a body of JSON or properties has at most."""
    return sum(map(body.count, _MARKS))


def body_limits(
    codes: Iterable[int], options: RemotingOptions, others: Mapping[int, BodyLimit | None]
) -> dict[int, BodyLimit]:
    """The limit of each code: of `others` where those have it (None: no limit here), else the usual one."""
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
