"""Entries of tables for requests that are translated for operations."""

from mqgateway.gateway.broker.needs import Needs
from mqgateway.gateway.broker.operations import Use
from mqgateway.gateway.broker.requests import OF_ROOMS
from mqgateway.gateway.broker.translated import Translated
from mqgateway.gateway.codec.codes import RequestCode


def test_translated_request_has_the_need_of_its_use() -> None:
    entry = OF_ROOMS[RequestCode.POP_MESSAGE]
    assert isinstance(entry, Translated)
    assert (entry.use, entry.needs) == (Use.RECEIVE, Needs.MASTER_OR_ACTING)
    assert OF_ROOMS[RequestCode.POP_LITE_MESSAGE].needs is Needs.NOT_FENCED
