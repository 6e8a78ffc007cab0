"""Server reflection in memory: its answers suffice to make calls."""

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from mqgateway.gateway.grpc.reflection import SERVICES, reflection
from mqgateway.gateway.grpc.reflection_v1 import (
    ExtensionRequest,
    ServerReflectionRequest,
    ServerReflectionResponse,
)
from tests.support.gateway.grpc.client import Client, framed, messages


def ask(*requests: ServerReflectionRequest, service: str = SERVICES[0]) -> list[ServerReflectionResponse]:
    client = Client()
    client.settings.methods = {**client.settings.methods, **reflection(client.settings.methods)}
    stream = client.open(f"/{service}/ServerReflectionInfo")
    for request in requests:
        client.h2.send_data(stream, framed(request.SerializeToString()))
        client.pump()
    client.h2.end_stream(stream)
    client.pump()
    answer = client.answers[stream]
    assert answer.status == 0
    return [ServerReflectionResponse.FromString(one) for one in messages(answer.data)]


@pytest.mark.parametrize("service", SERVICES)
def test_services_are_listed(service: str) -> None:
    [answer] = ask(ServerReflectionRequest(host="h", list_services=""), service=service)
    names = [one.name for one in answer.list_services_response.service]
    assert names == sorted([*SERVICES, "test.S"])
    assert (answer.valid_host, answer.original_request.host) == ("h", "h")


def test_files_of_symbol_are_complete() -> None:
    symbol = "apache.rocketmq.v2.MessagingService"
    [answer] = ask(ServerReflectionRequest(file_containing_symbol=symbol))
    files = [
        FileDescriptorProto.FromString(one) for one in answer.file_descriptor_response.file_descriptor_proto
    ]
    assert files[0].name == "apache/rocketmq/v2/service.proto"
    assert len({one.name for one in files}) == len(files)
    pool = DescriptorPool()
    known: set[str] = set()
    while files:
        ready = [one for one in files if known.issuperset(one.dependency)]
        for file in ready:
            pool.Add(file)
            known.add(file.name)
            files.remove(file)
    method = pool.FindServiceByName(symbol).methods_by_name["SendMessage"]
    assert GetMessageClass(method.input_type)().DESCRIPTOR.full_name.endswith("SendMessageRequest")
    [by_name] = ask(ServerReflectionRequest(file_by_filename="apache/rocketmq/v2/service.proto"))
    assert by_name.file_descriptor_response == answer.file_descriptor_response


def test_unknown_symbols_are_not_found() -> None:
    answers = ask(
        ServerReflectionRequest(file_containing_symbol="no.such"),
        ServerReflectionRequest(file_by_filename="no.proto"),
        ServerReflectionRequest(all_extension_numbers_of_type="no.such"),
        ServerReflectionRequest(
            file_containing_extension=ExtensionRequest(containing_type="a.B", extension_number=1)
        ),
        ServerReflectionRequest(),
    )
    assert [(one.error_response.error_code, one.error_response.error_message) for one in answers] == [
        (5, "not found: no.such"),
        (5, "not found: no.proto"),
        (5, "not found: no.such"),
        (5, "not found: a.B"),
        (5, "not found: an empty request"),
    ]


def test_messages_have_no_extensions() -> None:
    name = "apache.rocketmq.v2.Message"
    [answer] = ask(ServerReflectionRequest(all_extension_numbers_of_type=name))
    assert answer.all_extension_numbers_response.base_type_name == name
    assert not answer.all_extension_numbers_response.extension_number
