"""Files, rows and errors of the migration commands."""

from pathlib import Path

import pytest

from mqgateway.gateway.cli.migrate_files import errors_reported, print_row, write_file
from mqgateway.gateway.migration.plan import MigrationError


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (MigrationError("it differs"), 1, "mqgateway: error: it differs\n"),
        (KeyboardInterrupt(), 130, "interrupted: run the command again to continue\n"),
    ],
)
def test_error_is_a_line_and_an_exit_code(
    error: BaseException, code: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended, errors_reported():
        raise error
    assert ended.value.code == code and capsys.readouterr().err == text


def test_file_is_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for data in (b"one", b"two"):
        write_file(str(tmp_path / "plan"), data)
        assert (tmp_path / "plan").read_bytes() == data
    assert [path.name for path in tmp_path.iterdir()] == ["plan"]
    print_row({"a": "é"})
    assert capsys.readouterr().out == '{"a": "é"}\n'
