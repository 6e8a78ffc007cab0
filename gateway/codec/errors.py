"""The things that can be wrong with what a peer sent.

`ProtocolError`: the bytes are no frame or no command; nothing after them can be trusted, the connection ends.
`HeaderError`: the command is sound but its header fields are not; it is answered with code 1 and the remark.
`BodyError`: the same of its body.
`HeaderTooLarge`: the header is longer, or has more fields, than may be; it was not read, but may be answered.
"""

from typing import Any


class ProtocolError(Exception):
    """Bytes that break the protocol. The text says which rule; the connection is to be closed."""


class HeaderError(Exception):
    """A header field that is missing or unreadable.

    `field` is the wire name, `remark` the text for the answer (response code SYSTEM_ERROR).
    """

    def __init__(self, field: str, remark: str) -> None:
        super().__init__(remark)
        self.field = field
        self.remark = remark


class BodyError(HeaderError):
    """A body that is not what the request wants; it is answered as a header error is.

    `field` is the member's JSON name, or empty when the whole text is no JSON.
    """


class HeaderTooLarge(ProtocolError):
    """A header above a limit of the reader, in a frame that can be skipped.

    `request` is the `RemotingCommand` with code, opaque and flag of it and nothing else; the text says which
    limit.
    """

    def __init__(self, text: str, request: Any) -> None:
        super().__init__(text)
        self.request = request
