"""Entry point of the resource commands: `mqgateway topic list ...` runs like a command of mqadmin."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.mqadmin.catalogue import Catalogue
from mqgateway.gateway.mqadmin.declaration import Notebook
from mqgateway.gateway.mqadmin.main import console
from mqgateway.gateway.mqadmin.profiles import path_of
from mqgateway.gateway.resources import CATALOGUE, ELSEWHERE, PLACES


class FileNotebook(Notebook):
    """A text in a file that only its user may read."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path

    def read(self) -> str:
        """Return the text, empty if there is no file. Raises `ClientError`."""
        try:
            return self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, ValueError) as error:
            raise ClientError(f"{self._path} cannot be read: {error}") from None

    def write(self, text: str) -> None:
        """Replace the file atomically. Raises `ClientError`."""
        aside = self._path.with_suffix(".new")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(self._path)
        except OSError as error:
            raise ClientError(f"{self._path} cannot be written: {error}") from None


def state_folder() -> Path:
    """Return the folder of persistent state, by the XDG rules."""
    home = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(home).expanduser() / "mqgateway"


def called(arguments: Sequence[str]) -> int:
    """Run a resource command on this process's standard streams. Return the exit code."""
    return console(
        *addressed(arguments),
        notebook=FileNotebook(state_folder() / "offset-resets.jsonl"),
        profiles=FileNotebook(Path(path_of(os.environ))),
    )


def addressed(arguments: Sequence[str]) -> tuple[Sequence[str], Catalogue]:
    """Return arguments and catalogue of a command, or of the overview of a resource's commands."""
    resource, rest = arguments[0], arguments[1:]
    if resource in PLACES:
        return arguments, CATALOGUE
    if not rest or rest[0] in ("-h", "--help", "help"):
        mine = {name: place for name, place in PLACES.items() if name.startswith(f"{resource} ")}
        more = {name: place for name, place in ELSEWHERE.items() if name.startswith(f"{resource} ")}
        return [], replace(CATALOGUE, places=mine, more=more)
    return arguments, CATALOGUE
