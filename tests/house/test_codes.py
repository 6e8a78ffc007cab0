"""Every request code of the version we claim is served, or refused with a reason, in plain sight."""

from importlib import import_module

from mqgateway.gateway.broker import requests as broker
from mqgateway.gateway.broker.admin.requests import SUBJECTS
from mqgateway.gateway.broker.needs import Needs, RequestDeclaration
from mqgateway.gateway.broker.translated import Translated
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.controller import requests as controller
from mqgateway.gateway.namesrv import service as namesrv
from tests.house.source import source_files


def test_every_code_has_its_place_in_the_broker() -> None:
    served, refused = set(broker.REQUESTS), set(broker.UNSUPPORTED)
    assert not served & refused
    assert served | refused == set(RequestCode)


def test_every_code_has_its_place_in_the_name_server() -> None:
    served, refused = set(namesrv.REQUESTS), set(namesrv.UNSUPPORTED)
    assert not served & refused
    assert served | refused == set(RequestCode)


def test_every_request_of_a_broker_says_what_it_needs_of_the_role() -> None:
    """Those of modules that are loaded on first use are declared where all requests of their package are."""
    for path in source_files():
        if path.parts[:2] == ("gateway", "broker") and path.stem.endswith("requests") and len(path.parts) > 3:
            module = import_module("mqgateway." + ".".join(path.with_suffix("").parts))
            entries = getattr(module, "REQUESTS", {}).values()
            if path.parent.name == "admin" and path.stem in SUBJECTS:
                assert module.REQUESTS.keys() == SUBJECTS[path.stem].keys(), path
                continue
            assert all(isinstance(entry, RequestDeclaration | Translated) for entry in entries), path
    assert all(isinstance(entry.needs, Needs) for entry in broker.OF_ROOMS.values())


def test_every_code_has_its_place_in_the_controller() -> None:
    served, refused = set(controller.REQUESTS), set(controller.UNSUPPORTED)
    assert not served & refused
    assert served | refused == set(RequestCode)


def test_a_refusal_has_a_reason() -> None:
    for table in (broker.UNSUPPORTED, namesrv.UNSUPPORTED, controller.UNSUPPORTED):
        assert all(len(reason) > 10 for reason in table.values())
