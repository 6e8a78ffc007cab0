"""Shell completion of the words of `mqgateway`.

Resource commands and `admin` are declared like mqadmin's commands and are completed without click. Click
completes its own commands.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from mqgateway.gateway.mqadmin.catalogue import MQADMIN, Catalogue
from mqgateway.gateway.mqadmin.completion import Candidate, Offer, offered
from mqgateway.gateway.mqadmin.main import Surroundings, Tool
from mqgateway.gateway.mqadmin.shells import answer
from mqgateway.gateway.resources import ABOUT, CATALOGUE, ELSEWHERE, RUN_SERVERS


def complete(arguments: Sequence[str]) -> None:
    """Print the answer to a shell's completion request."""
    sys.stdout.write(answer(arguments, offer))


def offer(words: Sequence[str], current: str) -> Offer:
    """Return the candidates for the word `current`, which follows `words`."""
    resource, pair = "".join(words[:1]), " ".join(words[:2])
    if resource == "admin":
        return _declared(words[1:], current, MQADMIN)
    if pair in ELSEWHERE:
        return _clicks(words[2:], current, ELSEWHERE[pair][0], words[1])
    if resource not in ABOUT:
        return _clicks(words, current)
    found = _declared(words, current, CATALOGUE)
    if resource not in RUN_SERVERS or found.candidates or found.has_files:
        return found
    return _clicks(words, current)  # flags of the server that the resource runs


def _declared(words: Sequence[str], current: str, catalogue: Catalogue) -> Offer:
    tool = Tool(Surroundings(sys.stdout.write, sys.stderr.write), catalogue)
    return offered(words, current, tool.names, catalogue)


def _clicks(words: Sequence[str], current: str, module: str = "main", name: str = "main") -> Offer:
    """Return click's candidates for one of its commands."""
    from click.shell_completion import ShellComplete  # with all commands slow to load

    command = getattr(import_module(f"mqgateway.gateway.cli.{module}"), name)
    found = ShellComplete(command, {}, "mqgateway", "").get_completions(list(words), current)
    if any(one.type in ("file", "dir") for one in found):
        return Offer(has_files=True)
    return Offer([Candidate(one.value, one.help or "") for one in found])
