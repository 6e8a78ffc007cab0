# Made by scripts/messages.py from the .proto files; do not edit.
from collections.abc import Iterable, Mapping
from typing import ClassVar, Literal

from google.protobuf.duration_pb2 import Duration as Duration
from google.protobuf.internal.containers import (
    MessageMap,
    RepeatedCompositeFieldContainer,
    RepeatedScalarFieldContainer,
    ScalarMap,
)
from google.protobuf.message import Message as _Message
from google.protobuf.timestamp_pb2 import Timestamp as Timestamp

class _Enum(int):
    @classmethod
    def Name(cls, number: int) -> str: ...
    @classmethod
    def keys(cls) -> list[str]: ...

class HealthCheckRequest(_Message):
    service: str
    def __init__(
        self, *,
        service: str | None = None,
    ) -> None: ...

class HealthCheckResponse(_Message):
    class ServingStatus(_Enum):
        @classmethod
        def Value(cls, name: str) -> HealthCheckResponse.ServingStatus: ...
        @classmethod
        def values(cls) -> list[HealthCheckResponse.ServingStatus]: ...
        UNKNOWN: ClassVar[HealthCheckResponse.ServingStatus]
        SERVING: ClassVar[HealthCheckResponse.ServingStatus]
        NOT_SERVING: ClassVar[HealthCheckResponse.ServingStatus]
        SERVICE_UNKNOWN: ClassVar[HealthCheckResponse.ServingStatus]

    UNKNOWN: ClassVar[HealthCheckResponse.ServingStatus]
    SERVING: ClassVar[HealthCheckResponse.ServingStatus]
    NOT_SERVING: ClassVar[HealthCheckResponse.ServingStatus]
    SERVICE_UNKNOWN: ClassVar[HealthCheckResponse.ServingStatus]
    status: HealthCheckResponse.ServingStatus
    def __init__(
        self, *,
        status: HealthCheckResponse.ServingStatus | None = None,
    ) -> None: ...

class HealthListRequest(_Message):
    def __init__(
        self
    ) -> None: ...

class HealthListResponse(_Message):
    @property
    def statuses(self) -> MessageMap[str, HealthCheckResponse]: ...
    def __init__(
        self, *,
        statuses: Mapping[str, HealthCheckResponse] | None = None,
    ) -> None: ...

