"""The shells that complete our commands: what each is told to do, how it reads what is offered; pure.

A shell calls `mqadmin --complete SHELL` (or `mqgateway`) with the words typed so far, the one under the
cursor last. Bash takes words apart at colons, and gives the line instead. The answer is a candidate a line,
or `:files` alone.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence

from mqgateway.gateway.mqadmin.completion import Candidate, Offer

_FILES = ":files"
_SAFE = re.compile(r"[\w%.:/@+,=|-]+")
"""What no shell gives a meaning to; names come from servers. A bar has one, and is quoted."""

_SCRIPTS = {
    "bash": """\
_PROGRAM() {
    local IFS=$'\\n'
    COMPREPLY=($("$1" --complete bash "${COMP_LINE:0:COMP_POINT}" 2>/dev/null))
    if [ "${COMPREPLY[0]}" = :files ]; then
        COMPREPLY=()
        compopt -o default
    fi
}
complete -F _PROGRAM PROGRAM
""",
    "zsh": """\
#compdef PROGRAM
_PROGRAM() {
    local -a found
    found=("${(@f)$("${words[1]}" --complete zsh "${(@Q)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
    if [[ "$found[1]" == ":files" ]]; then
        _files
    elif [[ -n "$found[1]" ]]; then
        _describe PROGRAM found
    fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _PROGRAM "$@"
else
    compdef _PROGRAM PROGRAM
fi
""",
    "fish": """\
function __PROGRAM_complete
    set -l typed (commandline -opc)
    set -l found ($typed[1] --complete fish $typed[2..] (commandline -ct) 2>/dev/null)
    if test "$found[1]" = :files
        __fish_complete_path (commandline -ct)
    else
        printf '%s\\n' $found
    end
end
complete -c PROGRAM -f -a '(__PROGRAM_complete)'
""",
}
"""What a user's shell evaluates once, by shell."""

SHELLS = tuple(_SCRIPTS)


def script(shell: str, program: str) -> str:
    """What a user's shell evaluates once, so that it completes the words of a program."""
    return _SCRIPTS[shell].replace("PROGRAM", program)


def answer(arguments: Sequence[str], offered: Callable[[list[str], str], Offer]) -> str:
    """What a shell is answered that called with these: its name, and what it says of the line."""
    shell = arguments[0] if arguments else ""
    words, current = typed(shell, arguments[1:])
    return laid_out(shell, offered(words, current), current)


def typed(shell: str, arguments: Sequence[str]) -> tuple[list[str], str]:
    """The words after the name of the program, and the one that is being typed."""
    if shell != "bash":
        return list(arguments[:-1]), arguments[-1] if arguments else ""
    line = arguments[0] if arguments else ""
    words = _split(line)
    is_between = not line or line[-1].isspace()
    return (words[1:], "") if is_between else (words[1:-1], words[-1])


def laid_out(shell: str, offer: Offer, current: str) -> str:
    """What a shell is answered."""
    if offer.has_files:
        return f"{_FILES}\n"
    shown = [one for one in offer.candidates if _SAFE.fullmatch(one.word)]
    return "".join(f"{_line(shell, one, current)}\n" for one in shown)


def _line(shell: str, one: Candidate, current: str) -> str:
    if shell == "bash":
        # Its words end at these, and only what comes after the last of them is replaced.
        kept = max(current.rfind(":"), current.rfind("=")) + 1
        return shlex.quote(one.word[kept:]) if "|" in one.word else one.word[kept:]
    if shell == "zsh":
        word = one.word.replace(":", "\\:")
        return f"{word}:{one.about}" if one.about else word
    return f"{one.word}\t{one.about}" if one.about else one.word


def _split(line: str) -> list[str]:
    """The words of a line that may end within quotes."""
    for end in ("", '"', "'"):
        try:
            return shlex.split(line + end)
        except ValueError:
            continue
    return line.split()
