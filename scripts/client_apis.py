#!/usr/bin/env python3
"""Generate the classes of the blocking and the asyncio client from those of the core.

    .venv/bin/python scripts/client_apis.py

The core's classes are the specification: their constructors, and the signature and docstring of each public
method. The tables below add what the core cannot know. Written by hand is what differs between the two: the
bases in `gateway/client/blocking_facade.py` and `aio_facade.py`. Needs ruff, which formats what is written.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import indent
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[1] / "gateway" / "client"
IMPORTED = "mqgateway.gateway.client"
BY_HAND = {"start", "close"}
"""Methods of the bases."""
INSIDE = {
    *("check_transaction", "commit_offsets", "consume_directly", "rebalance", "route_known", "running_info"),
    *("end_iteration", "handled", "take", "topics"),
}
"""Methods of the core that the client calls, and that loops over consumers are made of."""
HIDDEN = {"self", "client", "environment", "tries"}
"""Parameters of the core only."""
IN_CONSTRUCTORS = {"environment": "Loop.shared()", "listener": "self._for_core(listener)"}
"""Arguments of the core's constructors that are not passed on as they are."""
LISTENER = "Listener"
"""The type of listeners, which each family has its own of."""
AWAITED = {"assign": '"assign(...)"', "subscribe": 'f"subscribe({topic!r})"'}
"""Methods that asyncio programs call before the start and may forget to await; their names in that error."""


class Api(NamedTuple):
    """A class to generate, from the class of that name in a module of the core."""

    name: str
    core: str
    base: str
    summary: str


class Family(NamedTuple):
    """A way to wait for the core. `bases` are those by hand that the other family has no need of."""

    name: str
    adjective: str
    bases: dict[str, str]
    is_async: bool


class Method(NamedTuple):
    """A method of the core. `waits`: its result is a Deferred."""

    name: str
    parameters: ast.arguments
    result: str
    docstring: str
    waits: bool


APIS = (
    Api("Producer", "producer", "Facade", "Sends messages."),
    Api("PushConsumer", "push", "Listening", "Gives messages to a listener."),
    Api("PullConsumer", "pull", "Facade", "Pulls on request."),
    Api("LitePullConsumer", "lite_pull", "Iterated", "Pulls ahead, and is polled."),
    Api("SimpleConsumer", "simple", "Iterated", "Receives messages, and acknowledges each."),
    Api("Admin", "admin", "Facade", f"Administers brokers and name servers: see `{IMPORTED}.admin`."),
)
FAMILIES = (
    Family("blocking", "Blocking", {"Producer": "Sending"}, is_async=False),
    Family("aio", "Asyncio", {}, is_async=True),
)


class Core:
    """A class of the core as its source has it."""

    def __init__(self, api: Api) -> None:
        module = ast.parse((PACKAGE / f"{api.core}.py").read_text())
        self._api = api
        self._imports = {
            name.asname or name.name: f"from {node.module} import {ast.unparse(name)}"
            for node in module.body
            if isinstance(node, ast.ImportFrom)
            for name in node.names
        }
        self.type_variables = {
            ast.unparse(node.targets[0]): ast.unparse(node)
            for node in module.body
            if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("TypeVar(")
        }
        assigned = {ast.unparse(node.targets[0]) for node in module.body if isinstance(node, ast.Assign)}
        self._own = assigned - set(self.type_variables)
        classes = {node.name: node.body for node in module.body if isinstance(node, ast.ClassDef)}
        self._functions = [
            node for node in classes[api.name] if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        ]

    @property
    def constructor(self) -> ast.arguments:
        """The parameters of the constructor."""
        return next(node.args for node in self._functions if node.name == "__init__")

    def methods(self) -> Iterator[Method]:
        """The methods that programs call."""
        for node in self._functions:
            if node.name.startswith("_") or node.name in BY_HAND | INSIDE:
                continue
            assert node.returns is not None
            result = ast.unparse(node.returns)
            deferred = re.fullmatch(r"Deferred\[(.+)\]", result)
            waits = isinstance(node, ast.AsyncFunctionDef) or deferred is not None
            yield Method(
                node.name,
                node.args,
                deferred[1] if deferred else result,
                ast.get_docstring(node) or "",
                waits,
            )

    def imports(self, names: Iterable[str]) -> Iterator[str]:
        """The imports of those names that are not built in."""
        for name in names:
            if name in self._own:
                yield f"from {IMPORTED}.{self._api.core} import {name}"
            elif name in self._imports:
                yield self._imports[name]


def shown(parameters: ast.arguments) -> ast.arguments:
    """The parameters that programs have, without self. None that is left out of `args` has a default."""
    keywords = zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
    kept = {one: default for one, default in keywords if one.arg not in HIDDEN}
    return ast.arguments(
        posonlyargs=[],
        args=[one for one in parameters.args if one.arg not in HIDDEN],
        defaults=list(parameters.defaults),
        kwonlyargs=list(kept),
        kw_defaults=list(kept.values()),
        kwarg=parameters.kwarg,
    )


def passed(parameters: ast.arguments) -> list[str]:
    """The arguments of a call that passes on what it was given."""
    return [
        *(one.arg for one in parameters.args),
        *(f"{one.arg}={one.arg}" for one in parameters.kwonlyargs),
    ]


def signature(parameters: ast.arguments) -> str:
    """The parameters after self."""
    text = ast.unparse(parameters)
    return f"self, {text}" if text else "self"


def constructor(api: Api, parameters: ast.arguments) -> Iterator[str]:
    """The constructor: the core's class is made in the client's thread."""
    own = shown(parameters)
    given = [one.arg for one in parameters.args if one.arg != "self"]
    making = [IN_CONSTRUCTORS.get(name, name) for name in given]
    own.args.append(ast.arg("namesrv", ast.parse("str | None", mode="eval").body))
    own.defaults.append(ast.Constant(None))
    making += [*(f"{one.arg}={one.arg}" for one in own.kwonlyargs), "**given"]
    yield f"def __init__({signature(own)}) -> None:"
    yield f"    super().__init__(lambda **given: {api.core}.{api.name}({', '.join(making)}),"
    yield "        namesrv=namesrv, settings=settings)"


def method(family: Family, of: Method) -> Iterator[str]:
    """A method that waits for the core's."""
    own = shown(of.parameters)
    arguments = ", ".join([f"self._core.{of.name}", *passed(own)])
    call = f"self._{'call' if of.waits else 'do'}({arguments})"
    is_awaited = family.is_async and of.name in AWAITED
    result = f"Coroutine[Any, Any, {of.result}]" if is_awaited else of.result
    start = "async def" if family.is_async and not is_awaited else "def"
    yield f"{start} {of.name}({signature(own)}) -> {result}:"
    yield indent(f'"""{of.docstring}' + ("\n" if "\n\n" in of.docstring else "") + '"""', "    ")
    if is_awaited:
        yield f"    work = {call}"
        yield f"    return self._to_await({AWAITED[of.name]}, work)"
    else:
        waiting = f"await {call}" if family.is_async else call
        yield f"    {waiting}" if of.result == "None" else f"    return {waiting}"


def lines(family: Family, api: Api, core: Core) -> Iterator[str]:
    """A class."""
    yield f"class {api.name}({family.bases.get(api.name, api.base)}[{api.core}.{api.name}]):"
    yield f'    """{api.summary}"""'
    for function in (constructor(api, core.constructor), *(method(family, one) for one in core.methods())):
        yield ""
        yield indent("\n".join(function), "    ")


def module(family: Family) -> str:
    """The module of a family, formatted."""
    cores = {api: Core(api) for api in APIS}
    classes = {api: "\n".join(lines(family, api, core)) for api, core in cores.items()}
    imports = set(family_imports(family, used(*classes.values())))
    variables = set()
    for api, core in cores.items():
        names = used(classes[api])
        imports |= set(core.imports(names - {LISTENER}))
        variables |= {text for name, text in core.type_variables.items() if name in names}
    if variables:
        imports.add("from typing import TypeVar")
    head = (
        "# Generated by scripts/client_apis.py from the classes of the core; change those.",
        f'"""{family.adjective} producers, consumers and administration; see `{IMPORTED}.{family.name}`."""',
        "",
        "from __future__ import annotations",
    )
    return formatted("\n".join((*head, *sorted(imports), *sorted(variables), *classes.values())))


def family_imports(family: Family, names: set[str]) -> Iterator[str]:
    """The imports of those names that the classes of the core have not."""
    for name in {*(family.bases.get(api.name, api.base) for api in APIS), LISTENER}:
        yield f"from {IMPORTED}.{family.name}_facade import {name}"
    for api in APIS:
        yield f"from {IMPORTED} import {api.core}"
    yield f"from {IMPORTED}.loop import Loop"
    if "Coroutine" in names:
        yield "from collections.abc import Coroutine"


def used(*texts: str) -> set[str]:
    """The names in texts of Python."""
    return {node.id for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}


def formatted(text: str) -> str:
    """The text with sorted imports and in the project's format."""
    for command in (("check", "--select", "I", "--fix", "--quiet"), ("format",)):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(PACKAGE / "classes.py"), "-"]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout
    return text


def generated() -> dict[Path, str]:
    """The text of each file."""
    return {PACKAGE / f"{family.name}_classes.py": module(family) for family in FAMILIES}


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text)
