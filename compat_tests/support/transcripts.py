"""Transcripts of Apache's servers, kept beside the suite, so that a comparison of both servers need not run
them again.

A comparison does the same on both servers and compares two transcripts. Apache's server does not change:
while the digest of a file of scenarios is that of its kept transcripts, only this server does the work. The
digest is that of `record`. `--apache all` does it on Apache's server again, and `--record-apache` keeps the
result.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from compat_tests.support.record import FOLDER, digest_of

TRANSCRIPTS = FOLDER / "transcripts"


class Transcripts:
    """The kept transcripts: a JSON file for each file of scenarios, with its digest.

    Args:
        folder: Where they are.
        is_apache_asked: Do the work on Apache's server even if there is a transcript.
        is_recording: Keep what comes of it.
    """

    def __init__(
        self, folder: Path = TRANSCRIPTS, *, is_apache_asked: bool = False, is_recording: bool = False
    ) -> None:
        self._folder = folder
        self._is_apache_asked = is_apache_asked
        self._is_recording = is_recording
        self._lock = threading.Lock()

    def both(self, module: str, title: str, make: Callable[[str], Any]) -> tuple[Any, Any]:
        """Return the transcripts of Apache's server and of this one, in that order; see `of`."""
        return self.of(module, title, "apache", make), self.of(module, title, "ours", make)

    def of(self, module: str, title: str, kind: str, make: Callable[[str], Any]) -> Any:
        """Return the transcript of a server, as JSON has it.

        Args:
            module: `__name__` of the file of scenarios.
            title: Name of the transcript among those of the file.
            kind: The server: `apache` or `ours`.
            make: Called with the kind if there is no kept transcript.
        """
        if kind != "apache":
            return plain(make(kind))
        stem = module.partition(".")[2]
        kept = None if self._is_apache_asked else self._kept(stem, title)
        if kept is not None:
            return kept
        made = plain(make(kind))
        if self._is_recording:
            self._keep(stem, title, made)
        return made

    def _kept(self, stem: str, title: str) -> Any:
        """Return a transcript, or None if there is none with today's digest."""
        return self._read(stem)["transcripts"].get(title)

    def _read(self, stem: str) -> dict[str, Any]:
        path, digest = self._path(stem), digest_of(stem)
        document: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        return document if document.get("digest") == digest else {"digest": digest, "transcripts": {}}

    def _keep(self, stem: str, title: str, transcript: Any) -> None:
        """Write a transcript; those of other sources of the file are dropped."""
        with self._lock:
            document = self._read(stem)
            document["date"] = datetime.now(UTC).date().isoformat()
            document["transcripts"][title] = transcript
            path = self._path(stem)
            path.parent.mkdir(exist_ok=True)
            aside = path.with_name(f"{path.name}.{os.getpid()}")
            aside.write_text(_text(document))
            aside.replace(path)

    def _path(self, stem: str) -> Path:
        return self._folder / f"{stem}.json"


def _text(document: dict[str, Any]) -> str:
    """Return a document as JSON with a line for each transcript."""
    head = f'{{"digest": {json.dumps(document["digest"])}, "date": {json.dumps(document["date"])}'
    lines = [
        f" {json.dumps(title)}: {json.dumps(one, sort_keys=True, ensure_ascii=False)}"
        for title, one in sorted(document["transcripts"].items())
    ]
    return f'{head}, "transcripts": {{\n' + ",\n".join(lines) + "\n}}\n"


def plain(value: Any) -> Any:
    """Return a value as JSON has it: tuples are lists, bytes and other objects their representations."""
    return json.loads(json.dumps(value, default=repr))
