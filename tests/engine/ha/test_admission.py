"""Admission of slaves: by ticket, by membership, by an allowed address."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.ha.admission import (
    ADDRESSES_MAX,
    LOG_REQUEST_MILLIS,
    MARK,
    REFUSED_MILLIS,
    TICKET_MILLIS,
    TICKET_SIZE,
    TICKETS_MAX,
    AdmissionOutcome,
    SlaveAdmission,
    networks_of,
    parted,
    shown_ticket,
)
from mqgateway.engine.ha.frames import REPORT

OPEN, CLOSED, UNKNOWN = AdmissionOutcome.OPEN, AdmissionOutcome.CLOSED, AdmissionOutcome.UNKNOWN
HOST = "10.0.0.7"


def test_a_ticket_is_good_once_and_for_a_while() -> None:
    admission = SlaveAdmission("", requires_tickets=True)
    ticket, late = admission.issue(0), admission.issue(0)
    assert len(ticket) == TICKET_SIZE and ticket != late
    assert admission.judge(ticket, HOST, 5) is OPEN
    assert admission.judge(ticket, HOST, 5) is CLOSED
    assert admission.judge(late, HOST, TICKET_MILLIS + 1) is CLOSED
    assert admission.judge(b"", HOST, 5) is CLOSED
    assert admission.judge(bytes(TICKET_SIZE), HOST, 5) is CLOSED


def test_member_without_ticket_is_refused_with_authentication() -> None:
    admission = SlaveAdmission("", requires_tickets=True)
    admission.log_requested(HOST, 0)
    admission.members_are({HOST}, HOST, 0)
    assert admission.judge(b"", HOST, 0) is CLOSED
    assert "ticket" in admission.reason


def test_members_are_admitted_without_authentication() -> None:
    admission = SlaveAdmission("", requires_tickets=False)
    assert admission.issue(0) == b""
    assert admission.judge(b"", HOST, 0) is UNKNOWN
    admission.members_are({HOST}, HOST, 0)
    assert admission.judge(b"", HOST, 0) is OPEN
    assert "haAllowedSlaves" in admission.reason


def test_a_stranger_is_not_looked_up_again_at_once() -> None:
    admission = SlaveAdmission("", requires_tickets=False)
    admission.members_are({"10.0.0.8"}, HOST, 100)
    assert admission.judge(b"", HOST, 100 + REFUSED_MILLIS) is CLOSED
    assert admission.judge(b"", HOST, 101 + REFUSED_MILLIS) is UNKNOWN


def test_address_that_requested_the_log_is_admitted_for_a_minute() -> None:
    admission = SlaveAdmission("", requires_tickets=False)
    admission.log_requested(HOST, 0)
    assert admission.judge(b"", HOST, LOG_REQUEST_MILLIS) is OPEN
    assert admission.judge(b"", HOST, LOG_REQUEST_MILLIS + 1) is UNKNOWN


@pytest.mark.parametrize("requires_tickets", [False, True])
def test_allowed_addresses_need_nothing_else(requires_tickets: bool) -> None:
    admission = SlaveAdmission(" 10.0.0.7, 192.168.0.0/16,fd00::/8 ", requires_tickets=requires_tickets)
    for host in (HOST, "192.168.9.9", "fd00::1", "::ffff:10.0.0.7"):
        assert admission.judge(b"", host, 0) is OPEN
    assert admission.judge(b"", "10.0.0.8", 0) is (CLOSED if requires_tickets else UNKNOWN)


@pytest.mark.parametrize("text", ["slave-1", "10.0.0.0/33", "10.0.0", "10.0.0.1;10.0.0.2"])
def test_invalid_allowed_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="haAllowedSlaves"):
        networks_of(text)


def test_nothing_grows_without_bound() -> None:
    secret, open_ = SlaveAdmission("", requires_tickets=True), SlaveAdmission("", requires_tickets=False)
    first = secret.issue(0)
    for number in range(2 * ADDRESSES_MAX):
        secret.issue(0)
        open_.log_requested(f"10.0.{number >> 8}.{number & 255}", 0)
        open_.members_are((), f"10.1.{number >> 8}.{number & 255}", 0)
    assert len(secret) == TICKETS_MAX
    assert len(open_) == 2 * ADDRESSES_MAX
    assert secret.judge(first, HOST, 0) is CLOSED


def test_a_ticket_comes_as_digits_and_is_shown_behind_the_mark() -> None:
    assert shown_ticket("00" * TICKET_SIZE) == MARK + bytes(TICKET_SIZE)
    assert shown_ticket("") == shown_ticket("zz") == shown_ticket("00") == b""


def test_the_mark_is_no_report() -> None:
    assert len(MARK) == REPORT.size and REPORT.unpack(MARK)[0] < 0


@given(st.one_of(st.just(b""), st.binary(min_size=TICKET_SIZE, max_size=TICKET_SIZE)), st.integers(0, 2**62))
def test_ticket_is_parsed_from_chunks(ticket: bytes, offset: int) -> None:
    first = (MARK + ticket if ticket else b"") + REPORT.pack(offset)
    clear = [parted(first[:end]) for end in range(len(first) + 1)]
    assert clear[0] is None
    messages = [words for words in clear if words is not None]
    assert all(words[0] == ticket for words in messages)
    assert messages[-1] == (ticket, REPORT.pack(offset))
    assert clear == [None] * (len(clear) - len(messages)) + messages
