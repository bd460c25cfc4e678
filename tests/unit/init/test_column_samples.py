"""The types that init infers from the values of a column."""

import pytest

from siltstone.engine.decode.json_value import Number
from siltstone.engine.init.column_samples import Values


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (("9" * 18, "-7", "0"), "bigint"),
        (("9223372036854775807",), "bigint"),
        (("9223372036854775808",), "decimal(38,0)"),
        (("-1", "2" * 38), "decimal(38,0)"),
        (("1.5", "3" * 20), "decimal(p,s)"),
        (("1", "1" * 39), None),
        (("1", "\u00b2"), None),
        (("1", "007"), None),
    ],
)
def test_texts_of_numbers_get_a_type_that_holds_them(texts: tuple[str, ...], kind: str | None) -> None:
    values = Values()
    for text in texts:
        values.add(text, inserted=True)
    assert values.may_be() == (None if kind is None else f"numbers? then {kind}")


def test_numbers_of_any_length_stay_undeclared_because_they_can_order_rows() -> None:
    values = Values()
    for text in ("1", "2" * 20, "3" * 39):
        values.add(text, inserted=True)
    assert values.is_written_otherwise()


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [
        ((1, Number("1.5")), "double"),
        ((Number("1e300"), Number("0.5")), "double"),
        ((Number("1e400"),), "string"),
        ((Number("1e30"), Number("1234567890123456789.12")), "string"),
        ((2**53 + 1, -(2**63)), "bigint"),
        ((2**53, Number("1.5")), "double"),
        ((2**53 + 1, Number("1.5")), "decimal(38,1)"),
        ((-(2**53) - 1, 2**63), "decimal(38,0)"),
        ((2**53 + 1, Number("1e30")), "string"),
        ((int("9" * 38), 1), "decimal(38,0)"),
        ((int("9" * 39), 1), "string"),
        ((Number("0." + "3" * 20), 7), "decimal(38,20)"),
        ((Number("1" * 35 + "." + "3" * 30),), "string"),
        ((Number("0." + "3" * 30), int("9" * 30)), "string"),
    ],
)
def test_the_type_of_a_number_keeps_all_its_digits(numbers: tuple[int | Number, ...], kind: str) -> None:
    values = Values()
    for number in numbers:
        values.add(number, inserted=True)
    assert values.type().simpleString() == kind
