"""A connection by hand: requests as they are written, for what no official client sends."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Mapping

from mqgateway.gateway.codec.codes import CURRENT_VERSION
from mqgateway.gateway.codec.command import RemotingCommand, decode_command, encode_command

ANSWER_SECONDS = 10.0


class RawConnection:
    """One connection; each request waits for its answer."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), ANSWER_SECONDS)
        self._file = self._socket.makefile("rb")
        self._opaques = itertools.count(1)

    def ask(
        self,
        code: int,
        fields: Mapping[str, str] | None = None,
        body: bytes = b"",
        *,
        seconds: float = ANSWER_SECONDS,
    ) -> RemotingCommand | None:
        """The answer; None when none comes in time. What the server asks meanwhile is passed over."""
        command = RemotingCommand.request(code, body=body, ext=dict(fields or {}))
        command.opaque, command.version = next(self._opaques), CURRENT_VERSION
        self._socket.settimeout(seconds)
        self._socket.sendall(encode_command(command))
        try:
            while True:
                answer = decode_command(self._read(int.from_bytes(self._read(4), "big")))
                if answer.is_response and answer.opaque == command.opaque:
                    return answer
        except TimeoutError:
            self._file = self._socket.makefile("rb")
            return None

    def _read(self, size: int) -> bytes:
        data = self._file.read(size)
        if data is None or len(data) < size:
            raise ConnectionError("the server has closed the connection")
        return data

    def close(self) -> None:
        """End the connection."""
        self._file.close()
        self._socket.close()

    def __enter__(self) -> RawConnection:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()
