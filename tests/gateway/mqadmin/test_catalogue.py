from __future__ import annotations

import pytest

from mqgateway.gateway.mqadmin.catalogue import MQADMIN, Catalogue
from mqgateway.gateway.mqadmin.commands import PLACES, CommandEntry

PAIRS = Catalogue("program", "package", {"topic list": CommandEntry("topics", "list topics")})


def test_catalogue_of_mqadmin_has_its_commands() -> None:
    assert MQADMIN.places is PLACES


@pytest.mark.parametrize(
    ("arguments", "name", "rest"),
    [
        (["topic", "list", "-c"], "topic list", ["-c"]),
        (["topic", "lost", "-c"], "topic", ["lost", "-c"]),
        (["topic"], "topic", []),
    ],
)
def test_catalogue_splits_name_of_one_or_two_words_from_arguments(
    arguments: list[str], name: str, rest: list[str]
) -> None:
    assert PAIRS.split(arguments) == (name, rest)
