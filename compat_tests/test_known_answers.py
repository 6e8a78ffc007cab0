"""What the official client answers to fixed questions is what the unit tests say it answers."""

from compat_tests.support import known_answers
from tests.gateway.client.answers import JAVA


def test_the_known_answers_are_still_known() -> None:
    assert known_answers.ask() == JAVA
