"""A file of a compacted topic is shown."""

from __future__ import annotations

from pathlib import Path

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.store.record import blank
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.mqadmin import main
from tests.support.engine.store.compacting import record
from tests.support.gateway.mqadmin.tool import ScriptedTool


def test_messages_of_a_file_up_to_where_none_follows(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000"
    path.write_bytes(record(3, "k", b"one") + record(7, None, b"two") + blank(64) + bytes(56))
    tool = ScriptedTool(ManualClock(), lambda address, request: RemotingCommand.response(0))
    assert tool.run(f"dumpCompactionLog -f {path}") == main.DONE, tool.err
    first, second = tool.out.splitlines()
    assert first.startswith("MessageExt [brokerName=null, queueId=0, ") and "queueOffset=3, " in first
    assert "KEYS=k" in first and "body=null, " in first
    assert "queueOffset=7, " in second
    output = tool.json(f"dumpCompactionLog -f {path}")
    assert [(row["queueOffset"], row["body"]) for row in output["rows"]] == [(3, "one"), (7, "two")]


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    tool = ScriptedTool(ManualClock(), lambda address, request: RemotingCommand.response(0))
    assert tool.run("dumpCompactionLog") == main.USAGE
    assert tool.err.startswith("mqadmin: error: missing: -f (--")
    assert tool.run(f"dumpCompactionLog -f {tmp_path}/none") == main.USAGE
    assert "No such file or directory" in tool.err
    assert tool.run(f"dumpCompactionLog -f {tmp_path}") == main.USAGE and "Is a directory" in tool.err
