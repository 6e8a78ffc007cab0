"""The error of the codec, and of one record in a batch."""


class CodecError(ValueError):
    """Bytes that are not what the protocol allows, or a value that it cannot carry.

    `position` is the byte the problem was found at, -1 if there is none. `field` is the path of the field,
    outermost first.
    """

    def __init__(self, reason: str, position: int = -1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position
        self._path: list[str] = []

    def within(self, name: str) -> None:
        """Add the name of what encloses the field."""
        self._path.append(name)

    @property
    def field(self) -> str:
        """The path of the field, such as `MetadataRequest v9.topics[3].name`."""
        return ".".join(reversed(self._path)).replace(".[", "[")

    def __str__(self) -> str:
        place = f" at byte {self.position}" if self.position >= 0 else ""
        return f"{self.field or 'kafka'}{place}: {self.reason}"


class BadRecord(CodecError):
    """A record that is malformed. `index` is its number in the batch, -1 if no single record is at fault."""

    def __init__(self, index: int, reason: str, position: int = -1) -> None:
        super().__init__(reason, position)
        self.index = index
        self.within(f"records.[{index}]" if index >= 0 else "records")
