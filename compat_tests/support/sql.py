"""Random SQL92 expressions, and the official parser's results for them.

`python -m compat_tests.support.sql COUNT` prints cases with the official answers, one JSON object a line. It
made the unit tests' table `tests/engine/filters/standard_sql.jsonl`, with 1500.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from compat_tests.support.artifacts import program

SEED = 92
NAMES = ("a", "b", "c", "A", "_x", "$y1", "TAGS")
TEXTS = ("''", "'x'", "'abc'", "'it''s'", "'5'", "'5.0'", "'true'", "'TRUE'", "' 5'", "'é'", "'b'", "'NaN'")
NUMBERS = (
    *("0", "1", "5", "5L", "100", "2147483647", "2147483648", "9223372036854775807", "9007199254740993"),
    *("5.0", "5.", ".5", "5.5e0", "1e2", "4.9E-324"),
)
ODD_NUMBERS = ("007", "0x10", "0.0", "9223372036854775808", "1e400", "1e-400")
"""Numbers of which some are invalid and some end an expression early."""
CONSTANTS = ("TRUE", "false", "NULL")
VALUES = (
    *(
        "",
        "x",
        "abc",
        "it's",
        "5",
        "+5",
        "-5",
        "05",
        "5.0",
        "5.5",
        "1e2",
        " 5",
        "5 ",
        "true",
        "TRUE",
        "false",
    ),
    *("NaN", "Infinity", "-Infinity", "-0.0", "0.0", "0", "0x1p3", "5f", "5d", "1_0", "٥", "é", "é5", "b"),
    *("2147483647", "2147483648", "-2147483648", "9223372036854775807", "9223372036854775808", "1e400"),
)
NOISE = (
    *("(", ")", ",", "#", "=", "==", "!=", "NOT", "AND", "--", "/*", "*/", "'", "LIKE", ";", ".", "\n", "\t"),
    *("IS", "IN", "BETWEEN", "/* c */", "-- c\n", "5", "é"),
)

Case = dict[str, Any]


class Writer:
    """Writer of random expressions of all kinds, most of them valid."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def case(self) -> Case:
        """Return an expression with properties to evaluate it on."""
        choose = self.random
        expression = self.condition(choose.randrange(4))
        if choose.random() < 0.15:
            expression = self.spoiled(expression)
        properties = {name: choose.choice(VALUES) for name in NAMES if choose.random() < 0.6}
        return {"expression": expression, "properties": properties}

    def condition(self, depth: int) -> str:
        """Return an expression that is true, false or unknown."""
        choose = self.random
        if depth and choose.random() < 0.6:
            parts = [self.condition(depth - 1) for _ in range(choose.choice((1, 2, 2, 3)))]
            joined = f" {choose.choice(('AND', 'OR', 'and'))} ".join(parts)
            return choose.choice(("", "", "NOT ", "not", "+")) + f"({joined})"
        name, sign = choose.choice(NAMES), choose.choice(("=", "<>", "<", "<=", ">", ">="))
        maybe_not = choose.choice(("", "NOT "))
        return choose.choice(
            (
                f"{self.value()} {sign} {self.value()}",
                f"{name} {sign} {self.number()}",
                f"{name} {choose.choice(('=', '<>'))} {choose.choice(TEXTS)}",
                f"{self.value()} IS {maybe_not}NULL",
                f"{self.value()} {maybe_not}BETWEEN {self.number()} AND {self.number()}",
                f"{name} {maybe_not}IN ({', '.join(choose.choices(TEXTS, k=choose.randint(1, 6)))})",
                f"{self.value()} {maybe_not}{choose.choice(('CONTAINS', 'StartsWith', 'ENDSWITH'))} "
                + choose.choice(TEXTS),
                choose.choice((name, *CONSTANTS)),
                f"NOT {name}",
            )
        )

    def value(self) -> str:
        """Return an operand of a comparison."""
        choose = self.random
        kinds = (choose.choice(NAMES), self.number(), choose.choice(TEXTS), choose.choice(CONSTANTS))
        value = choose.choices(kinds, (8, 4, 2, 1))[0]
        forms = (value, f"-{value}", f"+{value}", f"({value})", f"NOT {value}")
        return choose.choices(forms, (16, 1, 1, 1, 1))[0]

    def number(self) -> str:
        """Return a number, or a name instead of it."""
        choose = self.random
        numbers = (*NUMBERS, *NAMES[:2]) if choose.random() < 0.95 else ODD_NUMBERS
        return choose.choice(("", "", "", "-", "- -", "+")) + choose.choice(numbers)

    def spoiled(self, expression: str) -> str:
        """Return the expression with a word inserted, removed or doubled."""
        choose = self.random
        words = expression.split(" ")
        at = choose.randrange(len(words))
        change = choose.randrange(3)
        if change == 0:
            words.insert(at, choose.choice(NOISE))
        elif change == 1:
            del words[at]
        else:
            words.insert(at, words[at])
        return choose.choice((" ", " ", "  ", "")).join(words)


def cases(count: int, seed: int = SEED) -> list[Case]:
    """Cases, the same for the same seed."""
    writer = Writer(seed)
    return [writer.case() for _ in range(count)]


def judged(asked: Sequence[Case]) -> Iterator[Case]:
    """Yield the cases with the official answers: `result`, or `refused` with the text."""
    lines = "".join(json.dumps(case) + "\n" for case in asked)
    command = ["java", "-XX:+UseSerialGC", "-cp", program("judge", "server"), "compat.Judge"]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=300, check=True)
    for case, line in zip(asked, done.stdout.splitlines(), strict=True):
        answer = json.loads(line)
        if "refused" in answer:
            # Our parser describes the expected tokens in other words.
            answer["refused"] = answer["refused"].partition("\nWas expecting")[0]
        yield case | answer


if __name__ == "__main__":
    for judged_case in judged(cases(int(sys.argv[1]))):
        print(json.dumps(judged_case, ensure_ascii=False))
