"""Run the blocks of one page in its order, with the installed package, in a folder of their own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from compat_tests.support.documents import Kind, Page
from compat_tests.support.installed import Installed
from compat_tests.support.processes import free_ports, start_logged, wait_until
from website.blocks import Block, calls, missing_lines

SECONDS = 180
ENDLESS_SECONDS = 3
"""Run time of a command that a reader ends with Ctrl-C."""
FIXED_PORTS = {9876: (0,), 10911: (-2, 0, 1), 11011: (-2, 0, 1), 9878: (0,), 10811: (0,)}
"""Documented ports with the offsets of those that a server opens beside them."""
SINGLE_PORTS = (8081, 8088, 8089, 9092, 5557)
SERVE_FLAGS = (
    "--bind 127.0.0.1 --advertise 127.0.0.1 "
    "--namesrv-port 9876 --broker-port 10911 --grpc-port 8081 --kafka-port 9092 --console-port 8088"
)
_SERVER = re.compile(r"^(?:mqgateway (?:serve|namesrv|broker|container|controller)|mqbroker|mqnamesrv)\b")
_ASKS_ONLY = re.compile(r" (?:-p|--print-config|-h|--help)\b")
_ENDLESS = re.compile(r"^mqgateway consume (?!.*--max)|^mqgateway tail .*-f\b|--watch ")
_SERVES = re.compile(r"\.wait\(\)|for message in consumer")


class Run:
    """A page's folder, ports, processes, and what its last block printed."""

    def __init__(self, installed: Installed, page: Page, folder: Path) -> None:
        self._installed = installed
        self._page = page
        self._folder = folder
        self._ports = _chosen_ports()
        self._servers: list[subprocess.Popen[bytes]] = []
        self.printed = ""

    def __enter__(self) -> Self:
        bin_folder = self._folder / "bin"
        bin_folder.mkdir()
        for name, program in self._page.programs.items():
            (bin_folder / name).write_text(program.replace("{python}", str(self._installed.python)))
            (bin_folder / name).chmod(0o755)
        if self._page.is_served:
            self._serve(f"mqgateway serve {' '.join(f'--set {pair}' for pair in self._page.settings)}")
        if self._page.setup:
            self._shell(self._page.setup)
        return self

    def __exit__(self, *failure: object) -> None:
        for server in reversed(self._servers):
            _end(server)

    def block(self, block: Block) -> None:
        """Run a block, or compare it; raises AssertionError with what is wrong."""
        if setup := self._page.setup_of(block):
            self._shell(setup)
        kind = self._page.kind_of(block)
        if kind is Kind.COMPARED:
            assert not (missing := missing_lines(block.text, self.printed)), (missing, self.printed)
        elif name := self._page.file_of(block):
            (self._folder / name).write_text(self._replaced(block.text))
        elif kind is Kind.PARSED:
            return  # by tests/compat_tests/support/test_documents.py
        elif block.language == "python":
            self._python(block.text)
        elif block.language == "console":
            for call in calls(block.text):
                self._commands(call.command)
                missing = missing_lines(call.output, self.printed)
                assert not missing, (call.command, missing, self.printed)
        else:
            self._commands(block.text)

    def _commands(self, text: str) -> None:
        """Run commands; a server that they start in the foreground stays until the end of the page."""
        lines = text.strip().splitlines()
        last = _command_of(lines[-1])
        if _SERVER.match(last) and not _ASKS_ONLY.search(last) and not last.endswith("&"):
            if lines[:-1]:
                self._shell("\n".join(lines[:-1]))
            self._serve(last)
        else:
            self._shell("\n".join(_endable(_command_of(line)) for line in lines))

    def _serve(self, command: str) -> None:
        log = self._folder / f"server-{len(self._servers)}.log"
        server = start_logged(
            ["bash", "-c", f"exec {self._replaced(_with_flags(command))}"],
            log,
            env=self._environment(),
            cwd=self._folder,
            start_new_session=True,
        )
        self._servers.append(server)

        def is_ready() -> bool:
            assert server.poll() is None, (command, log.read_text())
            return "ready in" in log.read_text()

        wait_until(is_ready, SECONDS, command, 0.05)
        self.printed = log.read_text()

    def _shell(self, text: str) -> None:
        log = self._folder / "shell.log"
        log.unlink(missing_ok=True)
        script = self._replaced("\n".join(_with_flags(line) for line in text.splitlines()))
        shell = start_logged(
            ["bash", "-euo", "pipefail", "-c", script],
            log,
            env=self._environment(),
            cwd=self._folder,
            start_new_session=True,
        )
        # Servers that the commands start in the background are in the shell's session.
        self._servers.append(shell)
        code = shell.wait(SECONDS)
        self.printed = log.read_text(errors="replace")
        assert code == 0, (text, code, self.printed)

    def _python(self, program: str) -> None:
        if "def test_" in program:
            (self._folder / "test_page.py").write_text(self._replaced(program))
            self._shell("python -m pytest -q -p no:cacheprovider test_page.py")
            assert "1 passed" in self.printed, self.printed
            return
        (self._folder / "program.py").write_text(self._replaced(program))
        if _SERVES.search(program):
            self._consumer()
        else:
            self._shell("python -W error::SyntaxWarning program.py")

    def _consumer(self) -> None:
        """Run a program that consumes until SIGTERM, and send messages until it has printed one."""
        log = self._folder / "consumer.log"
        log.unlink(missing_ok=True)
        command = [str(self._installed.python), "-u", "program.py"]
        consumer = start_logged(
            command, log, env=self._environment(), cwd=self._folder, start_new_session=True
        )
        self._servers.append(consumer)
        end = time.monotonic() + SECONDS
        while not log.read_text().strip():
            assert consumer.poll() is None and time.monotonic() < end, "the consumer got no message"
            self._shell("mqgateway send TopicTest hello --tags TagA")
        consumer.send_signal(signal.SIGTERM)
        code = consumer.wait(SECONDS)
        self.printed = log.read_text()
        assert code == 0 and "Traceback" not in self.printed, self.printed

    def _environment(self) -> dict[str, str]:
        left = self._installed.variables()
        for name in [name for name in left if name.startswith(("ROCKETMQ_", "MQGATEWAY_", "XDG_"))]:
            del left[name]
        path = os.pathsep.join((str(self._folder / "bin"), left["PATH"]))
        servers = f"127.0.0.1:{self._ports['9876']}"
        return {**left, "PATH": path, "HOME": str(self._folder), "NAMESRV_ADDR": servers}

    def _replaced(self, text: str) -> str:
        """Return text of the page with this run's ports and folders."""
        for written, path in self._page.paths.items():
            text = text.replace(written, str(self._folder / path))
        return re.sub(r"(?<![\d.])\d{4,5}(?![\d.]|-\d)", lambda port: self._ports.get(port[0], port[0]), text)


def _chosen_ports() -> Mapping[str, str]:
    found: dict[str, str] = {}
    for port, offsets in FIXED_PORTS.items():
        chosen = free_ports(offsets)
        found |= {str(port + offset): str(chosen + offset) for offset in offsets}
    return found | {str(port): str(free_ports()) for port in SINGLE_PORTS}


def _command_of(line: str) -> str:
    """Return a line without its remark, and without the folder that a clone has commands in."""
    return re.sub(r"\s+#\s.*$", "", line).strip().replace("scripts/serve", "mqgateway serve")


def _endable(command: str) -> str:
    if not _ENDLESS.search(command):
        return command
    return f"timeout -s INT {ENDLESS_SECONDS} {command} || [ $? = 124 ]"


def _with_flags(command: str) -> str:
    """Add the ports of this run to servers that would take the usual ones."""
    command = re.sub(r"^mqgateway serve\b", f"mqgateway serve {SERVE_FLAGS}", command)
    return re.sub(r"^mqgateway namesrv\b", "mqgateway namesrv --port 9876 --bind 127.0.0.1", command)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and all of its group, also if it has ended itself and left servers behind."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        end = time.monotonic() + 10
        while _is_alive(process) and time.monotonic() < end:
            time.sleep(0.05)
    process.wait(10)


def _is_alive(process: subprocess.Popen[bytes]) -> bool:
    process.poll()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, group = path.read_text().rpartition(")")[2].split()[:3]
            if int(group) == process.pid and state != "Z":
                return True
    return False


@contextmanager
def running(installed: Installed, page: Page, folder: Path) -> Iterator[Run]:
    """Yield a run of a page; every process that it starts ends with it."""
    with Run(installed, page, folder) as run:
        yield run
