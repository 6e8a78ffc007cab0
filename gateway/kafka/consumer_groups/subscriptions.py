"""Subscriptions of groups: the topics of regular expressions, and what becomes of topics."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from twisted.python.failure import Failure

from mqgateway.engine.clock import Clock
from mqgateway.engine.steps import Steps, run
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.consumer_groups.group import ModernGroup, ResolvedRegex
from mqgateway.gateway.kafka.coordinator.assigned_group import Kind, RecordKey
from mqgateway.gateway.kafka.coordinator.group_writer import GroupWriter, StepRunner
from mqgateway.gateway.kafka.coordinator.refusal import Refused
from mqgateway.gateway.kafka.coordinator.settings import GroupSettings
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicCatalog
from mqgateway.gateway.kafka.pattern_syntax import PatternError
from mqgateway.gateway.kafka.patterns import NamePattern

log = logging.getLogger(__name__)

AT_ONCE: Final = 2000
"""Topics times states of an expression that are matched in one step."""
PATTERNS_MAX: Final = 256
"""Compiled expressions that are kept."""

Shows = Callable[[str], bool]
"""Returns True for the name of a topic that a client may see."""


class GroupSubscriptions:
    """The subscriptions of the groups of one coordinator."""

    def __init__(
        self,
        settings: GroupSettings,
        clock: Clock,
        catalog: TopicCatalog,
        writer: GroupWriter[ModernGroup],
        run_steps: StepRunner,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._catalog = catalog
        self._writer = writer
        self._run_steps = run_steps
        self._patterns: dict[str, NamePattern] = {}
        self._resolving: set[tuple[str, str]] = set()

    def check(self, regex: str) -> None:
        """Check a regular expression. Raises `Refused`."""
        self._pattern(regex)

    def _pattern(self, regex: str) -> NamePattern:
        pattern = self._patterns.get(regex)
        if pattern is None:
            try:
                pattern = NamePattern(regex)
            except PatternError as error:
                raise Refused(
                    ErrorCode.INVALID_REGULAR_EXPRESSION,
                    f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {error}.",
                ) from error
            if len(self._patterns) >= PATTERNS_MAX:
                self._patterns.clear()
            self._patterns[regex] = pattern
        return pattern

    def refresh(self, group: ModernGroup) -> bool:
        """Look up the topics of a group if any topic has changed; return True if that changed the group.

        If the group has become too large, it keeps the topics that it had.
        """
        return group.follow_topics(self._catalog, self._settings.group_partitions_max)

    def look_up(self, group: ModernGroup) -> bool:
        """Look up the topics of a group whose subscriptions have changed; return True if they have.

        Raises `SubscriptionTooLarge`.
        """
        return group.refresh_topics(self._catalog, self._settings.group_partitions_max)

    def resolve(self, group: ModernGroup, regex: str, shows: Shows) -> None:
        """Find the topics of a regular expression, unless they are known; it may take a while."""
        known = group.regexes.get(regex)
        place = group.id, regex
        now = self._clock.millis()
        if place in self._resolving or (
            known is not None
            and (
                known.version == self._catalog.version
                or 0 <= now - known.time < self._settings.regex_refresh_interval
            )
        ):
            return
        pattern = self._pattern(regex)
        steps = self._resolving_steps(group, pattern, shows)
        if len(self._catalog) * len(pattern) <= AT_ONCE:
            run(steps)
            return
        self._resolving.add(place)
        self._run_steps(steps).addBoth(self._resolved, group, regex)

    def _resolving_steps(self, group: ModernGroup, pattern: NamePattern, shows: Shows) -> Steps[None]:
        version = self._catalog.version
        found: list[str] = []
        size = max(AT_ONCE // (2 * len(pattern)), 1)
        for number, name in enumerate(self._catalog.names(), 1):
            if pattern.matches(name) and shows(name):
                found.append(name)
            if not number % size:
                yield
        known = group.regexes.get(pattern.text)
        topics = frozenset(found)
        resolved = ResolvedRegex(topics, version, self._clock.millis())
        if known is not None and known.topics == topics:
            group.regexes[pattern.text] = resolved
        elif group.subscribes_by(pattern.text):
            group.regexes[pattern.text] = resolved
            group.topics_version = None
            group.mark(RecordKey(Kind.REGEX, pattern.text))

    def _resolved(self, outcome: Failure | None, group: ModernGroup, regex: str) -> None:
        self._resolving.discard((group.id, regex))
        if isinstance(outcome, Failure):
            log.error("topics of group %s are not found: %s", group.id, outcome.getTraceback())
        self._writer.write_later(group)

    def clear(self) -> None:
        """Forget what is being resolved."""
        self._resolving.clear()
