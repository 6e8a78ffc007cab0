"""Rules that map the name of a client certificate to a user, in the syntax of Kafka.

    DEFAULT                       the whole name is the user
    RULE:PATTERN/REPLACEMENT/     if the pattern matches the name, it is replaced; $1 is the first group
    RULE:PATTERN/REPLACEMENT/L    the same in lower case; U for upper case

Rules are separated by commas, and the first that applies counts. Standard: `SslPrincipalMapper`,
`ssl.principal.mapping.rules`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mqgateway.engine.options.option import BadValue

DEFAULT = "DEFAULT"
_RULE = re.compile(
    r"\s*(?:(?P<default>DEFAULT)|RULE:(?P<pattern>(?:\\.|[^\\/])*)/(?P<replacement>(?:\\.|[^\\/])*)/(?P<case>[LU]?))"
    r"\s*(?:,|$)"
)
_REFERENCE = re.compile(r"\\(.)|\$(\d)")


@dataclass(frozen=True, slots=True)
class PrincipalRule:
    """One rule. Without a `pattern` it is DEFAULT; `case` is L, U or empty."""

    pattern: re.Pattern[str] | None = None
    replacement: str = ""
    case: str = ""

    def apply(self, name: str) -> str | None:
        """Return the user that a name stands for; None if the rule does not apply."""
        if self.pattern is None:
            return name
        if self.pattern.fullmatch(name) is None:
            return None
        user = self.pattern.sub(self._replaced, name)
        return {"L": user.lower(), "U": user.upper()}.get(self.case, user)

    def _replaced(self, match: re.Match[str]) -> str:
        def value(reference: re.Match[str]) -> str:
            escaped, group = reference.groups()
            if group is None:
                return escaped
            is_group = int(group) <= len(match.groups())
            return (match[int(group)] or "") if is_group else reference[0]

        return _REFERENCE.sub(value, self.replacement)


@dataclass(frozen=True, slots=True)
class PrincipalRules:
    """Rules in their order."""

    rules: tuple[PrincipalRule, ...]

    @classmethod
    def parse(cls, text: str) -> PrincipalRules:
        """Parse rules; an empty text is DEFAULT. Raises `BadValue`."""
        return cls(tuple(_parsed(text.strip() or DEFAULT)))

    def user_of(self, name: str) -> str | None:
        """Return the user that a name stands for; None if no rule applies."""
        for rule in self.rules:
            user = rule.apply(name)
            if user is not None:
                return user
        return None


def check_principal_rules(text: str) -> None:
    """Accept rules. Raises `BadValue`."""
    PrincipalRules.parse(text)


def _parsed(text: str) -> Iterator[PrincipalRule]:
    at = 0
    while at < len(text):
        found = _RULE.match(text, at)
        if found is None:
            raise BadValue(f"{text[at:]} is neither DEFAULT nor RULE:PATTERN/REPLACEMENT/[LU]", DEFAULT)
        at = found.end()
        if found["default"]:
            yield PrincipalRule()
            continue
        try:
            pattern = re.compile(found["pattern"])
        except re.error as error:
            raise BadValue(f"{found['pattern']} is not a regular expression: {error}", DEFAULT) from None
        yield PrincipalRule(pattern, found["replacement"], found["case"])
