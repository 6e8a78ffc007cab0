import pytest

from mqgateway.gateway.web.guard import Guard, check_write, is_loopback
from mqgateway.gateway.web.route import ApiError

GUARD = Guard("console.example.org, mq.example.org:8443")


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8088",
        "127.0.0.1:1",
        "[::1]:8088",
        "10.0.0.5",
        "console.example.org",
        "mq.example.org:8443",
    ],
)
def test_our_own_names(host: str) -> None:
    GUARD.check_host(host)


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "evil.example:8088", "localhost.evil.example", "mq.example.org", "a:b:c", "[::1"],
)
def test_other_names_are_refused(host: str) -> None:
    with pytest.raises(ApiError) as refusal:
        GUARD.check_host(host)
    assert refusal.value.status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "none"},
        {"origin": "http://localhost:8088"},
        {"origin": "https://console.example.org"},
        {"origin": "http://LOCALHOST:8088", "sec-fetch-site": "same-origin"},
    ],
)
def test_our_own_pages(headers: dict[str, str]) -> None:
    GUARD.check_origin({"host": "localhost:8088", **headers})


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "http://localhost:9999"},
        {"origin": "http://evil.example"},
        {"origin": "http://evil.example", "sec-fetch-site": "same-origin"},
    ],
)
def test_pages_of_others_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(ApiError):
        GUARD.check_origin({"host": "localhost:8088", **headers})


def test_a_write_is_json_with_the_token() -> None:
    json = {"content-type": "application/json; charset=utf-8"}
    check_write(json, None)
    check_write({**json, "x-console-token": "t"}, "t")
    for headers, csrf, status in (
        ({}, None, 415),
        ({"content-type": "text/plain"}, "t", 415),
        (json, "t", 403),
        ({**json, "x-console-token": "u"}, "t", 403),
    ):
        with pytest.raises(ApiError) as refusal:
            check_write(headers, csrf)
        assert refusal.value.status == status


def test_loopback() -> None:
    assert [
        host
        for host in ("127.0.0.1", "127.3.2.1", "::1", "localhost", "0.0.0.0", "::", "", "10.0.0.1", "host")
        if is_loopback(host)
    ] == [
        "127.0.0.1",
        "127.3.2.1",
        "::1",
        "localhost",
    ]
