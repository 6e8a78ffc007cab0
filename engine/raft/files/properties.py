"""The small files beside the data of a member: lines `name=value`, written whole and kept with a backup.

    checkpoint   committedIndex, endIndex
    currterm     currTerm, voteLeader (empty when there is none)

RocketMQ: `IOUtils.string2File`, `properties2String`; `DLedgerMmapFileStore.persistCheckPoint`,
`MemberState.persistTerm`.
"""

from __future__ import annotations

from typing import NamedTuple

from mqgateway.engine.disk import Disk
from mqgateway.engine.tables.jsonfile import write_table


class MemberProperties(NamedTuple):
    """Content of the files of a member; -1 for a missing value.

    `committed` and `end` are indexes of entries, noted from time to time; `vote` is the id of the candidate
    that got the member's vote in `term`.
    """

    committed: int = -1
    end: int = -1
    term: int = -1
    vote: str = ""

    @property
    def known(self) -> int:
        """The latest entry that is known to have existed."""
        return max(self.committed, self.end)


def read_noted(disk: Disk, folder: str) -> MemberProperties:
    """Read the files in a member's folder. Raises `OSError`."""
    progress = _read(disk, f"{folder}/checkpoint")
    voted = _read(disk, f"{folder}/currterm")
    return MemberProperties(
        _number(progress, "committedIndex"),
        _number(progress, "endIndex"),
        _number(voted, "currTerm"),
        voted.get("voteLeader", ""),
    )


def write_progress(disk: Disk, folder: str, committed: int, end: int) -> None:
    """Write the progress of a member. Raises `OSError`."""
    _write(disk, f"{folder}/checkpoint", {"committedIndex": str(committed), "endIndex": str(end)})


def write_vote(disk: Disk, folder: str, term: int, vote: str) -> None:
    """Write term and vote; they are on stable storage when this returns. Raises `OSError`."""
    _write(disk, f"{folder}/currterm", {"voteLeader": vote, "currTerm": str(term)})


def _read(disk: Disk, path: str) -> dict[str, str]:
    """Return the properties of a file, or of its backup if it is missing or empty."""
    for name in (path, f"{path}.bak"):
        text = disk.read_bytes(name) if disk.exists(name) else b""
        lines = text.decode("utf-8", "replace").splitlines()
        pairs = (line.partition("=") for line in lines if not line.startswith("#"))
        found = {key.strip(): value.strip() for key, equals, value in pairs if equals}
        if found:
            return found
    return {}


def _write(disk: Disk, path: str, properties: dict[str, str]) -> None:
    write_table(disk, path, "".join(f"{name}={value}\n" for name, value in properties.items()).encode())


def _number(properties: dict[str, str], name: str) -> int:
    value = properties.get(name, "")
    return int(value) if value.isdecimal() and value.isascii() else -1
