"""Archives of loaded classes, with which a JVM has less to do when it starts.

The JVM that runs a program of which there is no archive writes one when it ends in good order; it is kept in
the cache folder, and later JVMs map it. One that does not fit is ignored by the JVM, which then starts as it
does without.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
from pathlib import Path

from compat_tests.artifacts import cache_folder

IN_GOOD_ORDER = (0, 128 + 15)
"""Exit codes of a JVM that came to its end, or was asked to end by SIGTERM."""

QUIET = ("-Xlog:disable", "-Xlog:all=error:stderr")
"""What a JVM says of archives may not come between what the program says."""


class Archive:
    """The archive of one program on one Java; ``folder`` is where its JVM may write."""

    _numbers = itertools.count(1)

    def __init__(self, name: str, class_path: str, java: str, folder: Path) -> None:
        places = [Path(entry.removesuffix("/*")) for entry in class_path.split(":")]
        states = [f"{place} {place.stat().st_mtime_ns}" for place in places]  # a JVM looks at times, too
        digest = hashlib.sha256("\n".join([java, *states]).encode()).hexdigest()[:12]
        self._kept = cache_folder() / "archives" / f"{name}-{digest}.jsa"
        self._written = folder / f"{name}-{os.getpid()}-{next(self._numbers)}.jsa"

    def options(self) -> list[str]:
        """What to tell a JVM that starts now."""
        if self._kept.exists():
            return [*QUIET, "-Xshare:auto", f"-XX:SharedArchiveFile={self._kept}"]
        return [*QUIET, f"-XX:ArchiveClassesAtExit={self._written}"]

    def keep(self, exit_code: int) -> None:
        """Keep what a JVM has written that has ended, unless it was cut short or another was quicker."""
        if not self._written.exists():
            return
        if exit_code in IN_GOOD_ORDER and not self._kept.exists():
            self._kept.parent.mkdir(exist_ok=True)
            aside = self._kept.with_name(self._written.name)
            shutil.copyfile(self._written, aside)
            aside.rename(self._kept)
        self._written.unlink()
