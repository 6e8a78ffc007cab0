"""Names in code use the terms of the field."""

import ast

import pytest

from tests.house.identifiers import ACCEPTED, defined_names, findings, term_for


def test_names_have_no_findings() -> None:
    assert not list(findings())


def test_accepted_names_have_private_words() -> None:
    assert all(map(term_for, ACCEPTED))


def test_defined_names_include_local_variables() -> None:
    source = """
LIMIT = 1
class Reader:
    size: int
    def read(self, offset):
        self.position = local = offset
"""
    names = {name for _, name in defined_names(ast.parse(source))}
    assert names == {"LIMIT", "Reader", "size", "read", "self", "offset", "position", "local"}


@pytest.mark.parametrize(
    ("name", "is_private"),
    [
        ("on_told", True),
        ("SlaveDoor", True),
        ("_go_on", True),
        ("IDLE_BEAT_SECONDS", True),
        ("BATCH_PIECES", True),
        ("preface", False),
        ("heart_beat", False),
        ("heartbeat", False),
        ("broadcast", False),
        ("warehouse", False),
    ],
)
def test_private_words_are_found_as_parts_of_names(name: str, is_private: bool) -> None:
    assert bool(term_for(name)) is is_private
