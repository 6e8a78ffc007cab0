"""The files of one scripted history of requests have these bytes, whatever changes inside the broker.

If they are meant to change, `python -m tests.support.gateway.broker.history` prints a new `history.txt`.
"""

from pathlib import Path

from tests.support.engine.store.history import lines
from tests.support.gateway.broker.history import live

KEPT = Path(__file__).with_name("history.txt")


def test_files_of_the_scripted_history_have_the_kept_bytes() -> None:
    assert lines(live()) == KEPT.read_text().splitlines()
