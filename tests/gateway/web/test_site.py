"""The console's entry checks: refusals by reason for every route, and the form of answers."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from twisted.internet.error import ConnectionDone
from twisted.python.failure import Failure

from mqgateway.gateway.web import site
from mqgateway.gateway.web.api.routes import ROUTES
from mqgateway.gateway.web.route import Role, Route
from tests.support.gateway.console import ConsoleBrowser, ConsoleWorld, console

PROTECTED = [route for route in ROUTES if route.role is not Role.NOBODY]


def name_of(route: Route) -> str:
    return f"{route.method} {route.path}"


def path_of(route: Route) -> str:
    return "/".join("x" if part.startswith("{") else part for part in route.path.split("/"))


@pytest.fixture(scope="module")
def users() -> ConsoleWorld:
    """A broker with a user of every role, and policies without entries."""
    return ConsoleWorld(
        users=("viewer", "reader", "operator"),
        policies={},
        console_roles="viewer:viewer,reader:reader,operator:operator",
    )


@pytest.fixture(scope="module")
def opened() -> ConsoleBrowser:
    """A browser with all permissions."""
    return console()


# Every route x {no login, wrong role, policies, foreign origin, foreign host, no token}.


@pytest.mark.parametrize("route", PROTECTED, ids=name_of)
def test_request_without_a_login_is_refused(users: ConsoleWorld, route: Route) -> None:
    anonymous = ConsoleBrowser(users)
    for cookie in ("", "mqgateway-8088=guess", "mqgateway-8088="):
        anonymous.cookie = cookie
        assert anonymous.refused(route.method, path_of(route)) == (401, "you are not logged in")


@pytest.mark.parametrize("route", [route for route in PROTECTED if route.role > Role.VIEWER], ids=name_of)
def test_request_beyond_the_role_is_refused(users: ConsoleWorld, route: Route) -> None:
    lower = Role(route.role - 1).name.lower()
    code, why = ConsoleBrowser(users).log_in(lower).refused(route.method, path_of(route))
    assert (code, why) == (403, f"your role is {lower}; it takes {route.role.name.lower()}")


def example(route: Route) -> dict[str, object]:
    """Return a body with all required fields."""
    values: dict[type, object] = {str: "x", int: 1, bool: True, dict: {"a": "b"}, list: ["x"]}
    return {field.name: values[field.kind] for field in route.body if not field.choices}


def with_query(route: Route) -> str:
    given = "&".join(f"{field.name}=x" for field in route.query if field.kind is str and not field.choices)
    return f"{path_of(route)}?{given.replace('cursor=x&', '')}" if given else path_of(route)


@pytest.mark.parametrize(
    "route",
    [route for route in PROTECTED if route.role <= Role.OPERATOR and "{id}" not in route.path],
    ids=name_of,
)
def test_request_without_a_policy_is_refused(users: ConsoleWorld, route: Route) -> None:
    code, why = (
        ConsoleBrowser(users).log_in("operator").refused(route.method, with_query(route), example(route))
    )
    assert (code, "no matched policies" in why) == (403, True)


FOREIGN = (
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://localhost:9999"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Host": "evil.example:8088"},
    {"Host": "evil.example:8088", "Origin": "http://evil.example:8088", "Sec-Fetch-Site": "same-origin"},
)


@pytest.mark.parametrize("route", ROUTES, ids=name_of)
def test_other_sites_and_names_are_refused(opened: ConsoleBrowser, route: Route) -> None:
    for headers in FOREIGN:
        response = opened.ask(route.method, path_of(route), {}, headers)
        assert response.code == 403, headers
        assert "Access-Control-Allow-Origin" not in response.headers


@pytest.mark.parametrize("route", [route for route in PROTECTED if route.method != "GET"], ids=name_of)
def test_writes_need_the_token_and_json(opened: ConsoleBrowser, route: Route) -> None:
    for headers, code in (
        ({"x-console-token": ""}, 403),
        ({"x-console-token": "guess"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
    ):
        assert opened.ask(route.method, path_of(route), {}, headers).code == code


@pytest.mark.parametrize("route", [route for route in ROUTES if route.is_write], ids=name_of)
def test_a_read_only_console_has_no_writes(route: Route) -> None:
    browser = console(console_read_only=True)
    assert browser.ask(route.method, path_of(route), {}).code in (404, 405)
    assert browser.get("/session")["isReadOnly"]


def test_no_get_changes_anything() -> None:
    assert {route.method for route in ROUTES} == {"GET", "POST", "PUT", "DELETE"}
    assert not [route for route in ROUTES if route.method == "GET" and route.body]


# Answers.


def test_headers_of_every_answer(opened: ConsoleBrowser) -> None:
    for method, path, prefix in (("GET", "/overview", "/api/v1"), ("GET", "/", ""), ("GET", "/nothing", "")):
        headers = opened.ask(method, path, prefix=prefix).headers
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert "Server" not in headers
    assert opened.ask("GET", "/session").headers["Cache-Control"] == "no-store"


def test_the_cookie_is_for_the_browser_alone() -> None:
    world = ConsoleWorld(hosts="console.example.org")
    for headers, is_secure in (
        ({}, False),
        ({"Host": "console.example.org", "X-Forwarded-Proto": "https"}, True),
    ):
        response = ConsoleBrowser(world).ask(
            "POST", "/session", {"token": world.entrance.link_token}, headers
        )
        cookie = response.headers["Set-Cookie"]
        assert cookie.startswith("mqgateway-8088=") and "HttpOnly" in cookie and "SameSite=strict" in cookie
        assert ("Secure" in cookie) is is_secure and "Expires" not in cookie


def test_behind_a_proxy_that_is_named() -> None:
    browser = ConsoleBrowser(ConsoleWorld(hosts="console.example.org")).log_in()
    for host in ("console.example.org", "127.0.0.1:8088"):
        headers = {"Host": host, "Origin": "https://console.example.org"}
        assert browser.ask("PUT", "/topics/T", {}, headers).code == 404


def test_files(opened: ConsoleBrowser) -> None:
    anonymous = ConsoleBrowser(opened.world)
    page = anonymous.ask("GET", "/", prefix="")
    assert page.code == 200 and b'<script type="importmap">' in page.body
    script = anonymous.ask("GET", "/static/vendor/preact.js", prefix="")
    assert script.headers["Content-Type"] == "text/javascript; charset=utf-8"
    again = anonymous.ask(
        "GET", "/static/vendor/preact.js", headers={"If-None-Match": script.headers["ETag"]}, prefix=""
    )
    assert (again.code, again.body) == (304, b"")
    for path in (
        "/static/../site.py",
        "/static/%2e%2e/site.py",
        "/site.py",
        "/static/",
        "/vendor/preact.js",
        "//x",
    ):
        assert anonymous.ask("GET", path, prefix="").code == 404, path
    assert anonymous.ask("POST", "/", prefix="").code == 405
    assert anonymous.ask("HEAD", "/", prefix="").body == b""


def test_lists_that_did_not_change_are_not_sent_again(opened: ConsoleBrowser) -> None:
    first = opened.ask("GET", "/topics")
    again = opened.ask("GET", "/topics", headers={"If-None-Match": first.headers["ETag"]})
    assert (first.code, again.code) == (200, 304)


def test_unknown_routes_methods_and_parameters_are_rejected(opened: ConsoleBrowser) -> None:
    assert opened.refused("GET", "/nothing")[0] == 404
    assert opened.refused("GET", "/openapi.json/")[0] == 404
    response = opened.ask("PATCH", "/topics")
    assert (response.code, response.headers["Allow"]) == (405, "GET, POST")
    assert opened.refused("GET", "/topics?x=1")[0] == 400


def test_the_document(opened: ConsoleBrowser) -> None:
    assert opened.get("/openapi.json")["openapi"] == "3.1.0"
    assert ConsoleBrowser(opened.world).refused("GET", "/openapi.json")[0] == 401


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b"[" * 10_000])
def test_malformed_bodies_are_rejected(opened: ConsoleBrowser, body: bytes) -> None:
    head = (
        f"POST /api/v1/topics HTTP/1.1\r\nHost: localhost\r\nCookie: {opened.cookie}\r\n"
        f"x-console-token: {opened.csrf}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    one = opened.open()
    one.send(head.encode() + body)
    assert one.responses[-1].code == 400


@pytest.mark.parametrize("is_chunked", [False, True])
def test_long_bodies_are_cut_off(opened: ConsoleBrowser, is_chunked: bool) -> None:
    one = opened.open()
    head = "POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    if is_chunked:
        one.send(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        for _ in range(site.BODY_MAX // 65_536 + 1):
            one.send(b"10000\r\n" + b"x" * 65_536 + b"\r\n")
    else:
        one.send(f"{head}Content-Length: {site.BODY_MAX + 1}\r\n\r\n".encode())
    assert one.transport.value().startswith(b"HTTP/1.1 413 ") and one.transport.disconnecting


def test_failure_is_described_in_the_log_only(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    browser = console()

    def fail(*_: object) -> None:
        raise RuntimeError("secret")

    # Methods of a compiled object cannot be replaced, so the object is.
    monkeypatch.setattr(browser.world.broker.tables, "offsets", SimpleNamespace(pairs=fail))
    code, why = browser.refused("GET", "/groups")
    assert (code, "secret" in why) == (500, False) and "secret" in caplog.text


def test_closed_connection_gets_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    browser = console()
    monkeypatch.setattr("mqgateway.gateway.web.console.TURN_SECONDS", -1)
    one = browser.open()
    one.send(f"GET /api/v1/topics HTTP/1.1\r\nHost: localhost\r\nCookie: {browser.cookie}\r\n\r\n".encode())
    assert one.transport.value() == b""
    one.protocol.connectionLost(Failure(ConnectionDone()))
    browser.world.clockwork.advance(1)
    browser.world.clockwork.advance(1)
    assert one.transport.value() == b""


def test_logging_out_ends_the_session() -> None:
    browser = console()
    assert browser.do("DELETE", "/session") == {"isIn": False}
    assert browser.refused("GET", "/overview")[0] == 401


def test_streams_are_limited_and_end_with_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "STREAMS_MAX", 2)
    browser = console()
    request = f"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nCookie: {browser.cookie}\r\n\r\n".encode()
    first, second = browser.open(), browser.open()
    first.send(request)
    second.send(request)
    assert browser.refused("GET", "/events")[0] == 503
    first.protocol.connectionLost(Failure(ConnectionDone()))
    third = browser.open()
    third.send(request)
    assert b"text/event-stream" in third.transport.value()
    browser.do("DELETE", "/session")
    browser.world.clockwork.advance(3)
    assert b"event: end" in second.transport.value() and b"event: end" in third.transport.value()


def test_the_audit_shows_no_secrets() -> None:
    browser = console()
    browser.world.memory.add_topic("T")
    browser.do("POST", "/topics/T/messages", {"body": "s3cret", "tags": "a"})
    browser.refused("POST", "/session", {"token": "s3cret"})
    entries = browser.get("/audit")["rows"]
    assert [entry["action"] for entry in entries] == ["POST /session", "POST /topics/{topic}/messages"]
    assert entries[1]["about"]["tags"] == "a" and entries[0]["refusal"]
    assert "s3cret" not in json.dumps(entries)
