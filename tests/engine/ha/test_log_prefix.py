"""A slave follows a master only if its log is a prefix of the master's."""

import pytest

from mqgateway.engine.ha.log_prefix import Masters, Own, where_to_begin, why_not

OWN = Own(400, b"record", 500)


def test_the_same_record_in_the_same_place_is_the_same_log() -> None:
    assert why_not(OWN, Masters(b"record", 0, 900)) == ""


@pytest.mark.parametrize(
    ("master", "why"),
    [
        (Masters(b"other", 0, 900), "has another record at 400"),
        (Masters(None, 0, 900), "has no record at 400"),
        (Masters(None, 0, 450), "we have what it does not have"),
        (Masters(None, 500, 900), "the data between is deleted"),
    ],
)
def test_everything_else_is_refused_and_says_why(master: Masters, why: str) -> None:
    assert why in why_not(OWN, master)


@pytest.mark.parametrize(
    ("first", "end", "begin"), [(0, 2500, 1), (1000, 2500, 1000), (2000, 2500, 0), (0, 500, 0), (-1, 0, 0)]
)
def test_request_for_whole_log_is_its_first_offset(first: int, end: int, begin: int) -> None:
    """0 where the master starts there by default."""
    assert where_to_begin(first, end, 1000) == begin
