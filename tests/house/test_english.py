"""Every file uses the terms of the field."""

from tests.house.english import _in_page, _in_source, checked_files, findings


def test_files_have_no_findings() -> None:
    assert not [f"{name}:{line}" for name in checked_files() for line in findings(name)]


def test_check_finds_each_kind_of_wording() -> None:
    source = '''
def test_who_is_told() -> None:
    """Whether it works.

    Nobody is told.
    """
    # The rest is in vain; `nobody` is a name.
'''
    found = [what for _, what in sorted(_in_source(source))]
    assert found == [
        "test name test_who_is_told",
        "docstring opens with 'Whether'",
        "'Nobody': write 'a named subject (client, broker, caller ...)'",
        "'is told': write 'is notified, is reported'",
        "'in vain': write 'unsuccessfully'",
    ]


def test_check_skips_code_in_pages() -> None:
    assert not list(_in_page("```sh\nit is told\n```\n`anew` [x](anew.md)\n    made anew\n"))
    assert [line for line, _ in _in_page("one\nmade anew\n")] == [2]
