"""Health service in memory."""

from typing import Any

from mqgateway.gateway.grpc.call import Status
from mqgateway.gateway.grpc.health import health
from mqgateway.gateway.grpc.health_v1 import (
    HealthCheckRequest,
    HealthCheckResponse,
    HealthListRequest,
    HealthListResponse,
)
from tests.support.gateway.grpc.client import Answer, Client, framed, messages


def ask(method: str, request: Any) -> Answer:
    client = Client()
    client.settings.methods = {**client.settings.methods, **health(client.settings.methods)}
    stream = client.open(f"/grpc.health.v1.Health/{method}")
    client.h2.send_data(stream, framed(request.SerializeToString()), end_stream=True)
    client.pump()
    return client.answers[stream]


def statuses(answer: Answer) -> list[int]:
    return [HealthCheckResponse.FromString(one).status for one in messages(answer.data)]


def test_known_services_are_serving() -> None:
    for name in ("", "test.S", "grpc.health.v1.Health"):
        assert statuses(ask("Check", HealthCheckRequest(service=name))) == [HealthCheckResponse.SERVING]
    other = ask("Check", HealthCheckRequest(service="other"))
    assert (other.status, other.message) == (Status.NOT_FOUND, "unknown service")


def test_watch_reports_once_and_stays_open() -> None:
    watched = ask("Watch", HealthCheckRequest(service="test.S"))
    assert statuses(watched) == [HealthCheckResponse.SERVING] and not watched.has_ended
    other = ask("Watch", HealthCheckRequest(service="other"))
    assert statuses(other) == [HealthCheckResponse.SERVICE_UNKNOWN] and not other.has_ended


def test_list_returns_all_services() -> None:
    [answer] = messages(ask("List", HealthListRequest()).data)
    listed = HealthListResponse.FromString(answer).statuses
    assert set(listed) == {"", "test.S", "grpc.health.v1.Health"}
    assert {one.status for one in listed.values()} == {HealthCheckResponse.SERVING}
