"""The re-export for the wire."""

from mqgateway.engine import lenient_json as source
from mqgateway.gateway.codec import lenient_json


def test_the_wire_uses_the_engines_reader_and_writer() -> None:
    assert lenient_json.loads is source.loads
    assert lenient_json.dumps is source.dumps
    assert lenient_json.ObjectKey is source.ObjectKey
