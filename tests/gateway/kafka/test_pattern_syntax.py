"""Regular expressions that are not valid, and their states."""

import pytest

from mqgateway.gateway.kafka.pattern_syntax import Alphabet, Automaton, PatternError


@pytest.mark.parametrize(
    "text",
    [
        *("(", ")", "a)", "[a", "[", "*", "a**", "a*+", "+", "?", "a{2}{3}", "a{3,2}", "a{1001}"),
        *("[z-a]", r"[\d-z]", "[a-", "[[:none:]]", "[[:alpha", r"\p{Greek}", r"\p{L", "\\", r"\b", r"\1"),
        *(
            r"\xzz",
            r"\x{}",
            r"\x{110000}",
            r"\x{4_1}",
            r"\x{+41}",
            "[é-a]",
            "(?=a)",
            "(?<!a)",
            "(?P<1>a)",
            "(?P<a",
            "(?i",
            "x" * 1025,
        ),
        *(r"\x{4_1}", r"\x{+41}", "[é-a]"),
        *("(" * 60 + "a" + ")" * 60, "(a{100}){100}"),
    ],
)
def test_invalid_pattern_is_refused(text: str) -> None:
    with pytest.raises(PatternError):
        Automaton(text)


def test_alphabet_has_bits_for_ascii_and_for_characters_of_the_expression() -> None:
    alphabet = Alphabet(r"é\x{fc}")
    masks = [alphabet.mask(char) for char in "\x7f\x80éêüý\U0010ffff"]
    assert masks == [1 << number for number in (127, 128, 129, 130, 131, 132, 132)]
    assert alphabet.all == (1 << 133) - 1


def test_repetition_has_a_state_for_each_character() -> None:
    assert len(Automaton("a{3}").states) == 4
