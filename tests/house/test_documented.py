"""Public methods have docstrings."""

from tests.house.documented import undocumented


def test_public_methods_have_docstrings() -> None:
    assert not list(undocumented())
