"""What can go wrong in the engine, by cause; callers branch on the class, people read the text."""


class EngineError(Exception):
    """Base of all errors the engine raises on purpose."""


class ConfigError(EngineError):
    """A setting or a table file that cannot be used."""


class StoreError(EngineError):
    """The store cannot do what was asked."""


class MessageIllegal(StoreError):
    """A message that may not be stored: too large, wrong topic, malformed batch element."""


class StoreUnavailable(StoreError):
    """The store takes no writes at the moment; the text says why and, where it helps, the path."""


class CorruptFile(StoreError):
    """Bytes on disk that contradict their format: names the file and the offset."""

    def __init__(self, path: str, offset: int, what: str) -> None:
        super().__init__(f"{path} at byte {offset}: {what}")
        self.path = path
        self.offset = offset
        self.what = what


class FilterError(EngineError):
    """A subscription's expression that cannot be read."""


class LogBusy(EngineError):
    """A log takes nothing at the moment: too much is under way, or another one is about to write it."""
