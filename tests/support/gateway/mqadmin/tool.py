"""mqadmin against a whole name server and broker in memory: real bytes, no sockets, time moved by hand.

with Cluster() as cluster:
    tool = MemoryTool(cluster)
    assert tool.run("topicList") == 0
    assert "TBW102" in tool.out
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from twisted.internet.address import IPv4Address

from mqgateway.gateway.codec.command import RemotingCommand, decode_command, encode_command
from mqgateway.gateway.codec.frame import FrameCutter
from mqgateway.gateway.mqadmin.catalogue import MQADMIN
from mqgateway.gateway.mqadmin.declaration import Notebook
from mqgateway.gateway.mqadmin.main import Surroundings, Tool
from mqgateway.gateway.resources import CATALOGUE
from tests.support.gateway.client.cluster import NAMESRV, Cluster
from tests.support.gateway.remoting.pair import Pair

WAITS = 40


class MemoryStream:
    """A socket whose other end is a server of the cluster; waiting for bytes advances the cluster's time."""

    def __init__(self, cluster: Cluster, port: int) -> None:
        self._cluster = cluster
        self._data = b""
        self._is_lost = False
        protocol = cluster.net.ports[port].factory.buildProtocol(IPv4Address("TCP", "10.0.0.3", 4000))
        self._pair = Pair(self, protocol, ("10.0.0.3", 4000), ("10.0.0.1", port))
        cluster.net.pairs.append(self._pair)

    def makeConnection(self, transport: Any) -> None:
        self.transport = transport

    def dataReceived(self, data: bytes) -> None:
        self._data += data

    def connectionLost(self, reason: Any) -> None:
        self._is_lost = True

    def sendall(self, data: bytes) -> None:
        self.transport.write(data)

    def recv(self, size: int) -> bytes:
        for number in range(WAITS):
            if self._data or self._is_lost:
                found, self._data = self._data[:size], self._data[size:]
                return found
            self._cluster.settle(0.0 if number < 2 else 0.5)
        raise TimeoutError

    def settimeout(self, seconds: float) -> None:
        """Do nothing: the time is the cluster's."""

    def close(self) -> None:
        if not self._is_lost:
            self.transport.abortConnection()
            self._cluster.settle()


class ScriptedStream:
    """A socket whose requests are answered by a function."""

    def __init__(self, answer: Callable[[RemotingCommand], RemotingCommand]) -> None:
        self._answer = answer
        self._cutter = FrameCutter()
        self._answers: list[bytes] = []

    def sendall(self, data: bytes) -> None:
        for payload in self._cutter.feed(data):
            request = decode_command(payload)
            answer = self._answer(request)
            answer.opaque = request.opaque
            self._answers.append(encode_command(answer))

    def recv(self, size: int) -> bytes:
        return self._answers.pop(0)

    def settimeout(self, seconds: float) -> None:
        """Do nothing: answers arrive at once."""

    def close(self) -> None:
        """Do nothing: there is no connection."""


class _Tool:
    """The tool with its environment, and the output of the last call."""

    def __init__(self) -> None:
        self.out = ""
        self.err = ""
        self.lines: Iterable[str] = ()
        self.environment: dict[str, str] = {"NAMESRV_ADDR": NAMESRV}
        self.files: dict[str, str] = {}
        self.clock: Any = None
        self.catalogue = MQADMIN
        self.notebook = Notebook()
        self.profiles = Notebook()
        self.is_terminal = False
        self.waited: list[float] = []
        self.is_impatient = False
        """True if the first wait is interrupted."""

    def connect(self, host: str, port: int, seconds: float) -> Any:
        """Open a connection."""
        raise NotImplementedError

    def wait(self, seconds: float) -> None:
        """Record a wait; interrupt it if `is_impatient`."""
        self.waited.append(seconds)
        if self.is_impatient:
            raise KeyboardInterrupt

    def run(self, line: str, *more: str) -> int:
        """Run one call, with its words separated by blanks, and return its exit code."""
        out: list[str] = []
        err: list[str] = []
        around = Surroundings(
            out.append,
            err.append,
            self.lines,
            self.environment,
            self.connect,
            self.clock,
            wait=self.wait,
            read_file=self.files.get,
            notebook=self.notebook,
            profiles=self.profiles,
            is_terminal=self.is_terminal,
        )
        try:
            return Tool(around, self.catalogue).run([*line.split(), *more])
        finally:
            self.out, self.err = "".join(out), "".join(err)

    def json(self, line: str, *more: str) -> dict[str, Any]:
        """Return the output of a call with `--json`."""
        self.run(line, *more, "--json")
        found: dict[str, Any] = json.loads(self.out)
        assert found.keys() == {"command", "rows", "summary", "errors"}
        return found


class MemoryTool(_Tool):
    """The tool with a cluster in memory."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__()
        self.cluster = cluster
        self.clock = cluster.clock

    def wait(self, seconds: float) -> None:
        """Advance the time of the cluster."""
        self.cluster.settle(seconds)
        super().wait(seconds)

    def connect(self, host: str, port: int, seconds: float) -> MemoryStream:
        """Open a connection into the cluster. Raises `OSError`."""
        if port not in self.cluster.net.ports:
            raise ConnectionRefusedError("nobody listens")
        return MemoryStream(self.cluster, port)


class ResourceTool(MemoryTool):
    """The resource commands, `mqgateway topic` and others, with a cluster in memory."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self.catalogue = CATALOGUE


class ScriptedTool(_Tool):
    """The tool with servers that answer by a function; `asked` has the requests."""

    def __init__(self, clock: Any, answer: Callable[[str, RemotingCommand], RemotingCommand]) -> None:
        super().__init__()
        self.clock = clock
        self.asked: list[tuple[str, RemotingCommand]] = []
        self._answer = answer

    def connect(self, host: str, port: int, seconds: float) -> ScriptedStream:
        """Open a connection to a server that answers by the function."""

        def answer(request: RemotingCommand) -> RemotingCommand:
            self.asked.append((f"{host}:{port}", request))
            return self._answer(f"{host}:{port}", request)

        return ScriptedStream(answer)
