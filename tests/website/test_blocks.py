"""Code blocks of Markdown pages."""

from website.blocks import Block, Call, blocks, calls, indented_blocks, missing_lines

PAGE = """\
# A page

```sh
one
```

- an item

  ```text
  two
   three
  ```

    no block, as it belongs to the item

Text.

    a block without a fence
"""


def test_fenced_blocks_have_language_and_line() -> None:
    assert blocks(PAGE) == [Block("sh", "one\n", 4), Block("text", "two\n three\n", 10)]


def test_indented_block_outside_of_lists_is_found() -> None:
    assert indented_blocks(PAGE) == [18]


def test_console_block_is_split_at_prompts() -> None:
    assert calls("$ a b\nout\n$ c\n") == [Call("a b", "out\n"), Call("c", "")]


def test_output_may_differ_in_numbers_ids_and_widths() -> None:
    printed = "name   7F0000014FCD7ECFD1A58B5D5B7D0001\nmore\nat 127.0.0.1:15000   12.5 s\n"
    assert not missing_lines("name 0A0000025DA2CD48B2D347B7B6B80001\nat 10.0.0.5:9876 1 s\n", printed)
    assert not missing_lines("na...\n...\nat ...\n", printed)


def test_missing_and_reordered_lines_are_found() -> None:
    assert missing_lines("b\na\n", "a\nb\n") == ["a"]
    assert missing_lines("gone\n", "here\n") == ["gone"]
