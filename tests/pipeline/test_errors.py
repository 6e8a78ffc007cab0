"""Errors say what to do."""

from __future__ import annotations

from mqgateway.pipeline.errors import BadOption, DataLoss, PipelineError


def test_a_bad_option_names_itself_and_what_would_be_right() -> None:
    error = BadOption("topic", "", "is needed", "name one")
    assert str(error) == "option topic='': is needed; name one"
    assert isinstance(error, ValueError) and isinstance(error, PipelineError)


def test_data_loss_says_how_to_continue() -> None:
    assert "failOnDataLoss to false" in str(DataLoss("queue 0 begins at 5"))
