"""Check that other users cannot read the store; new files and directories are for their owner only."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from mqgateway.engine.disk import Disk, open_to_others

log = logging.getLogger(__name__)


def warn_if_others_may_read(disk: Disk, root: str, files: Sequence[str]) -> None:
    """Log a warning once if an older version or another broker made the store at `root` readable.

    Checks `files` and the tables. Existing files keep their modes, as other programs may rely on them.
    """
    tables = [f"{root}/config/{name}" for name in disk.listdir(f"{root}/config")]
    found = open_to_others(disk, root, [*files, *tables])
    if found:
        log.warning(
            "%s and perhaps more of %s may be read by other users; chmod -R go-rwx %s changes that",
            found,
            root,
            root,
        )
