"""The error tree: exit codes show the operator what to do, messages have one form."""

from pathlib import Path

import pytest

from siltstone.engine import errors
from siltstone.engine.errors import SiltstoneError, SpecError, Violation

EXIT_CODES = {
    "SpecError": 2,
    "SourceError": 3,
    "SchemaEvolutionError": 4,
    "QualityError": 5,
    "ForeignWriteError": 5,
    "StorageError": 6,
    "CommitConflictError": 75,
    "LockedError": 75,
    "CommitStateUnknownError": 70,
    "InvariantViolation": 70,
}


@pytest.mark.parametrize(("name", "code"), EXIT_CODES.items())
def test_every_error_has_the_exit_code_of_what_the_operator_should_do(name: str, code: int) -> None:
    assert getattr(errors, name).exit_code == code


def test_no_error_class_is_left_out_of_the_exit_codes() -> None:
    declared = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, SiltstoneError) and value is not SiltstoneError
    }
    assert declared == set(EXIT_CODES)


def test_the_tree_is_drawn_in_the_docstring_with_its_exit_codes() -> None:
    drawn = errors.__doc__ or ""
    for name, code in EXIT_CODES.items():
        assert any(name in line and str(code) in line for line in drawn.splitlines())


def test_a_held_lock_is_a_commit_conflict_so_a_retry_is_right() -> None:
    assert issubclass(errors.LockedError, errors.CommitConflictError)


def test_a_message_ends_with_its_hint() -> None:
    error = SiltstoneError("Cannot read x: it is gone (1 file).", "look in the bin.")
    assert str(error) == "Cannot read x: it is gone (1 file). Hint: look in the bin."
    assert str(SiltstoneError("Cannot read x.")) == "Cannot read x."


def test_a_violation_has_file_line_path_and_hint() -> None:
    violation = Violation("$.source.format", "is not known", "did you mean 'x'?", Path("specs/a.yaml"), 3, 5)
    assert str(violation) == "specs/a.yaml:3:5: $.source.format: is not known. Hint: did you mean 'x'?"
    assert str(Violation("$.keys", "is required")) == "$.keys: is required"


def test_one_spec_error_carries_all_violations_in_the_order_of_files_and_lines() -> None:
    later = Violation("$.b", "wrong", file=Path("b.yaml"), line=1)
    deep = Violation("$.a.z", "wrong", file=Path("a.yaml"), line=9)
    early = Violation("$.a", "wrong", file=Path("a.yaml"), line=2)
    error = SpecError.from_violations([later, deep, early])
    assert error.violations == [early, deep, later]
    assert error.message == "Cannot use the spec: 3 violations."
    assert str(error).splitlines() == [error.message, *(f"  {one}" for one in error.violations)]
