"""What the console is asked for is what its page asks for, and ratios are those within a round."""

import re

import pytest

from bench.report import Sample
from bench.watched import AGAIN, KINDS, OFF, ON, POLLED, ratios, section, spread
from mqgateway.gateway.web.files import FOLDER

PAGE = FOLDER / "pages" / "overview.js"


def test_the_page_of_the_overview_asks_for_the_same() -> None:
    asked = re.findall(r'useAsked\(["`](.+?)["`], (\d+)\)', PAGE.read_text())
    assert [(path.replace("${minutes}", "60"), int(seconds)) for path, seconds in asked] == list(POLLED)
    assert 'useStream("/events"' in PAGE.read_text()


def sample(rate: float, cpu: float) -> Sample:
    return Sample(per_second=rate, cpu_per_million=cpu)


def test_ratios_are_those_within_a_round() -> None:
    samples = {
        OFF: [sample(100, 10), sample(1000, 10), sample(100, 10)],
        AGAIN: [sample(100, 10), sample(1000, 10), sample(300, 10)],
        ON: [sample(98, 11), sample(980, 11), sample(196, 11)],
    }
    watched, noise = ratios(samples, "per_second")
    assert watched == pytest.approx([0.98, 0.98, 0.98]) and noise == [1, 1, 3]
    assert spread(noise) == "+0.0% (+0.0% to +100.0%)"
    text = "\n".join(section(samples, 0.001))
    assert "Being watched costs 2.0% of the throughput" in text
    assert "| watched to not watched | -2.0% (-2.0% to -2.0%) | +10.0% (+10.0% to +10.0%) |" in text
    assert text.endswith("Who watched used 0.10% of a core.")
    assert all(f"| {kind}, median |" in text for kind in KINDS)
