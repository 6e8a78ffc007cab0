"""Calls of the resource commands, and the notes stored between two calls."""

from pathlib import Path

import pytest

from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.mqadmin.declaration import every, find
from mqgateway.gateway.resources import ABOUT, CATALOGUE, ELSEWHERE, PLACES
from mqgateway.gateway.resources.main import FileNotebook, addressed, state_folder


def test_resource_alone_lists_all_its_commands() -> None:
    words, catalogue = addressed(["message"])
    assert not words
    assert [*catalogue.places, *catalogue.more] == [
        "message get",
        "message find",
        "message tail",
        "message send",
    ]
    assert addressed(["message", "--help"])[1].places == catalogue.places


@pytest.mark.parametrize("words", [["doctor"], ["doctor", "G"], ["topic", "list"], ["topic", "typo"]])
def test_anything_else_is_a_call(words: list[str]) -> None:
    assert addressed(words) == (words, CATALOGUE)


def test_every_command_is_in_its_module_and_every_resource_is_explained() -> None:
    assert [one.name for one in every(CATALOGUE)] == list(PLACES)
    assert {name.partition(" ")[0] for name in (*PLACES, *ELSEWHERE)} == ABOUT.keys()


def test_operands_of_a_command_have_names_of_their_own() -> None:
    for one in every(CATALOGUE):
        names = [option.long for option in one.options if option.is_operand]
        assert len(set(names)) == len(names), one.name


def test_commands_of_mqadmin_are_none_of_these() -> None:
    assert find("topicList", CATALOGUE) is None
    assert find("topic list") is None


def test_notes_persist_and_are_private(tmp_path: Path) -> None:
    path = tmp_path / "new" / "notes.jsonl"
    assert FileNotebook(path).read() == ""
    FileNotebook(path).write("first\n")
    FileNotebook(path).write("second\n")
    assert FileNotebook(path).read() == "second\n"
    assert path.stat().st_mode & 0o077 == 0
    assert [one.name for one in path.parent.iterdir()] == ["notes.jsonl"]


def test_notes_that_cannot_be_kept_are_an_error_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ClientError, match="file/notes cannot be written"):
        FileNotebook(tmp_path / "file" / "notes").write("text")
    (tmp_path / "notes").write_bytes(b"\xff")
    with pytest.raises(ClientError, match="notes cannot be read"):
        FileNotebook(tmp_path / "notes").read()


def test_notes_lie_where_the_user_wants_such_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/var/mine")
    assert state_folder() == Path("/var/mine/mqgateway")
    monkeypatch.delenv("XDG_STATE_HOME")
    assert state_folder() == Path.home() / ".local/state/mqgateway"
