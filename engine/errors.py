"""Errors of the engine, by cause. Callers branch on the class; the text is for people."""


class EngineError(Exception):
    """Base of all errors the engine raises on purpose."""


class ConfigError(EngineError):
    """A setting or a table file that cannot be used."""


class StoreError(EngineError):
    """The store cannot carry out a request."""


class MessageIllegal(StoreError):
    """A message that may not be stored: too large, wrong topic, malformed batch element."""


class StoreUnavailable(StoreError):
    """The store refuses writes now; the text has the reason and, if useful, the path."""


class CorruptFile(StoreError):
    """Bytes on disk that contradict their format: names the file and the offset."""

    def __init__(self, path: str, offset: int, what: str) -> None:
        super().__init__(f"{path} at byte {offset}: {what}")
        self.path = path
        self.offset = offset
        self.what = what


class FilterError(EngineError):
    """A subscription's expression cannot be parsed."""


class LogBusy(EngineError):
    """A log refuses writes now: too much is in flight, or another writer is about to write it."""
