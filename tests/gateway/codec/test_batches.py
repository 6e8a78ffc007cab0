"""Elements of batches as the store reads them."""

from mqgateway.engine.message import properties_text
from mqgateway.engine.store.client_elements import split_batch
from mqgateway.gateway.codec.batches import encode_element
from tests.support.gateway.broker.helpers import batch_body


def test_encoded_element_equals_the_element_of_a_client() -> None:
    assert encode_element(b"x", 0, properties_text({"KEYS": "k"})) == batch_body((b"x", {"KEYS": "k"}))


def test_encoded_elements_are_split_into_flag_body_and_properties() -> None:
    elements = encode_element(b"a", 7, b"K\x01v\x02") + encode_element(b"", 0, b"")
    assert [tuple(part) for part in split_batch(elements)] == [
        (7, b"a", b"\x00\x04K\x01v\x02"),
        (0, b"", b"\0\0"),
    ]
