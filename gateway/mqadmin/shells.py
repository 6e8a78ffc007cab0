"""Integration of completion into shells: the script of each shell, and the format of the candidates; pure.

A shell calls `mqadmin --complete SHELL` (or `mqgateway`) with the words typed so far, the one under the
cursor last. Bash splits words at colons and passes the line instead. The answer is one candidate a line, or
`:files` alone.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence

from mqgateway.gateway.mqadmin.completion import Candidate, Offer

_FILES = ":files"
_SAFE = re.compile(r"[\w%.:/@+,=|-]+")
"""Words without a meaning to shells; names come from servers. The bar has one, and is quoted."""

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
"""Completion scripts by shell; the user's shell evaluates one once."""

SHELLS = tuple(_SCRIPTS)


def script(shell: str, program: str) -> str:
    """Return the script that a user's shell evaluates once to complete the words of a program."""
    return _SCRIPTS[shell].replace("PROGRAM", program)


def answer(arguments: Sequence[str], offered: Callable[[list[str], str], Offer]) -> str:
    """Return the output for a shell that called with these arguments: its name, then the words or the
    line."""
    shell = arguments[0] if arguments else ""
    words, current = typed(shell, arguments[1:])
    return laid_out(shell, offered(words, current), current)


def typed(shell: str, arguments: Sequence[str]) -> tuple[list[str], str]:
    """Return the words after the name of the program, and the one that is being typed."""
    if shell != "bash":
        return list(arguments[:-1]), arguments[-1] if arguments else ""
    line = arguments[0] if arguments else ""
    words = _split(line)
    is_between = not line or line[-1].isspace()
    return (words[1:], "") if is_between else (words[1:-1], words[-1])


def laid_out(shell: str, offer: Offer, current: str) -> str:
    """Return the candidates in the format of a shell."""
    if offer.has_files:
        return f"{_FILES}\n"
    shown = [one for one in offer.candidates if _SAFE.fullmatch(one.word)]
    return "".join(f"{_line(shell, one, current)}\n" for one in shown)


def _line(shell: str, one: Candidate, current: str) -> str:
    if shell == "bash":
        # Bash ends words at these, and replaces only the text after the last of them.
        kept = max(current.rfind(":"), current.rfind("=")) + 1
        return shlex.quote(one.word[kept:]) if "|" in one.word else one.word[kept:]
    if shell == "zsh":
        word = one.word.replace(":", "\\:")
        return f"{word}:{one.about}" if one.about else word
    return f"{one.word}\t{one.about}" if one.about else one.word


def _split(line: str) -> list[str]:
    """Return the words of a line that may end within quotes."""
    for end in ("", '"', "'"):
        try:
            return shlex.split(line + end)
        except ValueError:
            continue
    return line.split()
