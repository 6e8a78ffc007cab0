import pytest

from mqgateway.engine.tier.object_store import NAME_MAX, PART_MAX, check_name


@pytest.mark.parametrize(
    "name", ["a", "A-9._=%+", "ranges/0/00000000000000000000.idx", "x" * PART_MAX, "-a/_b/=c/%d/+e"]
)
def test_names_of_letters_digits_and_some_signs_pass(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/a",
        "a/",
        "a//b",
        ".",
        "..",
        "a/../b",
        ".hidden",
        "a/.hidden",
        "a\\b",
        "a b",
        "a\n",
        "ä",
        "a\0",
        "x" * (PART_MAX + 1),
        "/".join(["x"] * NAME_MAX),
    ],
)
def test_names_that_lead_out_of_a_folder_or_differ_between_stores_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not a name of an object"):
        check_name(name)
