"""Users and policies are served by a broker of any role."""

from __future__ import annotations

from mqgateway.gateway.access import requests
from mqgateway.gateway.broker.access.requests import REQUESTS
from mqgateway.gateway.broker.needs import Needs


def test_every_request_about_users_is_served_whatever_the_role() -> None:
    assert list(REQUESTS) == list(requests.REQUESTS)
    assert {request.needs for request in REQUESTS.values()} == {Needs.NOTHING}
