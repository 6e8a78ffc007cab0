import json

import pytest
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import ConnectionDone
from twisted.python.failure import Failure

from mqgateway.gateway.broker.admin.health import Check, Health
from mqgateway.gateway.metrics.health import STARTING
from mqgateway.gateway.metrics.site import Pages
from mqgateway.gateway.runtime.http import LimitedSite
from tests.support.gateway.web import Browser

FINE: dict[str, Health] = {"broker": {"store": Check(True, "open")}}
TEXT = [b"a 1\n" * 1000] * 50


def browser(health: dict[str, Health] = FINE, *, metrics: bool = True) -> Browser:
    return Browser(LimitedSite(Pages(lambda: health, (lambda _: succeed(TEXT)) if metrics else None)))


def test_metrics() -> None:
    answer = browser().get("/metrics")
    assert answer.code == 200
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert answer.body == b"".join(TEXT)


def test_a_slow_reader_is_waited_for() -> None:
    one = browser()
    one.ask("/metrics")
    assert len(one.transport.value()) > 200_000
    slow = browser()
    write = slow.transport.write

    def filling(data: bytes) -> None:
        write(data)
        if len(slow.transport.value()) > 20_000:
            slow.transport.producer.pauseProducing()

    slow.transport.write = filling
    slow.ask("/metrics")
    assert 20_000 < len(slow.transport.value()) < 30_000
    slow.transport.write = write
    slow.transport.producer.resumeProducing()
    assert slow.responses[-1].body == b"".join(TEXT)


def test_query_names_the_set_of_metrics() -> None:
    asked: list[str] = []

    def scrape(name: str) -> Deferred[list[bytes]]:
        asked.append(name)
        return succeed([b"x 1\n"])

    one = Browser(LimitedSite(Pages(lambda: FINE, scrape)))
    assert one.get("/metrics").code == one.get("/metrics?set=exporter").code == 200
    assert asked == ["standard", "exporter"]
    answer = one.get("/metrics?set=other%ff")
    text = b"no such set of metrics; there are standard, exporter, kafka\n"
    assert (answer.code, answer.body) == (400, text)


def test_alive_and_ready() -> None:
    assert browser().get("/livez").body == b"alive\n"
    answer = browser().get("/readyz")
    assert answer.code == 200
    assert json.loads(answer.body) == {
        "ready": True,
        "servers": {"broker": {"store": {"ok": True, "state": "open"}}},
    }


@pytest.mark.parametrize("health", [{}, {"broker": {"store": STARTING}}, FINE | {"ns": {"routes": STARTING}}])
def test_not_ready(health: dict[str, Health]) -> None:
    answer = browser(health).get("/readyz")
    assert (answer.code, json.loads(answer.body)["ready"]) == (503, False)


def test_health_alone_serves_no_metrics() -> None:
    one = browser(metrics=False)
    assert one.get("/metrics").code == one.get("/-/healthy").code == 404
    assert one.get("/livez").code == 200
    assert b"metrics" not in one.get("/").body


def test_healthy_page_has_the_text_of_rocketmqs_exporter() -> None:
    assert browser().get("/-/healthy").body == b"Exporter is healthy.\n"
    assert b"/metrics?set=exporter" in browser().get("/").body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "FOO"])
def test_methods_other_than_get_are_refused(method: str) -> None:
    answer = browser().get("/metrics", method)
    assert (answer.code, answer.headers["Allow"]) == (405, "GET, HEAD")


def test_unknown_pages_are_not_found() -> None:
    for path in ("/foo", "/metrics/", "//", "/../etc/passwd", "/%2e%2e/x"):
        assert browser().get(path).code == 404, path


def test_invalid_http_is_rejected() -> None:
    one = browser()
    one.send(b"\x00\x00\x01\x00\x00\x00garbage\r\n\r\n")
    assert one.transport.disconnecting or one.transport.disconnected or one.responses[-1].code == 400
    long = browser()
    long.send(b"GET /" + b"a" * 100_000)
    assert long.transport.disconnecting or long.transport.disconnected


def test_a_scrape_that_fails_is_an_error() -> None:
    one = Browser(LimitedSite(Pages(lambda: FINE, lambda _: fail(ValueError("no")))))
    answer = one.get("/metrics")
    assert (answer.code, answer.body) == (500, b"the metrics cannot be read; see the log\n")


def test_closed_connection_is_not_answered() -> None:
    waiting: Deferred[list[bytes]] = Deferred()
    one = Browser(LimitedSite(Pages(lambda: FINE, lambda _: waiting)))
    one.ask("/metrics")
    one.protocol.connectionLost(Failure(ConnectionDone()))
    waiting.callback(TEXT)
    assert one.transport.value() == b""


def test_an_empty_scrape() -> None:
    one = Browser(LimitedSite(Pages(lambda: FINE, lambda _: succeed([]))))
    assert one.get("/metrics").body == b""
