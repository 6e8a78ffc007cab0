"""The pages that are made of declarations have everything that is declared."""

import re

from mqgateway.engine.options.option import options_of
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.mqadmin.commands import PLACES
from mqgateway.gateway.resources import PLACES as RESOURCE_COMMANDS
from website.reference import (
    CLIENTS,
    DOCS,
    KEPT,
    PAGES,
    SERVERS,
    client_settings,
    commands,
    request_codes,
    settings,
)


def rows(page: str) -> list[list[str]]:
    """The cells of all tables."""
    return [re.split(r" (?<!\\)\| ", line.strip("| ")) for line in page.splitlines() if line.startswith("| ")]


def test_every_setting_has_a_row() -> None:
    parts = settings().split("\n## ")[1:]
    assert [part.partition("\n")[0] for part in parts] == list(SERVERS)
    for part, make in zip(parts, SERVERS.values(), strict=True):
        named = [row[0].strip("`") for row in rows(part) if row[0].startswith("`")]
        assert sorted(named) == sorted(make().names())
    assert "| `flushDiskType` | `ASYNC_FLUSH` |" in parts[0]


def test_every_setting_of_the_client_has_one_row() -> None:
    named = [row[0].strip("`") for row in rows(client_settings()) if row[0].startswith("`")]
    declared = {option.attribute for kind in CLIENTS.values() for option in options_of(kind)}
    assert set(named) == declared
    assert "## Producer\n" in client_settings() and named.count("send_msg_timeout") == 1


def test_kept_pages_are_up_to_date() -> None:
    for page in KEPT:
        assert (DOCS / page).read_text() == PAGES[page](), "python -m website.reference"


def test_every_command_has_a_heading() -> None:
    headings = {line.removeprefix("### ") for line in commands().splitlines() if line.startswith("### ")}
    assert headings == {
        *(f"mqadmin {name}" for name in PLACES),
        *(f"mqgateway {name}" for name in RESOURCE_COMMANDS),
    }
    assert "usage: mqadmin updateTopic" in commands()


def test_every_code_is_answered_or_has_a_reason() -> None:
    listed = [row for row in rows(request_codes()) if row[0].isdigit()]
    assert [int(row[0]) for row in listed] == sorted(RequestCode)
    assert not [row for row in listed if len(row) < 3]
    by_name = {row[1].strip("`"): row for row in listed}
    assert by_name["SEND_MESSAGE"][2].strip() == "broker"
    assert "name server" in by_name["GET_ROUTEINFO_BY_TOPIC"][2]
