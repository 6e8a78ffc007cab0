"""Classes made of the committed descriptions, and the descriptions against the .proto files."""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest
from google.protobuf import descriptor_pool, duration_pb2, timestamp_pb2
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.grpc import health_v1, messages, v2
from tests.house.source import ROOT

SCRIPT = ROOT / "scripts" / "messages.py"


def made() -> dict[Path, bytes]:
    """Return the output of `scripts/messages.py`."""
    pytest.importorskip("grpc_tools")
    loader = SourceFileLoader("made_messages", str(SCRIPT))
    module = module_from_spec(spec_from_loader("made_messages", loader))  # type: ignore[arg-type]
    loader.exec_module(module)
    files: dict[Path, bytes] = module.files()
    return files


def test_committed_descriptions_equal_proto_files() -> None:
    for path, content in made().items():
        if path.suffix == ".binpb":
            # Parsed again, because the order of fields in the bytes is not guaranteed.
            assert FileDescriptorSet.FromString(content) == messages.FILES
        else:
            assert path.read_bytes() == content, f"{path.name}: run scripts/messages.py"


def test_type_stubs_are_complete() -> None:
    stub = (ROOT / "gateway/grpc/v2.pyi").read_text()
    for name, made_class in messages.names_of("apache.rocketmq.v2").items():
        if f"import {name} as" not in stub:
            assert f"class {name}(" in stub
            for field in getattr(getattr(made_class, "DESCRIPTOR", None), "fields_by_name", ()):
                assert f" {field}:" in stub or f"def {field}(self)" in stub


@given(st.text(), st.binary(), st.dictionaries(st.text(), st.text()), st.integers(0, 2**47))
def test_messages_round_trip(topic: str, body: bytes, user: dict[str, str], millis: int) -> None:
    message = v2.Message(topic=v2.Resource(name=topic), body=body, user_properties=user)
    message.system_properties.born_timestamp.FromMilliseconds(millis)
    request = v2.SendMessageRequest(messages=[message])
    read = v2.SendMessageRequest.FromString(request.SerializeToString())
    assert read == request
    assert read.messages[0].system_properties.born_timestamp.ToMilliseconds() == millis


def test_well_known_messages_share_pool() -> None:
    properties = v2.SystemProperties()
    properties.delivery_timestamp.CopyFrom(v2.Timestamp(seconds=7))
    properties.invisible_duration.CopyFrom(v2.Duration(seconds=8))
    assert (properties.delivery_timestamp.seconds, properties.invisible_duration.seconds) == (7, 8)


def test_enumerations_are_numbers_with_names() -> None:
    assert (v2.Code.OK, v2.Code.Name(20000)) == (20000, "OK")
    assert health_v1.HealthCheckResponse.SERVING == 1


def test_second_copy_of_messages_may_be_loaded() -> None:
    """The official client has one, in the shared pool."""
    shared = descriptor_pool.Default()
    assert duration_pb2.DESCRIPTOR.pool is timestamp_pb2.DESCRIPTOR.pool is shared, "they are there already"
    for file in messages.FILES.file:
        if file.package != messages.WELL_KNOWN:
            shared.AddSerializedFile(file.SerializeToString())
    theirs = GetMessageClass(shared.FindMessageTypeByName("apache.rocketmq.v2.Message"))
    assert theirs is not v2.Message
    ours = v2.Message(body=b"hello")
    assert theirs.FromString(ours.SerializeToString()).body == b"hello"
