"""etcd of one server or three on the loopback address, and controllers that keep their sets there."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from compat_tests.support.processes import accepts, free_ports, start_logged, stop, wait_until
from compat_tests.support.servers import HOST, ROOT, Part
from mqgateway.engine.controller.key_values import Kept, Lease, Outcome, Transaction, Unanswered
from mqgateway.gateway.controller import etcd

START_SECONDS = 60
CALL_SECONDS = 5


class EtcdNode:
    """One server of etcd."""

    def __init__(self, name: str, folder: Path, more: Sequence[str], scheme: str) -> None:
        self.name = name
        self.port, self.peer_port = free_ports(), free_ports()
        self._scheme = scheme
        self._folder, self._more = folder, more
        self._popen: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"{self._scheme}://{HOST}:{self.port}"

    @property
    def peer_url(self) -> str:
        return f"http://{HOST}:{self.peer_port}"

    def start(self, members: str) -> None:
        """Start it; it is up when it has a leader, which takes a majority."""
        self._folder.mkdir(parents=True, exist_ok=True)
        program = shutil.which("etcd")
        assert program, "etcd is missing: apt-get install etcd-server"
        command = [program, "--name", self.name, "--data-dir", str(self._folder / "data")]
        for what, url in (("client", self.url), ("peer", self.peer_url)):
            command.append(f"--listen-{what}-urls={url}")
        command += [f"--advertise-client-urls={self.url}", f"--initial-advertise-peer-urls={self.peer_url}"]
        command += [f"--initial-cluster={members}", "--unsafe-no-fsync", *self._more]
        if not _knows(program, "--unsafe-no-fsync"):
            command.remove("--unsafe-no-fsync")
        self._popen = start_logged(command, self._folder / "etcd.log")

    def kill9(self) -> None:
        assert self._popen is not None
        self._popen.kill()
        self._popen.wait(30)

    def pause(self) -> None:
        """It does nothing any more, and its connections stay open."""
        assert self._popen is not None
        self._popen.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self._popen is not None
        self._popen.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        if self._popen is not None:
            self.resume()
            stop(self._popen)


def _knows(program: str, flag: str) -> bool:
    said = subprocess.run([program, "--help"], capture_output=True, timeout=60, check=False)
    return flag.encode() in said.stdout + said.stderr


class EtcdCluster:
    """Servers that are one etcd."""

    def __init__(self, folder: Path, count: int, more: Sequence[str] = (), scheme: str = "http") -> None:
        self.nodes = [EtcdNode(f"e{number}", folder / f"e{number}", more, scheme) for number in range(count)]
        self._members = ",".join(f"{node.name}={node.peer_url}" for node in self.nodes)

    @property
    def endpoints(self) -> str:
        """For `controllerEtcdEndpoints`."""
        return ";".join(node.url for node in self.nodes)

    def __enter__(self) -> EtcdCluster:
        for node in self.nodes:
            node.start(self._members)
        addresses = [f"{HOST}:{node.port}" for node in self.nodes]
        wait_until(lambda: all(map(accepts, addresses)), START_SECONDS, "etcd listens")
        return self

    def __exit__(self, *failure: object) -> None:
        for node in self.nodes:
            node.stop()

    def restart(self, node: EtcdNode) -> None:
        """Start a server again that was killed."""
        node.start(self._members)

    def leader(self) -> EtcdNode:
        """The server that leads."""
        for node in self.nodes:
            try:
                said = Http(node.url).ask("maintenance/status", {})
            except Unanswered:
                continue
            if said["header"]["member_id"] == said.get("leader"):
                return node
        raise AssertionError("no server of etcd leads")


class Http:
    """One server of etcd as the contract of controllers asks it: a call at a time."""

    def __init__(self, url: str, *, token: str = "", context: ssl.SSLContext | None = None) -> None:
        self._url = url
        self._token = token
        self._context = context

    def ask(self, path: str, body: Mapping[str, Any], version: str = "v3") -> dict[str, Any]:
        """Raises `Unanswered`."""
        headers = {"Content-Type": "application/json"} | (
            {"Authorization": self._token} if self._token else {}
        )
        url = f"{self._url}/{version}/{path}"
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=CALL_SECONDS, context=self._context) as answer:
                document: dict[str, Any] = json.loads(answer.read())
                return document
        except urllib.error.HTTPError as error:
            raise Unanswered(f"{error.code} {error.read()!r}") from None
        except OSError as error:
            raise Unanswered(str(error)) from None

    def transact(self, wanted: Transaction) -> Outcome:
        return etcd.outcome(self.ask("kv/txn", etcd.transaction(wanted)))

    def grant(self, seconds: int) -> Lease:
        return etcd.granted(self.ask("lease/grant", {"TTL": str(seconds)}))

    def keep(self, number: int) -> Kept:
        return etcd.kept(self.ask("lease/keepalive", {"ID": str(number)}))

    def revoke(self, number: int) -> None:
        self.ask("lease/revoke", {"ID": str(number)})


class Cable:
    """A way to a server that can be cut: what is on it then is kept back, and connections stay open."""

    def __init__(self, port: int) -> None:
        self._target = (HOST, port)
        self._whole = threading.Event()
        self._whole.set()
        self._listener = socket.create_server((HOST, 0))
        self.port = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, name="cable", daemon=True).start()

    def cut(self) -> None:
        self._whole.clear()

    def mend(self) -> None:
        self._whole.set()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for one in self._open:
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._target, 10)
            except OSError:
                return
            far.settimeout(None)
            self._open += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(source, sink), name="cable", daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                self._whole.wait()
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            return


class Controller(NamedTuple):
    """A controller's process, and where it is asked."""

    address: str
    part: Part


def controllers(
    folder: Path, endpoints: Sequence[str], settings: Mapping[str, str] | None = None
) -> list[Controller]:
    """A controller for each of these texts for `controllerEtcdEndpoints`; they know each other."""
    ports = [free_ports() for _ in endpoints]
    peers = ";".join(f"n{number}-{HOST}:{port}" for number, port in enumerate(ports))
    return [
        our_controller(
            folder / f"n{number}",
            ports[number],
            {
                "controllerDLegerGroup": "g1",
                "controllerDLegerPeers": peers,
                "controllerDLegerSelfId": f"n{number}",
                "controllerEtcdEndpoints": one,
                **(settings or {}),
            },
        )
        for number, one in enumerate(endpoints)
    ]


def our_controller(folder: Path, port: int, settings: Mapping[str, str]) -> Controller:
    """A controller of ours that the peers in its settings give this port."""
    folder.mkdir(parents=True, exist_ok=True)
    program = "from mqgateway.gateway.cli.main import main; main()"
    command = [sys.executable, "-c", program, "controller", "--data-dir", str(folder), "--bind", HOST]
    for name, value in settings.items():
        command += ["--set", f"{name}={value}"]
    env = {"PYTHONPATH": str(ROOT)}
    address = f"{HOST}:{port}"
    return Controller(address, Part(command, folder / "controller.log", "ready", [address], env))
