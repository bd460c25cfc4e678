"""The expectations of the installed Great Expectations, for the spec language (engine/spec/expectations.json).

The list is stored in a file, so that a spec is checked without importing the library, which takes seconds. A test
compares the two.
"""

from typing import Final

from siltstone.quality.gx_library import great_expectations

# They need a second table or data source.
EXCLUDED: Final = ("expect_query_results_to_match_comparison", "expect_table_row_count_to_equal_other_table")
NOT_LISTED: Final = ("library_metadata",)


def described() -> dict[str, dict[str, list[str]]]:
    """Expectation name -> its required and its optional arguments."""
    great_expectations()
    from great_expectations.expectations.expectation import BatchExpectation
    from great_expectations.expectations.registry import (
        get_expectation_impl,
        list_registered_expectation_implementations,
    )

    common = set(BatchExpectation.__fields__) | set(NOT_LISTED)
    found = {}
    for name in sorted(list_registered_expectation_implementations()):
        kind = get_expectation_impl(name)
        if name in EXCLUDED or not kind.__module__.startswith("great_expectations."):
            continue
        own = {field: about for field, about in kind.__fields__.items() if field not in common}
        found[name] = {
            "required": sorted(field for field, about in own.items() if about.required),
            "optional": sorted(field for field, about in own.items() if not about.required),
        }
    return found
