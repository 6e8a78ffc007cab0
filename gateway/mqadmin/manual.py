"""Manual pages made of the declarations of commands, and that of mqadmin; pure.

    python -m mqgateway.gateway.mqadmin.manual > docs/mqadmin.1

Its language is that of `man(7)`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from mqgateway.gateway.mqadmin.catalogue import MQADMIN, Catalogue
from mqgateway.gateway.mqadmin.declaration import Command, CommandOption, NameKind, every
from mqgateway.gateway.mqadmin.parsing import HELP, NAME_SERVERS, OURS

_HEAD = """\
.TH MQADMIN 1 "" mqgateway "User Commands"
.SH NAME
mqadmin \\- administer RocketMQ name servers, brokers and controllers
.SH SYNOPSIS
.nf
\\fBmqadmin\\fR \\fIcommand\\fR [\\fIoptions\\fR]
\\fBmqadmin help\\fR [\\fIcommand\\fR]
\\fBmqadmin \\-\\-batch\\fR [\\fIcommon options\\fR] < \\fIcalls\\fR
\\fBmqadmin \\-\\-completion bash\\fR|\\fBzsh\\fR|\\fBfish\\fR
.fi
.SH DESCRIPTION
The commands, options and output of Apache RocketMQ's mqadmin, for Apache's servers and for mqgateway's.
.PP
An option is \\fB\\-t\\fR \\fIvalue\\fR, \\fB\\-\\-topic\\fR \\fIvalue\\fR or
\\fB\\-\\-topic=\\fR\\fIvalue\\fR. A long name may be abbreviated if it stays unique.
.PP
With \\fB\\-\\-batch\\fR each line of standard input is a call, with the options that all have after it.
Words are quoted as in a shell, and all calls share their connections.
"""

EXIT_STATUS = """\
.SH EXIT STATUS
.TP
.B 0
success
.TP
.B 1
failure; the reason is on standard error
.TP
.B 2
wrong usage
.TP
.B 3
there is no such topic, group, message, broker or cluster
.TP
.B 4
the command succeeded on some servers and failed on others
.TP
.B 130
interrupted
.TP
.B 141
standard output was closed by its reader
"""

ENVIRONMENT = """\
.SH ENVIRONMENT
.TP
.B NAMESRV_ADDR
name servers, if \\fB\\-n\\fR is not given
.TP
.BR ROCKETMQ_ACCESS_KEY ", " ROCKETMQ_SECRET_KEY
credentials that sign requests, if \\fB\\-\\-access\\-key\\fR and \\fB\\-\\-secret\\-key\\fR are not given
.TP
.B ROCKETMQ_HOME
folder of \\fIconf/tools.yml\\fR, which contains \\fIaccessKey\\fR and \\fIsecretKey\\fR
"""

_TAIL = f"""\
{EXIT_STATUS}{ENVIRONMENT}.TP
.B MQADMIN_EXIT_ZERO
1: the exit status is always 0, as that of Apache's tool
.SH EXAMPLES
.nf
mqadmin updateTopic \\-n 127.0.0.1:9876 \\-c DefaultCluster \\-t Orders \\-r 8 \\-w 8
mqadmin consumerProgress \\-g billing \\-\\-json
mqadmin resetOffsetByTime \\-g billing \\-t Orders \\-s now \\-\\-dry\\-run
eval "$(mqadmin \\-\\-completion bash)"
.fi
"""

_VALUES = {NameKind.FILE: "file", NameKind.ADDRESS: "host:port"}


def page(catalogue: Catalogue = MQADMIN, head: str = _HEAD, tail: str = _TAIL) -> str:
    """Return the page of a program, with these sections before and after those made of declarations."""
    lines = [head, ".SH COMMON OPTIONS\n", *_options((NAME_SERVERS, HELP, *OURS)), ".SH COMMANDS\n"]
    for command in every(catalogue):
        lines += _command(command, catalogue)
    return "".join(lines) + tail


def _command(command: Command, catalogue: Catalogue) -> Iterator[str]:
    operands = [one for one in command.options if one.is_operand]
    words = (one.long.upper() if one.required else f"[{one.long.upper()}]" for one in operands)
    yield f".SS {escaped(' '.join((command.name, *words)))}\n"
    yield f"{escaped(catalogue.places[command.name].about)}\n"
    yield from _options(command.options)
    if examples := catalogue.examples.get(command.name):
        yield "".join((".PP\n.nf\n", *(f"{escaped(one)}\n" for one in examples), ".fi\n"))


def _options(options: Iterable[CommandOption]) -> Iterator[str]:
    for one in options:
        names = [f"\\fB\\-{escaped(one.letters)}\\fR"] * bool(one.letters)
        if " " not in one.long.strip():
            names.append(f"\\fB\\-\\-{escaped(one.long.strip())}\\fR")
        value = f" \\fI{escaped(_value(one))}\\fR" if one.takes_value else ""
        needed = " (required)" if one.required else " (one of these is required)" if one.group else ""
        yield f".TP\n{', '.join(names)}{value}\n{escaped(one.about + needed)}\n"


def _value(option: CommandOption) -> str:
    if isinstance(option.values, tuple):
        return "|".join(option.values) or "value"
    return _VALUES.get(option.values, option.values.value)


def escaped(text: str) -> str:
    """Return a text whose dashes and backslashes are shown as they are, and which begins no request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text


if __name__ == "__main__":
    sys.stdout.write(page())
