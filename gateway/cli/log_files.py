"""Log files by RocketMQ's names: the loggers of each file, and its rotation.

A full file becomes `otherdays/NAME.1.log.gz`. Existing ones move up by one number, and the oldest is
dropped. A thread compresses it, outside the event loop. The next process finishes the work of a killed one.
Standard: `rmq.broker.logback.xml`, `rmq.namesrv.logback.xml`, `rmq.controller.logback.xml`.
"""

from __future__ import annotations

import contextlib
import glob
import gzip
import itertools
import logging
import os
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, ThreadPoolExecutor
from logging.handlers import RotatingFileHandler
from typing import NamedTuple

OLD = "otherdays"
PACKING = ".rolling"
MIB = 1024 * 1024
REST = ""
"""Name of the root logger: lines that belong to no other file."""

WITH_LOGGER = "%(asctime)s %(levelname)s %(name)s - %(message)s"
WITH_LEVEL = "%(asctime)s %(levelname)s - %(message)s"
BARE = "%(asctime)s - %(message)s"
SECONDS = "%Y-%m-%d %H:%M:%S"
"""Format of times, which are local; RocketMQ's are always GMT+8."""


class LogFile(NamedTuple):
    """A file: its loggers, with all below them, and the number of full files of `size` bytes to keep."""

    name: str
    loggers: tuple[str, ...]
    kept: int
    size: int
    text: str = WITH_LOGGER
    level: int = logging.NOTSET


_BROKER, _ENGINE = "mqgateway.gateway.broker", "mqgateway.engine"

BROKER_FILES = (
    LogFile("broker_default", (REST,), 10, 100 * MIB),
    LogFile("broker", (_BROKER, "mqgateway.gateway.container", _ENGINE), 20, 128 * MIB),
    LogFile("store", (f"{_ENGINE}.store",), 10, 128 * MIB),
    LogFile("storeerror", (f"{_ENGINE}.store",), 10, 100 * MIB, level=logging.ERROR),
    LogFile("remoting", ("mqgateway.gateway.remoting",), 10, 100 * MIB),
    LogFile("transaction", (f"{_BROKER}.transactions", f"{_ENGINE}.transactions"), 10, 100 * MIB),
    LogFile("filter", (f"{_ENGINE}.filters",), 10, 100 * MIB),
    LogFile("pop", (f"{_BROKER}.parked_pops", f"{_ENGINE}.pop"), 20, 128 * MIB),
    LogFile("lite", (f"{_BROKER}.lite", f"{_ENGINE}.lite"), 10, 100 * MIB),
    LogFile("coldctr", (f"{_ENGINE}.cold_reads",), 10, 100 * MIB),
    LogFile("protection", (f"{_BROKER}.flow_control", f"{_ENGINE}.slow_consumers"), 10, 100 * MIB, BARE),
    LogFile("stats", ("mqgateway.stats",), 5, 100 * MIB, WITH_LEVEL),
    LogFile("broker_metrics", ("mqgateway.metrics",), 3, 512 * MIB),
    LogFile("auth_audit", ("mqgateway.audit",), 3, 512 * MIB),
)
NAME_SERVER_FILES = (
    LogFile("namesrv_default", (REST,), 5, 100 * MIB),
    LogFile("namesrv", ("mqgateway.gateway.namesrv",), 5, 100 * MIB),
)
CONTROLLER_FILES = (
    LogFile("controller_default", (REST,), 5, 100 * MIB),
    LogFile("controller", ("mqgateway.gateway.controller", f"{_ENGINE}.controller"), 5, 100 * MIB),
)
FILES = {"broker": BROKER_FILES, "namesrv": NAME_SERVER_FILES, "controller": CONTROLLER_FILES}


def files_of(servers: Iterable[str]) -> list[LogFile]:
    """Return the log files of a process that runs these servers, keys of `FILES`.

    The first server's default file has the lines that belong to no other file.
    """
    tables = [FILES[server] for server in servers]
    others = [file for table in tables for file in table if REST not in file.loggers]
    return [tables[0][0], *others]


class RolledFile(RotatingFileHandler):
    """One file in a folder, created with its first line; `packer` compresses full files.

    If a full file cannot be moved, lines are still appended to it, and each line tries again.
    """

    def __init__(self, folder: str, file: LogFile, packer: Executor) -> None:
        super().__init__(
            os.path.join(folder, f"{file.name}.log"), maxBytes=file.size, encoding="utf-8", delay=True
        )
        self._old = os.path.join(folder, OLD, file.name)
        self._kept = file.kept
        self._packer = packer
        self._numbers = itertools.count()
        self.setLevel(file.level)

    def doRollover(self) -> None:
        """Begin a new file and queue the full one for compression."""
        if self.stream is not None:
            self.stream.close()
        # At the end of the process the thread is gone; the next process finds the full file.
        with contextlib.suppress(OSError, RuntimeError):
            os.makedirs(os.path.dirname(self._old), exist_ok=True)
            full = f"{self._old}.{os.getpid()}.{next(self._numbers)}{PACKING}"
            os.rename(self.baseFilename, full)
            self._packer.submit(pack, full, self._old, self._kept)
        self.stream = self._open()

    def finish_earlier(self) -> None:
        """Queue full files of earlier processes for compression, oldest first."""
        left = glob.glob(f"{glob.escape(self._old)}.*{PACKING}")
        for full in sorted(left, key=os.path.getmtime):
            self._packer.submit(pack, full, self._old, self._kept)


def pack(full: str, old: str, kept: int) -> None:
    """Compress the file `full` to `OLD.1.log.gz`, after the existing ones moved up; at most `kept` stay.

    `full` is removed only after the compressed file is complete. On an error of the disk it is kept.
    """
    packed = f"{full}.gz"
    try:
        with open(full, "rb") as source, gzip.open(packed, "wb") as target:
            shutil.copyfileobj(source, target, MIB)
        for number in range(kept - 1, 0, -1):
            if os.path.exists(f"{old}.{number}.log.gz"):
                os.replace(f"{old}.{number}.log.gz", f"{old}.{number + 1}.log.gz")
        os.replace(packed, f"{old}.1.log.gz")
        os.remove(full)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.remove(packed)
        logging.getLogger(__name__).error("%s cannot be compressed: %s", full, error)


class LogFolder(logging.Handler):
    """Handler that writes each line to the files of its logger, in a folder that it creates.

    Raises `OSError` if the folder cannot be created or written.
    """

    def __init__(
        self, folder: str, files: Iterable[LogFile], formatter: Callable[[str], logging.Formatter]
    ) -> None:
        super().__init__()
        os.makedirs(folder, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(f"{folder}: cannot create files in this folder")
        self._packer = ThreadPoolExecutor(1, "logs")
        self._files: list[tuple[LogFile, RolledFile]] = []
        self._found: dict[str, list[RolledFile]] = {}
        for file in files:
            handler = RolledFile(folder, file, self._packer)
            handler.setFormatter(formatter(file.text))
            handler.finish_earlier()
            self._files.append((file, handler))

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler`."""
        handlers = self._found.get(record.name)
        if handlers is None:
            handlers = self._found[record.name] = self._files_of(record.name)
        for handler in handlers:
            if record.levelno >= handler.level:
                handler.handle(record)

    def close(self) -> None:
        """Close the files and wait until full ones are compressed."""
        for _, handler in self._files:
            handler.close()
        self._packer.shutdown()
        super().close()

    def _files_of(self, logger: str) -> list[RolledFile]:
        """Return the files whose logger name is the longest prefix of `logger`."""
        lengths = [
            max((_above(name, logger) for name in file.loggers), default=-1) for file, _ in self._files
        ]
        longest = max(lengths)
        return [
            handler for length, (_, handler) in zip(lengths, self._files, strict=True) if length == longest
        ]


def _above(name: str, logger: str) -> int:
    """Return the length of `name` if it is the logger or a parent of it, else -1."""
    return len(name) if not name or logger == name or logger.startswith(f"{name}.") else -1
