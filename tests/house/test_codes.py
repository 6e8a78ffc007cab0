"""Every request code of the version we claim is served, or refused with a reason, in plain sight."""

from mqgateway.gateway.broker import requests as broker
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.namesrv import service as namesrv


def test_every_code_has_its_place_in_the_broker() -> None:
    served, refused = set(broker.REQUESTS), set(broker.UNSUPPORTED)
    assert not served & refused
    assert served | refused == set(RequestCode)


def test_every_code_has_its_place_in_the_name_server() -> None:
    served, refused = set(namesrv.REQUESTS), set(namesrv.UNSUPPORTED)
    assert not served & refused
    assert served | refused == set(RequestCode)


def test_a_refusal_has_a_reason() -> None:
    for table in (broker.UNSUPPORTED, namesrv.UNSUPPORTED):
        assert all(len(reason) > 10 for reason in table.values())
