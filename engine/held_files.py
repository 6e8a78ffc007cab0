"""File contents partly kept in memory, over the disk's: see `engine.overlay`.

`Content` is one file's: written pages over the valid prefix of the file below. A prefix may be one piece of
memory, for windows. Offsets and sizes in bytes.
"""

from __future__ import annotations

from mqgateway.engine.disk import File

PAGE = 4096


class Content:
    """Content of a file; `below` is the file on the disk, if there is one, which is only read."""

    def __init__(self, below: File | None) -> None:
        self.below = below
        self.size = below.size() if below is not None else 0
        self.window = bytearray()
        self._valid = self.size
        self._pages: dict[int, bytearray] = {}

    @property
    def held(self) -> int:
        """Bytes of memory used."""
        return len(self._pages) * PAGE + len(self.window)

    def read(self, offset: int, size: int) -> bytes:
        """Read as `File.read`."""
        end = min(offset + size, self.size)
        if end <= offset:
            return b""
        if not self._pages and not self.window:
            return self._read_below(offset, end)
        parts = []
        while offset < end:
            if offset < len(self.window):
                stop = min(end, len(self.window))
                parts.append(bytes(self.window[offset:stop]))
            else:
                number, at = divmod(offset, PAGE)
                stop = min(end, (number + 1) * PAGE)
                page = self._pages.get(number)
                if page is None:
                    stop = self._until_next_page(number, end)
                    parts.append(self._read_below(offset, stop))
                else:
                    parts.append(bytes(page[at : at + stop - offset]))
            offset = stop
        return b"".join(parts)

    def _until_next_page(self, number: int, end: int) -> int:
        """Return the end of the unwritten bytes that begin at a page."""
        last = -(-end // PAGE)
        if last - number > len(self._pages):
            later = [each for each in self._pages if number < each < last]
            return min(end, min(later) * PAGE) if later else end
        while number < last and number not in self._pages:
            number += 1
        return min(end, number * PAGE)

    def _read_below(self, offset: int, end: int) -> bytes:
        stop = min(end, self._valid)
        data = self.below.read(offset, stop - offset) if self.below is not None and stop > offset else b""
        return data.ljust(end - offset, b"\0")

    def write(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        """Write as `File.write`."""
        at, end = 0, offset + len(data)
        while offset < end:
            if offset < len(self.window):
                stop = min(end, len(self.window))
                self.window[offset:stop] = data[at : at + stop - offset]
            else:
                number, begin = divmod(offset, PAGE)
                stop = min(end, (number + 1) * PAGE)
                page = self._page(number)
                page[begin : begin + stop - offset] = data[at : at + stop - offset]
            at += stop - offset
            offset = stop
        self.size = max(self.size, end)

    def _page(self, number: int) -> bytearray:
        page = self._pages.get(number)
        if page is None:
            begin = number * PAGE
            page = self._pages[number] = bytearray(self._read_below(begin, begin + PAGE))
        return page

    def truncate(self, size: int) -> None:
        """Truncate as `File.truncate`."""
        if size < self.size:
            self._valid = min(self._valid, size)
            for number in [each for each in self._pages if each >= size // PAGE]:
                page = self._pages.pop(number)
                if number * PAGE < size:
                    kept = size - number * PAGE
                    self._pages[number] = page[:kept].ljust(PAGE, b"\0")
            if size < len(self.window):
                self.window[size:] = bytes(len(self.window) - size)
        self.size = size

    def open_window(self, size: int) -> bytearray:
        """Return the first `size` bytes as memory; always the same object."""
        if size > len(self.window):
            self.window.extend(self.read(len(self.window), size).ljust(size - len(self.window), b"\0"))
        self.size = max(self.size, size)
        return self.window

    def used(self) -> int:
        """See `File.used`."""
        below = 0 if self.below is None else min(self.below.used(), self._valid)
        last = (max(self._pages, default=-1) + 1) * PAGE
        return min(self.size, max(below, last, len(self.window)))
