"""Subscriptions by tag, as parsed by RocketMQ."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.errors import FilterError
from mqgateway.engine.filters import TopicSubscription, compile_subscription, is_tag_type
from mqgateway.engine.message import tags_code


@pytest.mark.parametrize("expression", ["*", "", None])
def test_everything(expression: str | None) -> None:
    data = compile_subscription("t", expression)
    assert data == TopicSubscription("t", "*")
    assert data.accepted_codes is None
    assert data.match(0)
    assert data.match(12345)


@pytest.mark.parametrize(
    ("expression", "tags"),
    [
        ("a||b", {"a", "b"}),
        (" a || b ", {"a", "b"}),
        ("a||", {"a"}),
        ("||a", {"a"}),
        ("a| |b", {"a| |b"}),
        ("|", {"|"}),
        (" ", set()),
        ("* ", {"*"}),
    ],
)
def test_tags_are_split_as_the_standard_splits_them(expression: str, tags: set[str]) -> None:
    data = compile_subscription("t", expression, "TAG", 7)
    assert data.tags_set == tags
    assert data.code_set == {tags_code(tag) for tag in tags}
    assert (data.sub_string, data.sub_version, data.expression_type) == (expression, 7, "TAG")


def test_separators_alone_are_refused() -> None:
    with pytest.raises(FilterError, match="subString split error"):
        compile_subscription("t", "||")


def test_hashes_are_signed() -> None:
    """Java's hash of this text is negative, and so is the code in the unit."""
    data = compile_subscription("t", "polygenelubricants")
    assert data.code_set == {-(2**31)}
    assert data.match(-(2**31))
    assert not data.match(2**31)


def test_message_without_tags_is_unwanted_by_clients_that_name_tags() -> None:
    assert not compile_subscription("t", "a").match(tags_code(None))


def test_a_unit_without_a_code_passes() -> None:
    assert compile_subscription("t", "a").match(None)


def test_class_filters_pass_everything() -> None:
    assert TopicSubscription("t", "a", class_filter_mode=True).match(1)


def test_the_number_of_tags_is_limited() -> None:
    tags = "||".join(f"t{i}" for i in range(5))
    assert len(compile_subscription("t", tags, tags_max=5).tags_set) == 5
    with pytest.raises(FilterError, match="more than 4 tags"):
        compile_subscription("t", tags, tags_max=4)


def test_other_types_are_kept_as_they_are() -> None:
    data = compile_subscription("t", "a > 5", "SQL92")
    assert (data.sub_string, data.expression_type, data.tags_set) == ("a > 5", "SQL92", frozenset())
    for empty in ("", None):
        with pytest.raises(FilterError, match="Expression can't be null! SQL92"):
            compile_subscription("t", empty, "SQL92")


def test_which_types_are_tags() -> None:
    assert [is_tag_type(kind) for kind in (None, "", "TAG", "SQL92", "tag")] == [
        True,
        True,
        True,
        False,
        False,
    ]


@given(
    st.sets(st.text(st.characters(exclude_characters="|", exclude_categories=["Cs", "Z", "C"]), min_size=1))
)
def test_subscribed_tags_match(tags: set[str]) -> None:
    data = compile_subscription("t", "||".join(tags) or "none")
    assert all(data.match(tags_code(tag)) for tag in tags)
