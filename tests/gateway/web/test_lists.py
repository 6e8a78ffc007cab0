import pytest

from mqgateway.gateway.web.lists import Row, has, page_of
from mqgateway.gateway.web.route import ApiError

ROWS: list[Row] = [(number % 3, f"t{number}") for number in range(10)]


@pytest.mark.parametrize("descending", [False, True])
def test_pages_follow_one_another(descending: bool) -> None:
    cursor, names = "", []
    for _ in range(4):
        page = page_of(ROWS, 3, cursor, descending=descending)
        assert page.total == 10
        names += page.names
        cursor = page.cursor
    assert not cursor
    assert names == [name for _, name in sorted(ROWS, reverse=descending)]


@pytest.mark.parametrize("descending", [False, True])
def test_deleted_rows_do_not_shift_later_pages(descending: bool) -> None:
    page = page_of(ROWS, 4, "", descending=descending)
    left = [row for row in ROWS if row[1] not in page.names]
    again = page_of(left, 4, page.cursor, descending=descending)
    assert again.names == page_of(ROWS, 8, "", descending=descending).names[4:]


def test_a_cursor_of_elsewhere_is_refused() -> None:
    other = page_of([("a", "a"), ("b", "b")], 1, "").cursor
    for cursor in ("nonsense", "AAAA", other):
        with pytest.raises(ApiError):
            page_of(ROWS, 3, cursor)


def test_names_are_searched_in_any_case() -> None:
    assert has("Orders", "ORD") and has("x", "") and not has("Orders", "bill")
