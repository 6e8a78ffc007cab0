"""A right object store in memory; tests derive wrong ones from it."""

from collections.abc import Iterator
from threading import Lock

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.tier.object_store import ObjectExists, ObjectMissing, check_name


class MemoryObjects:
    """Objects in a dictionary."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self._lock = Lock()

    def create(self, name: str, data: bytes) -> None:
        with self._lock:
            if check_name(name) in self.objects:
                raise ObjectExists(name)
            self.objects[name] = data

    def put(self, name: str, data: bytes) -> None:
        self.objects[check_name(name)] = data

    def get_range(self, name: str, start: int, length: int) -> bytes:
        if name not in self.objects:
            raise ObjectMissing(name)
        data = self.objects[name][start : start + length]
        if len(data) < length:
            raise CorruptFile(name, start, "too short")
        return data

    def list_from(self, prefix: str, after: str = "") -> Iterator[tuple[str, int]]:
        for name, data in sorted(self.objects.items()):
            if name.startswith(prefix) and name > after:
                yield name, len(data)

    def delete(self, name: str) -> None:
        self.objects.pop(name, None)

    def head(self, name: str) -> int | None:
        data = self.objects.get(name)
        return None if data is None else len(data)
