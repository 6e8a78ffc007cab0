"""No request holds the loop for longer than the bound, whatever it holds: every code is asked.

With what is the most work only; `python -m tests.fuzz.holds` asks with everything, which takes long.
"""

import pytest

from tests.fuzz.holds import BOUND_MILLIS, all_codes, of_code, of_headers

CODES = [pytest.param(server, code, id=f"{server}-{code}") for server, code in all_codes()]


def test_no_header_holds_the_loop() -> None:
    hold = of_headers(BOUND_MILLIS)
    assert hold.millis <= BOUND_MILLIS, hold


@pytest.mark.parametrize(("server", "code"), CODES)
def test_no_request_holds_the_loop(server: str, code: int) -> None:
    hold = of_code(server, code, BOUND_MILLIS, worst=True)
    assert hold.millis <= BOUND_MILLIS, hold
