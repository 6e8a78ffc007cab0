"""Whether users other than the store's own may read it; new files and folders are for their owner alone."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from mqgateway.engine.disk import Disk, open_to_others

log = logging.getLogger(__name__)


def warn_if_others_may_read(disk: Disk, root: str, files: Sequence[str]) -> None:
    """Say so once, where an older version or another broker made the store at `root`.

    Looked at are `files` and the tables; files that are there keep their modes, as somebody may rely on them.
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
