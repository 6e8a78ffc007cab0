"""The files of one scripted history have these bytes, whatever changes inside the store.

If they are meant to change, `python -m tests.support.engine.store.history` prints a new `history.txt`.
"""

from pathlib import Path

from tests.support.engine.store.history import digests, lines, live
from tests.support.engine.store.stores import Bench, message

KEPT = Path(__file__).with_name("history.txt")


def test_the_files_of_one_scripted_history_are_these_bytes() -> None:
    assert lines(live()) == KEPT.read_text().splitlines()


def test_a_byte_elsewhere_shows() -> None:
    one, other = Bench(), Bench()
    one.put(message(body=b"a"))
    other.put(message(body=b"b"))
    found = digests(one.disk), digests(other.disk)
    assert found[0].keys() == found[1].keys()
    assert [path for path in found[0] if found[0][path] != found[1][path]] == [f"commitlog/{0:020d}"]
