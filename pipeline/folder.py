"""A folder of small files on any file system that Arrow supports: the driver's own, HDFS, S3 and others.

A file is written under a temporary name and renamed, so it exists completely or not at all. It is as durable
as Spark's own files on the same file system.
"""

from __future__ import annotations

import os
import re

from pyarrow import fs

UNFINISHED = ".tmp"
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class ArrowFolder:
    """The folder of a path or URI. Raises `OSError`, and `ValueError` for a URI of an unknown file system."""

    def __init__(self, path: str) -> None:
        if _URI.match(path):
            # Hadoop has other names for S3.
            self._fs, self._path = fs.FileSystem.from_uri(re.sub("^s3[an]:", "s3:", path))
        else:
            self._fs, self._path = fs.LocalFileSystem(), os.path.abspath(path)

    def names(self) -> list[str]:
        """Return the names of the files; none if there is no folder."""
        listed = self._fs.get_file_info(fs.FileSelector(self._path, allow_not_found=True))
        return [one.base_name for one in listed if not one.base_name.endswith(UNFINISHED)]

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        with self._fs.open_input_stream(f"{self._path}/{name}") as file:
            return bytes(file.read())

    def write(self, name: str, data: bytes) -> None:
        """Create a file, and the folder if it does not exist."""
        self._fs.create_dir(self._path, recursive=True)
        path = f"{self._path}/{name}"
        with self._fs.open_output_stream(path + UNFINISHED) as file:
            file.write(data)
        self._fs.move(path + UNFINISHED, path)

    def delete(self, name: str) -> None:
        """Remove a file."""
        self._fs.delete_file(f"{self._path}/{name}")
