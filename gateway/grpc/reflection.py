"""Server reflection: what services and messages there are, for tools such as grpcurl.

`grpc.reflection.v1` and `v1alpha` are the same on the wire.
"""

from __future__ import annotations

from google.protobuf.descriptor_pb2 import FileDescriptorProto

from mqgateway.gateway.grpc import messages
from mqgateway.gateway.grpc.call import Bidirectional, GrpcCall, Incoming, Methods, Status
from mqgateway.gateway.grpc.reflection_v1 import (
    ErrorResponse,
    ExtensionNumberResponse,
    FileDescriptorResponse,
    ListServiceResponse,
    ServerReflectionRequest,
    ServerReflectionResponse,
    ServiceResponse,
)

SERVICES = ("grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection")


def reflection(others: Methods) -> Methods:
    """Return the methods of reflection, for a server that has these methods beside it."""
    services = sorted({*SERVICES, *(path.split("/")[1] for path in others)})

    def begin(call: GrpcCall) -> Incoming:
        return _Questions(services, call)

    return {
        f"/{service}/ServerReflectionInfo": Bidirectional(ServerReflectionRequest, begin)
        for service in SERVICES
    }


class _Questions:
    """One client's questions."""

    def __init__(self, services: list[str], call: GrpcCall) -> None:
        self._services = services
        self._call = call

    def received(self, message: ServerReflectionRequest) -> None:
        """See `Incoming`."""
        answer = ServerReflectionResponse(valid_host=message.host, original_request=message)
        try:
            self._fill(answer, message)
        except KeyError as error:
            answer.error_response.CopyFrom(
                ErrorResponse(error_code=Status.NOT_FOUND, error_message=f"not found: {error.args[0]}")
            )
        self._call.send(answer)

    def half_closed(self) -> None:
        """See `Incoming`."""
        self._call.finish()

    def _fill(self, answer: ServerReflectionResponse, message: ServerReflectionRequest) -> None:
        asked = message.WhichOneof("message_request")
        if asked == "list_services":
            names = [ServiceResponse(name=name) for name in self._services]
            answer.list_services_response.CopyFrom(ListServiceResponse(service=names))
        elif asked == "file_by_filename":
            answer.file_descriptor_response.CopyFrom(_files(_by_name(message.file_by_filename)))
        elif asked == "file_containing_symbol":
            answer.file_descriptor_response.CopyFrom(_files(_by_symbol(message.file_containing_symbol)))
        elif asked == "all_extension_numbers_of_type":
            name = message.all_extension_numbers_of_type
            _by_symbol(name)
            answer.all_extension_numbers_response.CopyFrom(ExtensionNumberResponse(base_type_name=name))
        elif asked == "file_containing_extension":
            raise KeyError(message.file_containing_extension.containing_type)
        else:
            raise KeyError("an empty request")


def _by_name(name: str) -> FileDescriptorProto:
    """Return a file. Raises KeyError."""
    for file in messages.FILES.file:
        if file.name == name:
            return file
    raise KeyError(name)


def _by_symbol(name: str) -> FileDescriptorProto:
    """Return the file of a message, enumeration, service, method, field. Raises KeyError."""
    try:
        return _by_name(messages.POOL.FindFileContainingSymbol(name).name)
    except KeyError:
        raise KeyError(name) from None


def _files(file: FileDescriptorProto) -> FileDescriptorResponse:
    """Return a file and all that it imports, once each."""
    seen: dict[str, bytes] = {}

    def add(one: FileDescriptorProto) -> None:
        if one.name not in seen:
            seen[one.name] = one.SerializeToString()
            for name in one.dependency:
                add(_by_name(name))

    add(file)
    return FileDescriptorResponse(file_descriptor_proto=seen.values())
