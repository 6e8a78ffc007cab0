"""The manual page of the resource commands; pure.

    python -m mqgateway.gateway.resources.manual > docs/mqgateway.1

Its language is that of `man(7)`.
"""

from __future__ import annotations

import sys

from mqgateway.gateway.mqadmin.manual import ENVIRONMENT, EXIT_STATUS, escaped, page
from mqgateway.gateway.resources import CATALOGUE, ELSEWHERE

_HEAD = """\
.TH MQGATEWAY 1 "" mqgateway "User Commands"
.SH NAME
mqgateway \\- RocketMQ servers, and commands for topics, groups and messages
.SH SYNOPSIS
.nf
\\fBmqgateway\\fR \\fIresource command\\fR [\\fIarguments\\fR] [\\fIoptions\\fR]
\\fBmqgateway\\fR \\fIresource\\fR [\\fIcommand\\fR] \\fB\\-\\-help\\fR
\\fBmqgateway \\-\\-completion bash\\fR|\\fBzsh\\fR|\\fBfish\\fR
\\fBmqgateway \\-\\-help\\fR
.fi
.SH DESCRIPTION
The commands for the resources of RocketMQ's servers, Apache's and mqgateway's: topics, groups, messages,
offsets and so on. \\fBmqgateway \\-\\-help\\fR also lists the commands that run servers, send and consume
messages, and work on stores.
.PP
An option is \\fB\\-t\\fR \\fIvalue\\fR, \\fB\\-\\-topic\\fR \\fIvalue\\fR or
\\fB\\-\\-topic=\\fR\\fIvalue\\fR. A long name may be abbreviated if it stays unique. Options that follow
the name of a command in upper case may be given by their position alone.
"""


def resource_page() -> str:
    """Return the page."""
    return page(CATALOGUE, _HEAD, _tail())


def _tail() -> str:
    others = "".join(f".TP\n.B {escaped(name)}\n{escaped(about)}\n" for name, (_, about) in ELSEWHERE.items())
    return f"""\
.SS Others
Their help lists their options.
{others}{EXIT_STATUS}.PP
\\fBdoctor\\fR ends with 5 if it found a cause, \\fBconfig diff\\fR if there are differences.
{ENVIRONMENT}.SH FILES
.TP
.I ~/.config/mqgateway/profiles.toml
profiles, below \\fBXDG_CONFIG_HOME\\fR if that is set
.TP
.I ~/.local/state/mqgateway/offset\\-resets.jsonl
offsets before resets, below \\fBXDG_STATE_HOME\\fR if that is set
.SH SEE ALSO
.BR mqadmin (1)
"""


if __name__ == "__main__":
    sys.stdout.write(resource_page())
