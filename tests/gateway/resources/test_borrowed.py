"""Resource commands that are commands of mqadmin."""

from mqgateway.gateway.mqadmin.declaration import find
from mqgateway.gateway.resources import CATALOGUE


def test_a_borrowed_command_does_what_mqadmins_does_with_operands_in_front() -> None:
    resource, standard = find("offset clone", CATALOGUE), find("cloneGroupOffset")
    assert resource is not None
    assert standard is not None
    assert resource.run is standard.run
    assert [(one.letters, one.is_operand) for one in resource.options[:2]] == [("s", True), ("d", True)]
    assert {one.key for one in resource.options} == {one.key for one in standard.options}
