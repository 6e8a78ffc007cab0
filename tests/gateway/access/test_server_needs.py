"""Needs of requests to name servers, controllers and containers; every code has them."""

from __future__ import annotations

import pytest

from mqgateway.gateway.access.needs import Row, needs_in
from mqgateway.gateway.access.requests import REQUESTS as OF_USERS
from mqgateway.gateway.access.server_needs import ALL_CLUSTERS, OF_CONTAINER, OF_CONTROLLER, OF_NAME_SERVER
from mqgateway.gateway.cli import served_addition, served_removal
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.fields import request_header
from mqgateway.gateway.container import requests as container_requests
from mqgateway.gateway.controller import requests as controller_requests
from mqgateway.gateway.namesrv import service as namesrv_service

OF_PARENT = {
    RequestCode.ADD_BROKER: served_addition.add_broker,
    RequestCode.REMOVE_BROKER: served_removal.remove_broker,
    RequestCode.GET_BROKER_RUNTIME_INFO: container_requests.runtime_info,
}
"""Requests that the parent of several brokers serves at its name server."""
TABLES = [
    (OF_NAME_SERVER, {**namesrv_service.REQUESTS, **OF_PARENT}),
    (OF_CONTROLLER, controller_requests.REQUESTS),
    (OF_CONTAINER, container_requests.REQUESTS),
]


@pytest.mark.parametrize(("table", "served"), TABLES, ids=["name server", "controller", "container"])
def test_every_server_code_has_needs_with_any_header(
    table: dict[int, Row], served: dict[int, object]
) -> None:
    assert table.keys() == served.keys() | OF_USERS.keys()
    for code in table:
        header = request_header(code)
        names = [] if header is None else [field.wire_name for field in header.__fields__]
        for fields in ({}, {name: f"<{name}>" for name in names}):
            needs = needs_in(table, code, fields, ALL_CLUSTERS)
            shown = [str(need.resource).partition(":")[2] for need in needs]
            assert shown, RequestCode(code).name
            assert set(shown) <= {ALL_CLUSTERS, "", *fields.values()}


@pytest.mark.parametrize(
    ("code", "fields", "needs"),
    [
        (105, {"topic": "t"}, ["Topic:t Pub|Sub|Get"]),
        (105, {"topic": "%RETRY%g"}, ["Group:g Sub|Get"]),
        (105, {"topic": "TBW102"}, []),
        (103, {"clusterName": "a"}, ["Cluster:a Update"]),
        (103, {"clusterName": ""}, ["Cluster:* Update"]),
        (904, {"clusterName": "a"}, ["Cluster:a Update"]),
        (224, {"cluster": "a"}, ["Cluster:a Get"]),
        (216, {"topic": "t"}, ["Cluster:* Update"]),
        (319, {}, ["Cluster:* Get"]),
    ],
)
def test_needs_of_name_server_requests(code: int, fields: dict[str, str], needs: list[str]) -> None:
    found = needs_in(OF_NAME_SERVER, code, fields, ALL_CLUSTERS)
    assert [f"{need.resource} {'|'.join(need.actions)}" for need in found] == needs
