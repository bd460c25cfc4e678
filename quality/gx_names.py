"""The expectations of the installed Great Expectations, as the spec language has them (engine/spec/expectations.json).

The list is kept in a file, so that a spec is checked without the library (seconds to import); a test holds the two
against each other.
"""

from typing import Final

from siltstone.quality.gx_library import great_expectations

# They need another table or another data source beside the one they look at.
LEFT_OUT: Final = ("expect_query_results_to_match_comparison", "expect_table_row_count_to_equal_other_table")
NOT_SAID: Final = ("library_metadata",)


def described() -> dict[str, dict[str, list[str]]]:
    """Name -> the arguments it must have, and those it can have."""
    great_expectations()
    from great_expectations.expectations.expectation import BatchExpectation
    from great_expectations.expectations.registry import (
        get_expectation_impl,
        list_registered_expectation_implementations,
    )

    common = set(BatchExpectation.__fields__) | set(NOT_SAID)
    found = {}
    for name in sorted(list_registered_expectation_implementations()):
        kind = get_expectation_impl(name)
        if name in LEFT_OUT or not kind.__module__.startswith("great_expectations."):
            continue
        own = {field: about for field, about in kind.__fields__.items() if field not in common}
        found[name] = {
            "required": sorted(field for field, about in own.items() if about.required),
            "optional": sorted(field for field, about in own.items() if not about.required),
        }
    return found
