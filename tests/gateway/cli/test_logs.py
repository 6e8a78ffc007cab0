"""Log lines: text for people, JSON for programs, both on standard error."""

import json
import logging
from datetime import datetime
from pathlib import Path

import pytest

from mqgateway.gateway.cli import logs


def test_json_lines_carry_the_events_fields(capsys: pytest.CaptureFixture[str]) -> None:
    logs.start_logging("json", "info")
    logging.getLogger("mqgateway.gateway.broker").info("registered", extra={"nameServer": "127.0.0.1:9876"})
    line = json.loads(capsys.readouterr().err)
    assert line["message"] == "registered"
    assert line["level"] == "INFO"
    assert line["logger"] == "mqgateway.gateway.broker"
    assert line["nameServer"] == "127.0.0.1:9876"
    assert datetime.fromisoformat(line["time"]).tzinfo is not None


def test_text_lines_keep_to_the_level(capsys: pytest.CaptureFixture[str]) -> None:
    logs.start_logging("text", "warning")
    logging.getLogger("gateway").info("not shown")
    logging.getLogger("gateway").warning("shown")
    assert capsys.readouterr().err.rstrip().endswith("WARNING gateway: shown")


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_peer_can_neither_begin_a_line_nor_fill_the_log(
    form: logs.LogFormat, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.start_logging(form, "info")
    logging.getLogger("gateway").info("topic %s is made", "T\r\n2026 ERROR \x1b[31m" + "x" * 100_000)
    written = capsys.readouterr().err
    assert written.count("\n") == 1
    assert not any(control in written.rstrip("\n") for control in "\n\r\x1b")
    assert len(written) < logs.MESSAGE_MAX + 200
    assert "(100033 characters)" in written


def test_message_that_does_not_fit_its_arguments_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    logs.start_logging("text", "info")
    logging.getLogger("gateway").info("%d changes of %s", "topics.json", 3)
    assert "%d changes of %s ('topics.json', 3)" in capsys.readouterr().err


def test_a_process_among_others_says_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    logs.start_logging("text", "info", "cluster%s_b_0")
    logging.getLogger("gateway").info("shown")
    assert "INFO    cluster%s_b_0 gateway: shown" in capsys.readouterr().err
    logs.start_logging("json", "info", "cluster_b_0")
    logging.getLogger("gateway").info("shown")
    assert json.loads(capsys.readouterr().err)["broker"] == "cluster_b_0"


def test_with_a_folder_lines_go_to_its_files_and_warnings_to_standard_error_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.start_logging("json", "info", folder=str(tmp_path), servers=["broker"])
    log = logging.getLogger("mqgateway.gateway.broker")
    log.info("began")
    log.warning("mind\nthe gap")
    logging.getLogger("mqgateway.stats").info("[A] [b]")
    said = [json.loads(line) for line in (tmp_path / "broker.log").read_text().splitlines()]
    assert [line["message"] for line in said] == ["began", "mind\\x0athe gap"]
    assert [json.loads(line)["level"] for line in capsys.readouterr().err.splitlines()] == ["WARNING"]
    assert "[A] [b]" in (tmp_path / "stats.log").read_text()
    logging.getLogger().handlers[-1].close()


def test_counts_of_every_minute_are_for_files_only(capsys: pytest.CaptureFixture[str]) -> None:
    logs.start_logging("text", "info")
    logging.getLogger("mqgateway.stats").info("[A] [b]")
    assert capsys.readouterr().err == ""
