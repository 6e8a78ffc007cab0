"""The default name server port, for the official examples that name it in their code."""

from __future__ import annotations

import socket
import threading
from types import TracebackType

from compat_tests.support.processes import wait_until

DEFAULT = ("127.0.0.1", 9876)


class Relay:
    """Passes connections on 127.0.0.1:9876 to a name server elsewhere, while it is entered."""

    def __init__(self, target: str) -> None:
        host, port = target.rsplit(":", 1)
        self._target = (host, int(port))
        self._listener = socket.socket()
        self._connections: list[socket.socket] = []

    def __enter__(self) -> Relay:
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        wait_until(self._bound, 60, f"port {DEFAULT[1]} is free: some official examples know no other", 1)
        self._listener.listen()
        threading.Thread(target=self._accept, name="relay", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._connections:
            connection.close()

    def _bound(self) -> bool:
        try:
            self._listener.bind(DEFAULT)
        except OSError:
            return False
        return True

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._target, 10)
            server.settimeout(None)
            self._connections += [client, server]
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=_copy, args=(source, sink), name="relay", daemon=True).start()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        source.close()
        sink.close()
