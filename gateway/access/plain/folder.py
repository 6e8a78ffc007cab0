"""All files of rules: `conf/plain_acl.yml` of the installation folder, and each below `conf/acl`.

Everything here waits for the disk: on a worker once the broker runs. RocketMQ: `PlainPermissionManager.load`,
`AclFileWatchService`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.tables.jsonfile import take_place, write_aside
from mqgateway.gateway.access.plain.documents import Document, Tree, changed_document, read_document

MAX_FILES = 256
MAX_LEVELS = 8
_ENDINGS = (".yml", ".yaml")
_OF_TOOLS = "tools.yml"
_NEVER = (-1, -1)
"""The stamp of a file that must be read again, because the disk failed."""


class KnownFile(NamedTuple):
    """A file when it was read: time of its last change, and size; its content, None if it never had one."""

    stamp: tuple[int, int]
    document: Document | None


Files = Mapping[str, KnownFile]
"""Files by path; an access key belongs to the first file that has it."""


class AclFolder:
    """The files below one installation folder."""

    def __init__(self, disk: Disk, options: BrokerOptions, clock: Clock) -> None:
        home = options.rocketmq_home
        self._disk = disk
        self._options = options
        self._clock = clock
        self._below = os.path.join(home, "conf", "acl")
        self.main = os.path.join(home, options.acl_plain_file)
        """The file to which new accounts are added."""

    def read(self, known: Files) -> tuple[Files, list[str]]:
        """Return the content of the files, and the errors of those that have changed, each with its place.

        A file that cannot be read, or is empty, keeps its last content. Raises `ConfigError` if there are too
        many files, and `OSError` if they cannot be listed.
        """
        found: dict[str, KnownFile] = {}
        problems: list[str] = []
        for path in self._paths():
            before = known.get(path)
            try:
                stamp = self._stamp(path)
                if before is not None and before.stamp == stamp:
                    found[path] = before
                    continue
                document = self._document(path)
            except FileNotFoundError:
                continue
            except OSError as error:
                problems.append(f"{path} cannot be read: {error}")
                found[path] = KnownFile(_NEVER, None if before is None else before.document)
                continue
            except ConfigError as error:
                problems.append(str(error))
                found[path] = KnownFile(stamp, None if before is None else before.document)
                continue
            if document is None and before is not None and before.document is not None:
                problems.append(f"{path} is empty")
                document = before.document
            found[path] = KnownFile(stamp, document)
        return found, problems

    def change(self, path: str, edit: Callable[[Tree], Tree]) -> KnownFile:
        """Change a file, empty if there is none. It or the one before it survives a power cut.

        The result is parsed before it is written, so no unusable file is left. It has the next version, and
        only its owner may read it. Raises `ConfigError` and `OSError`.
        """
        document = self._document(path) if self._disk.exists(path) else None
        tree = {} if document is None else document.tree
        changed, text = changed_document(path, edit(tree), self._clock.millis(), self._options)
        aside = f"{path}.tmp"
        if self._disk.exists(aside):
            self._disk.unlink(aside)  # left by a change that a power cut ended, perhaps readable by others
        write_aside(self._disk, path, [text])
        take_place(self._disk, path)
        return KnownFile(self._stamp(path), changed)

    def _document(self, path: str) -> Document | None:
        return read_document(path, self._disk.read_bytes(path), self._clock.millis(), self._options)

    def _stamp(self, path: str) -> tuple[int, int]:
        return self._disk.modified(path), self._disk.size(path)

    def _paths(self) -> list[str]:
        """Return the files, the main one last. Raises `ConfigError`."""
        below = (path for path in self._files_in(self._below, MAX_LEVELS) if path != self.main)
        paths = list(islice(below, MAX_FILES + 1))
        if len(paths) > MAX_FILES:
            raise ConfigError(f"{self._below}: there are more than {MAX_FILES} files")
        return [*paths, self.main] if self._disk.exists(self.main) else paths

    def _files_in(self, folder: str, levels: int) -> Iterator[str]:
        for name in self._disk.listdir(folder):
            path = os.path.join(folder, name)
            if name.startswith("."):
                continue  # of editors, and the entries that Kubernetes keeps beside the named ones
            if self._disk.is_dir(path):
                if levels:
                    yield from self._files_in(path, levels - 1)
            elif name.endswith(_ENDINGS) and not (folder == self._below and name == _OF_TOOLS):
                yield path
