"""The layout of help."""

from __future__ import annotations

from mqgateway.gateway.mqadmin.declaration import find
from mqgateway.gateway.mqadmin.usage import WIDTH, closest, help_of, overview


def _usage(name: str) -> list[str]:
    command = find(name)
    assert command is not None
    lines = help_of(command).split("\n")
    return lines[: next(i for i, line in enumerate(lines) if line.startswith(" -"))]


STANDARD = """\
usage: mqadmin topicList [-c] [-h] [-n <arg>]
usage: mqadmin updateTopic [-a <arg>] -b <arg> | -c <arg>  [-h] [-n <arg>] [-o <arg>] [-p <arg>] [-r <arg>]
       [-s <arg>] -t <arg> [-u <arg>] [-w <arg>]
usage: mqadmin updateUser -b <arg> | -c <arg>  [-h] [-n <arg>] -p <arg> | -s <arg> | -t <arg>   -u <arg>
usage: mqadmin resetOffsetByTime [-b <arg>] [-c <arg>] [-f <arg>] -g <arg> [-h] [-n <arg>] [-o <arg>] [-q
       <arg>] -s <arg> -t <arg>
usage: mqadmin updateSubGroup [-a <arg>] [--attributes <arg>] [-b <arg>] [-c <arg>] [-d <arg>] -g <arg> [-h]
       [-i <arg>] [-m <arg>] [-n <arg>] [-o <arg>] [-p <arg>] [-q <arg>] [-r <arg>] [-s <arg>] [-w <arg>]
"""


def test_the_first_lines_are_those_of_the_standard() -> None:
    names = ("topicList", "updateTopic", "updateUser", "resetOffsetByTime", "updateSubGroup")
    assert "\n".join(line for name in names for line in _usage(name)) + "\n" == STANDARD


def test_no_line_is_wider_than_the_standards() -> None:
    command = find("updateTopic")
    assert command is not None
    assert max(map(len, help_of(command).split("\n"))) <= WIDTH
    assert " -w,--writeQueueNums <arg>   number of write queues" in help_of(command)


def test_the_overview_names_all_commands() -> None:
    assert "   topicList                           list all topics" in overview()


def test_names_that_were_meant_are_found() -> None:
    assert closest("topiclist")[0] == "topicList"
    assert closest("zzz") == []
