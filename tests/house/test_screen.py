"""Texts on the screen have no clause openings and no private words."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.house.english import screen_findings
from tests.house.messages import message_texts
from tests.house.screen import api_texts, command_texts, console_labels, metric_meanings, option_meanings

TEXTS = (option_meanings, metric_meanings, command_texts, console_labels, api_texts, message_texts)


@pytest.mark.parametrize("texts", TEXTS, ids=lambda texts: texts.__name__)
def test_screen_texts_have_no_findings(texts: Callable[[], Iterator[tuple[str, str]]]) -> None:
    found = [f"{name}: {text!r}: {finding}" for name, text in texts() for finding in screen_findings(text)]
    assert not found


def test_meanings_are_sentences_and_metrics_have_their_own() -> None:
    meanings = dict(metric_meanings())
    assert not [name for name, text in meanings.items() if not (text[:1].isupper() or text[:1].isdigit())]
    assert not [name for name, text in meanings.items() if not text.endswith(".")]


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("How long it waits.", "opens with 'How'"),
        ("whether it may consume", "opens with 'whether'"),
        ("Address clients are told to connect to.", "'are told'"),
        ("orderColumn: 'x' is no column", "'is no'"),
        ("the cursor is none of them", "'is none'"),
        ("there is no topic T; the receipt is no longer current", ""),
        ("Maximum number of sends in flight.", ""),
    ],
)
def test_check_finds_clause_openings_and_private_words(text: str, finding: str) -> None:
    found = list(screen_findings(text))
    assert (not found) if not finding else any(finding in one for one in found)
