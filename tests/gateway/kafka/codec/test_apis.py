"""API keys and versions as a broker of 4.4.0 has them."""

from mqgateway.gateway.kafka.codec.apis import APIS, PRODUCE
from mqgateway.gateway.kafka.codec.messages.metadata_request import MetadataRequest
from mqgateway.gateway.kafka.codec.messages.metadata_response import MetadataResponse


def test_table_has_the_apis_of_a_broker() -> None:
    gone = {4, 5, 6, 7, 52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82}
    assert sorted(APIS) == [key for key in range(95) if key not in gone]


def test_versions_are_those_of_the_schemas() -> None:
    metadata, create = APIS[3], APIS[22]
    assert (metadata.name, metadata.oldest, metadata.latest, metadata.flexible) == ("Metadata", 0, 13, 9)
    assert (create.name, create.latest, create.newest) == ("InitProducerId", 5, 6)
    assert not create.is_supported(6)
    assert not APIS[17].is_flexible(1)
    assert [metadata.is_flexible(version) for version in (8, 9)] == [False, True]


def test_produce_is_announced_from_version_0_and_accepted_from_3() -> None:
    assert APIS[PRODUCE].announced_oldest == 0
    assert [APIS[PRODUCE].is_supported(version) for version in (2, 3, 13, 14)] == [False, True, True, False]
    assert APIS[1].announced_oldest == 4


def test_classes_are_those_of_the_api() -> None:
    assert APIS[3].request is MetadataRequest
    assert APIS[3].response is MetadataResponse
    assert all(api.request.KEY == api.response.KEY == key for key, api in APIS.items())
