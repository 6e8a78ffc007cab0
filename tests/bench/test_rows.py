"""Rows have names of their own, and less of a row is still what its load can do."""

import pytest

from bench.rows import CONSUMING, FALLS, ROWS, SCALED_TO, choose


def test_names_are_unique() -> None:
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names)


def test_rows_are_chosen_in_the_tables_order() -> None:
    assert [row.name for row in choose(("pop", "sync-1"))] == ["sync-1", "pop"]
    assert choose(()) == ROWS


def test_an_unknown_row_is_refused() -> None:
    with pytest.raises(KeyError, match="no row 'sync-2'"):
        choose(("sync-2",))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_less_of_a_row_is_never_nothing(row: object) -> None:
    little = row.scaled(0.0001)  # type: ignore[attr-defined]
    least = SCALED_TO if little.work in CONSUMING else 1
    assert little.amount == least
    assert row.scaled(1) == row  # type: ignore[attr-defined]


def test_servers_are_shared_by_rows_with_the_same_wishes_only() -> None:
    by_name = {row.name: row for row in ROWS}
    assert by_name["sync-1"].server == by_name["async"].server
    kinds = ("sync-1", "flush-1", "sql", "transactions", "rest", "topics-64", "topics-256", "async-signed")
    assert len({by_name[name].server for name in kinds}) == len(kinds)


def test_falls_are_between_rows_that_exist() -> None:
    names = {row.name for row in ROWS}
    assert all({first, second} <= names for first, second, _ in FALLS)
