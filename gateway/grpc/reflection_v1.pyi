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

class ServerReflectionRequest(_Message):
    host: str
    file_by_filename: str
    file_containing_symbol: str
    @property
    def file_containing_extension(self) -> ExtensionRequest: ...
    all_extension_numbers_of_type: str
    list_services: str
    def __init__(
        self, *,
        host: str | None = None,
        file_by_filename: str | None = None,
        file_containing_symbol: str | None = None,
        file_containing_extension: ExtensionRequest | None = None,
        all_extension_numbers_of_type: str | None = None,
        list_services: str | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["file_by_filename", "file_containing_symbol", "file_containing_extension", "all_extension_numbers_of_type", "list_services", "message_request"]) -> bool: ...
    def WhichOneof(
        self, oneof_group: Literal["message_request"]
    ) -> Literal["file_by_filename", "file_containing_symbol", "file_containing_extension", "all_extension_numbers_of_type", "list_services"] | None: ...

class ExtensionRequest(_Message):
    containing_type: str
    extension_number: int
    def __init__(
        self, *,
        containing_type: str | None = None,
        extension_number: int | None = None,
    ) -> None: ...

class ServerReflectionResponse(_Message):
    valid_host: str
    @property
    def original_request(self) -> ServerReflectionRequest: ...
    @property
    def file_descriptor_response(self) -> FileDescriptorResponse: ...
    @property
    def all_extension_numbers_response(self) -> ExtensionNumberResponse: ...
    @property
    def list_services_response(self) -> ListServiceResponse: ...
    @property
    def error_response(self) -> ErrorResponse: ...
    def __init__(
        self, *,
        valid_host: str | None = None,
        original_request: ServerReflectionRequest | None = None,
        file_descriptor_response: FileDescriptorResponse | None = None,
        all_extension_numbers_response: ExtensionNumberResponse | None = None,
        list_services_response: ListServiceResponse | None = None,
        error_response: ErrorResponse | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["original_request", "file_descriptor_response", "all_extension_numbers_response", "list_services_response", "error_response", "message_response"]) -> bool: ...
    def WhichOneof(
        self, oneof_group: Literal["message_response"]
    ) -> Literal["file_descriptor_response", "all_extension_numbers_response", "list_services_response", "error_response"] | None: ...

class FileDescriptorResponse(_Message):
    @property
    def file_descriptor_proto(self) -> RepeatedScalarFieldContainer[bytes]: ...
    def __init__(
        self, *,
        file_descriptor_proto: Iterable[bytes] | None = None,
    ) -> None: ...

class ExtensionNumberResponse(_Message):
    base_type_name: str
    @property
    def extension_number(self) -> RepeatedScalarFieldContainer[int]: ...
    def __init__(
        self, *,
        base_type_name: str | None = None,
        extension_number: Iterable[int] | None = None,
    ) -> None: ...

class ListServiceResponse(_Message):
    @property
    def service(self) -> RepeatedCompositeFieldContainer[ServiceResponse]: ...
    def __init__(
        self, *,
        service: Iterable[ServiceResponse] | None = None,
    ) -> None: ...

class ServiceResponse(_Message):
    name: str
    def __init__(
        self, *,
        name: str | None = None,
    ) -> None: ...

class ErrorResponse(_Message):
    error_code: int
    error_message: str
    def __init__(
        self, *,
        error_code: int | None = None,
        error_message: str | None = None,
    ) -> None: ...

