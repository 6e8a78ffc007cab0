"""Messages as files: found by a search or by key, and bodies."""

from __future__ import annotations

import csv
import io
import json
import zlib
from typing import Any
from urllib.parse import quote

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone
from twisted.python.failure import Failure

from mqgateway.engine.message import Message, SysFlag
from mqgateway.gateway.web import site
from mqgateway.gateway.web.api import exports
from tests.support.gateway.console import HOST, HOST_BYTES, ConsoleBrowser, ConsoleWorld, console


@pytest.fixture
def browser() -> ConsoleBrowser:
    """Two queues with forty messages; every second one is of north."""
    made = console()
    made.world.memory.add_topic("T", queues=2)
    for number in range(40):
        body = json.dumps({"n": number, "region": "north" if number % 2 else "south"})
        made.world.put("T", body.encode(), queue=number % 3 % 2, KEYS=f"k{number} all")
        made.world.memory.clock.advance(1000)
    return made


def lines(browser: ConsoleBrowser, path: str) -> list[Any]:
    response = browser.ask("GET", path)
    assert response.code == 200, response
    return [json.loads(line) for line in response.body.decode().splitlines()]


def numbers(rows: list[Any]) -> list[int]:
    return [json.loads(row["body"])["n"] for row in rows]


def test_all_that_a_search_finds_is_one_file(browser: ConsoleBrowser) -> None:
    expression = quote("$.region = 'north' AND $.n > 30")
    found = lines(browser, f"/messages/export?topic=T&expression={expression}")
    assert numbers(found) == [39, 37, 35, 33, 31]
    assert found[0]["properties"]["KEYS"] == "k39 all" and found[0]["isWhole"]
    response = browser.ask("GET", "/messages/export?topic=T&limit=1")
    assert response.headers["Content-Type"] == "application/x-ndjson"
    assert response.headers["Content-Disposition"] == "attachment; filename*=UTF-8''T.jsonl"
    assert response.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("order", ["newest", "oldest"])
def test_export_from_the_start_of_a_search_has_what_the_search_found(
    browser: ConsoleBrowser, order: str
) -> None:
    page = browser.get(f"/messages?topic=T&order={order}&key=all&limit=9&budget=20")
    browser.world.put("T", b'{"n": 99}', KEYS="all")
    rest = browser.get(f"/messages?topic=T&order={order}&key=all&limit=9&cursor={page['cursor']}")
    rows, budget = page["rows"] + rest["rows"], page["scanned"] + rest["scanned"]
    path = f"/messages/export?topic=T&order={order}&key=all&limit=18&budget={budget}&cursor={page['start']}"
    assert [one["id"] for one in lines(browser, path)] == [row["id"] for row in rows]


def test_limit_and_budget_bound_the_file(browser: ConsoleBrowser) -> None:
    assert numbers(lines(browser, "/messages/export?topic=T&limit=2")) == [39, 38]
    assert numbers(lines(browser, "/messages/export?topic=T&budget=3")) == [39, 38, 37]
    assert lines(browser, "/messages/export?topic=T&text=nothing") == []


def test_csv_has_the_columns_of_the_list_and_no_formulas(browser: ConsoleBrowser) -> None:
    browser.world.put("T", b"=1+1", TAGS="-a", KEYS='x"y z')
    response = browser.ask("GET", "/messages/export?topic=T&form=csv&limit=1")
    head, row = csv.reader(io.StringIO(response.body.decode()))
    assert tuple(head) == exports.COLUMNS
    shown = dict(zip(head, row, strict=True))
    assert (shown["preview"], shown["tags"], shown["keys"], shown["bytes"]) == ("'=1+1", "'-a", 'x"y z', "4")


def test_messages_with_a_key_are_one_file(browser: ConsoleBrowser) -> None:
    assert numbers(lines(browser, "/messages/by-key/export?topic=T&key=k7")) == [7]
    assert len(lines(browser, "/messages/by-key/export?topic=T&key=all")) == 40


def test_body_is_whole_and_decompressed_or_as_it_is_stored(browser: ConsoleBrowser) -> None:
    content = bytes(range(256)) * 1024
    stored = zlib.compress(content)
    world = browser.world
    now = world.memory.clock.millis()
    host = world.broker.store_host
    message = Message("T", 0, stored, {}, now, HOST_BYTES, host, sys_flag=int(SysFlag.COMPRESSED))
    world.broker.store.put(message)
    world.broker.store.dispatch()
    [row] = browser.get("/messages?topic=T&limit=1")["rows"]
    response = browser.ask("GET", f"/messages/{row['id']}/body")
    assert response.body == content and response.headers["Content-Type"] == "application/octet-stream"
    assert browser.ask("GET", f"/messages/{row['id']}/body?stored=true").body == stored


def test_body_beyond_the_limit_of_a_line_is_named_as_such(
    browser: ConsoleBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "BODY_MAX", 10)
    [row] = lines(browser, "/messages/export?topic=T&limit=1")
    assert not row["isWhole"] and len(row["body"]) == 10


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/messages/export?topic=none", 404),
        ("/messages/export?topic=T&expression=n%20%3E", 400),
        ("/messages/export?topic=T&cursor=x", 400),
        ("/messages/export?topic=T&form=xml", 400),
        (f"/messages/export?topic=T&limit={exports.LIMIT_MAX + 1}", 400),
        ("/messages/x/body", 400),
        (f"/messages/{'0' * 32}/body", 404),
    ],
)
def test_invalid_export_is_refused(browser: ConsoleBrowser, path: str, code: int) -> None:
    assert browser.refused("GET", path)[0] == code


def test_caller_needs_the_right_to_read() -> None:
    policies = {"alice": [("Topic:T", "Sub")], "bob": [("Topic:U", "Sub")], "carol": [("Topic:T", "Sub")]}
    roles = {"console_roles": "alice:reader,bob:reader,carol:viewer"}
    world = ConsoleWorld(users=("alice", "bob", "carol"), policies=policies, **roles)
    world.memory.add_topic("T")
    world.put("T", b"secret")
    [row] = ConsoleBrowser(world).log_in("alice").get("/messages?topic=T")["rows"]
    for user in ("alice", "bob", "carol"):
        browser = ConsoleBrowser(world).log_in(user)
        for path in ("/messages/export?topic=T", f"/messages/{row['id']}/body"):
            response = browser.ask("GET", path)
            assert (response.code == 200) is (b"secret" in response.body) is (user == "alice"), (user, path)


def test_downloads_are_limited_and_end_with_their_connection(
    browser: ConsoleBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site, "DOWNLOADS_MAX", 2)
    cancelled: list[int] = []

    async def wait(*_: object) -> None:
        await Deferred(lambda _: cancelled.append(1))

    monkeypatch.setattr(exports, "next_message", wait)
    lines = ["GET /api/v1/messages/export?topic=T HTTP/1.1", f"Host: {HOST}", f"Cookie: {browser.cookie}"]
    opened = [browser.open() for _ in range(3)]
    for one in opened[:2]:
        one.send("\r\n".join([*lines, "", ""]).encode())
    code, text = browser.refused("GET", "/messages/export?topic=T")
    assert code == 503 and text.startswith("2 files are being downloaded")
    opened[0].protocol.connectionLost(Failure(ConnectionDone()))
    assert cancelled == [1]
    opened[2].send("\r\n".join([*lines, "", ""]).encode())
    assert not opened[2].responses
    browser.world.pages.close()
    assert cancelled == [1, 1, 1] and opened[1].transport.disconnecting and opened[2].transport.disconnecting
