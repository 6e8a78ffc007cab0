"""Name servers: their addresses, and queries of one after the other."""

from __future__ import annotations

import pytest
from twisted.internet.defer import Deferred, fail, succeed

from mqgateway.gateway.runtime.name_servers import address_fault, ask_in_turn, split_addresses


class Servers:
    """Name servers with their answers, by address."""

    def __init__(self, **answers: str | Exception) -> None:
        self.answers = answers
        self.asked: list[str] = []
        self.found: list[object] = []

    def ask(self, address: str) -> Deferred[str]:
        self.asked.append(address)
        answer = self.answers[address]
        return fail(answer) if isinstance(answer, Exception) else succeed(answer)

    def begin(self, passed_over: type[Exception] = Exception) -> object:
        asked = Deferred.fromCoroutine(ask_in_turn([*self.answers], self.ask, passed_over))
        asked.addBoth(self.found.append)
        [found] = self.found
        return getattr(found, "value", found)


@pytest.mark.parametrize(
    ("text", "addresses"),
    [(None, []), ("", []), (" a:1 ; b:2;", ["a:1", "b:2"]), (";;", []), ("[::1]:9876", ["[::1]:9876"])],
)
def test_addresses_are_separated_by_semicolons(text: str | None, addresses: list[str]) -> None:
    assert split_addresses(text) == addresses


def test_the_first_that_answers_is_heard() -> None:
    servers = Servers(a="one", b="two")
    assert (servers.begin(), servers.asked) == ("one", ["a"])


def test_failed_name_server_is_skipped() -> None:
    servers = Servers(a=OSError("gone"), b="two", c="three")
    assert (servers.begin(), servers.asked) == ("two", ["a", "b"])


def test_when_none_answers_the_last_says_why() -> None:
    last = ValueError("no")
    assert Servers(a=OSError("gone"), b=last).begin() is last


def test_another_kind_of_failure_is_the_answer() -> None:
    """A request that cannot be made at all is an example."""
    wrong = TypeError("no request")
    servers = Servers(a=wrong, b="two")
    assert (servers.begin(OSError), servers.asked) == (wrong, ["a"])


@pytest.mark.parametrize(
    ("address", "fault"),
    [
        ("127.0.0.1:9876", None),
        ("[::1]:9876", None),
        ("mq.example.org:1", None),
        ("http://127.0.0.1:9876", "without http://"),
        ("127.0.0.1", "has no port"),
        (":9876", "has no port"),
        ("127.0.0.1:x", "between 1 and 65535"),
        ("127.0.0.1:0", "between 1 and 65535"),
        ("127.0.0.1:70000", "between 1 and 65535"),
    ],
)
def test_address_fault_names_the_address_and_the_right_form(address: str, fault: str | None) -> None:
    result = address_fault(address)
    assert (
        result is None
        if fault is None
        else result is not None and repr(address) in result and fault in result
    )
