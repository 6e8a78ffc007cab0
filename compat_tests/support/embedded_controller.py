"""Two broker groups of one member each in controller mode, and a name server with the controller in it."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

from compat_tests.support.artifacts import OPENS, class_path
from compat_tests.support.processes import free_ports, wait_until
from compat_tests.support.servers import (
    CLUSTER_NAME,
    HOST,
    QUICK_JVM,
    ROOT,
    Part,
    apache_broker,
    our_broker,
    registered,
)

NAMES = ("broker-a", "broker-b")
SECONDS = 90


class Controlled:
    """The servers of a kind; they run while it is entered."""

    def __init__(self, kind: str, folder: Path) -> None:
        self._stack = ExitStack()
        port, controller = free_ports(), free_ports()
        self.namesrv_address = f"{HOST}:{port}"
        self.controller_address = f"{HOST}:{controller}"
        self.broker_addresses = []
        settings = {
            "enableControllerInNamesrv": "true",
            "controllerDLegerGroup": "group1",
            "controllerDLegerPeers": f"n0-{self.controller_address}",
            "controllerDLegerSelfId": "n0",
            "controllerStorePath": str(folder / "controller"),
        }
        start = _apache_namesrv if kind == "apache" else _our_namesrv
        addresses = [self.namesrv_address, self.controller_address]
        self._parts = [start(folder / "namesrv", port, settings, addresses)]
        make = apache_broker if kind == "apache" else our_broker
        for name in NAMES:
            port = free_ports((-2, 0, 1))
            overrides = {"enableControllerMode": "true", "controllerAddr": self.controller_address}
            overrides |= {"brokerName": name, "haListenPort": str(port + 1)}
            self.broker_addresses.append(f"{HOST}:{port}")
            self._parts.append(make(folder / name, port, self.namesrv_address, overrides))

    def words(self) -> dict[str, str]:
        """Return the placeholders in calls of mqadmin, each with its server's name or address."""
        named = {"NAME": NAMES[0], "OTHER": NAMES[1], "CLUSTER": CLUSTER_NAME}
        return {**named, "CONTROLLER": self.controller_address, "BROKER": self.broker_addresses[0]}

    def __enter__(self) -> Controlled:
        for part in self._parts:
            part.start()
            self._stack.callback(part.kill9)
        wait_until(lambda: registered(self.namesrv_address) >= set(NAMES), SECONDS, "both have registered")
        return self

    def __exit__(self, *failure: object) -> None:
        self._stack.close()


def _apache_namesrv(folder: Path, port: int, settings: dict[str, str], addresses: list[str]) -> Part:
    folder.mkdir(parents=True, exist_ok=True)
    chosen = {"listenPort": str(port), "bindAddress": HOST, **settings}
    config = folder / "namesrv.conf"
    config.write_text("".join(f"{name}={value}\n" for name, value in chosen.items()))
    jvm = ["-Xms128m", "-Xmx512m", *QUICK_JVM, *OPENS, f"-Duser.home={folder}"]
    command = ["java", *jvm, "-cp", class_path("server"), "org.apache.rocketmq.namesrv.NamesrvStartup"]
    env = {"ROCKETMQ_HOME": str(folder)}
    return Part([*command, "-c", str(config)], folder / "namesrv.log", "boot success", addresses, env)


def _our_namesrv(folder: Path, port: int, settings: dict[str, str], addresses: list[str]) -> Part:
    folder.mkdir(parents=True, exist_ok=True)
    program = "from mqgateway.gateway.cli.main import main; main()"
    command = [sys.executable, "-c", program, "namesrv", "--data-dir", str(folder), "--bind", HOST]
    command += ["--port", str(port)]
    for name, value in settings.items():
        command += ["--set", f"{name}={value}"]
    env = {"PYTHONPATH": str(ROOT)}
    return Part(command, folder / "namesrv.log", "ready", addresses, env)
