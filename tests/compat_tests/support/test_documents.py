"""Every block of every page is run, parsed, compared or excepted; settings and data can be parsed.

`compat_tests/test_documents.py` runs the blocks.
"""

from __future__ import annotations

import json
import re
import tomllib

import pytest
import yaml

from compat_tests.support.documents import KINDS, PAGES, ROOT, Kind, blocks_of, pages
from mqgateway.engine.options.properties import load_properties
from website.blocks import Block, indented_blocks
from website.reference import SERVERS

NAMES = pages()


@pytest.mark.parametrize("name", NAMES)
def test_block_has_a_known_language(name: str) -> None:
    assert not indented_blocks((ROOT / name).read_text()), "blocks are fenced, with their language"
    assert {block.language for block in blocks_of(name)} <= KINDS.keys()


def test_every_page_with_blocks_is_in_the_table() -> None:
    assert {name for name in NAMES if blocks_of(name)} == PAGES.keys()


@pytest.mark.parametrize("name", PAGES)
def test_every_entry_of_the_table_is_of_a_block(name: str) -> None:
    texts = [block.text for block in blocks_of(name)]
    assert not [start for start in PAGES[name].starts() if not any(text.startswith(start) for text in texts)]


@pytest.mark.parametrize("name", PAGES)
def test_commands_of_kafka_are_excepted(name: str) -> None:
    """They are programs in Java that the pages' environment does not have."""
    blocks = [block for block in blocks_of(name) if PAGES[name].kind_of(block) is not Kind.EXCEPTED]
    assert not [block.text for block in blocks if re.match(r"(?:\$ )?kafka-[a-z-]+\.sh ", block.text)]


@pytest.mark.parametrize("name", [name for name in PAGES if name not in ("docs/architecture.md",)])
def test_settings_and_data_can_be_parsed(name: str) -> None:
    for block in blocks_of(name):
        if KINDS[block.language] is Kind.PARSED:
            assert not problems(block), f"{name}:{block.line}"


def test_problems_name_unknown_settings_and_wrong_values() -> None:
    assert problems(Block("properties", "flushDiskTyp=ASYNC_FLUSH\n", 1))
    assert problems(Block("properties", "flushDiskType=NEVER\n", 1))
    assert not problems(Block("properties", "flushDiskType=SYNC_FLUSH\n", 1))


def problems(block: Block) -> list[str]:
    """Return what is wrong with a block; its settings must be those of one server."""
    if block.language == "json":
        json.loads(block.text)
    elif block.language == "yaml":
        list(yaml.safe_load_all(block.text))
    elif block.language == "toml":
        tomllib.loads(block.text)
    else:
        settings = load_properties(block.text, "page")
        found = [make().check(settings) for make in SERVERS.values()]
        return [str(problem) for problem in min(found, key=len)]
    return []
