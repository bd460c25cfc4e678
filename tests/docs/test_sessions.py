"""The sessions of the documentation print what the pages show."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from tests.docs.markdown import DOCS, ROOT, name_of, pages
from tests.docs.sessions import SessionError, Step, first_difference, run_session, steps_of

NORMAL: Final = ROOT / "README.md"
"""The page whose session starts Spark in a normal run; the others that do are slow."""


def is_slow(page: Path, steps: list[Step]) -> bool:
    """Whether a page's session is left out of a normal run."""
    return page != NORMAL and any(step.starts_spark for step in steps)


def sessions() -> list[Any]:
    """The pages that have a session."""
    found = [(page, steps_of(page.read_text(encoding="utf-8"))) for page in pages()]
    return [
        pytest.param(steps, id=name_of(page), marks=[pytest.mark.slow] if is_slow(page, steps) else [])
        for page, steps in found
        if steps
    ]


@pytest.mark.parametrize("steps", sessions())
def test_a_session_prints_what_its_page_shows(steps: list[Step], tmp_path: Path) -> None:
    run_session(steps, tmp_path)


def test_commands_and_outputs_are_read_off_a_page() -> None:
    text = "```console\n$ a \\\n  b\n\n one  \n\n$ c\n```\n\n```bash\n$ d\n```\n\n```console\n$ siltstone check\n```\n"
    found = steps_of(text)
    assert found == [
        Step("a \\\n  b", (" one",), 2),
        Step("c", (), 7),
        Step("siltstone check", (), 15),
    ]
    assert [step.starts_spark for step in found] == [False, False, True]
    assert is_slow(DOCS / "index.md", found)
    assert not is_slow(NORMAL, found)


@pytest.mark.parametrize(
    ("expected", "printed", "problem"),
    [
        ("a\nb", "a\nb", None),
        ("a\n...\nd", "a\nb\nc\nd", None),
        ("...", "", None),
        ("a ... c", "a b c", None),
        ("...\nb\n...", "b", None),
        ("a\n...\nb\nc", "a\nb\nb\nc", None),
        ("a\nb", "a\nc", "the page shows 'b', the program printed 'c'"),
        ("a\nb", "a", "the page shows 'b', the program printed the end of the output"),
        ("a", "a\nb", "the page does not show 'b'"),
        ("...\nx", "a\nb", "the page shows 'x', the program printed the end of the output"),
        ("a.c", "abc", "the page shows 'a.c', the program printed 'abc'"),
    ],
)
def test_an_output_is_compared_line_by_line(expected: str, printed: str, problem: str | None) -> None:
    assert first_difference(expected.splitlines(), printed.splitlines()) == problem


def test_one_shell_runs_a_session(tmp_path: Path) -> None:
    session = "$ mkdir a && cd a\n$ export WORD=hello\n$ echo $WORD; pwd\nhello\n.../a\n$ printf 'no end'\nno end"
    run_session(steps_of(f"```console\n{session}\n```\n"), tmp_path)


def test_the_program_of_this_environment_is_run(tmp_path: Path) -> None:
    session = "$ siltstone validate\nCannot use the spec: 1 violation.\n...\n$ siltstone --version\nsiltstone ..."
    run_session(steps_of(f"```console\n{session}\n```\n"), tmp_path)


@pytest.mark.parametrize(
    ("session", "problem"),
    [
        ("$ echo one\ntwo", "line 2: $ echo one\nthe page shows 'two', the program printed 'one'"),
        ("$ true\n$ false", "line 3: $ false\nit failed with exit code 1, and the page shows no error"),
        ("$ sh -c 'echo x; exit 3'\n...", "exit code 3, and the page shows no error"),
        ("$ exit 0\n$ echo late\nlate", "was not run: the shell had ended"),
        ("one\n$ echo one", "line 2: a session begins with a command, not with 'one'"),
    ],
)
def test_a_session_that_goes_another_way_is_found(session: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(SessionError) as caught:
        run_session(steps_of(f"```console\n{session}\n```\n"), tmp_path)
    assert problem in str(caught.value)


def test_a_failing_command_may_show_its_error(tmp_path: Path) -> None:
    run_session(steps_of("```console\n$ ls nothing\n...nothing...\n```\n"), tmp_path)


def test_a_session_that_does_not_end_is_found(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match=r"longer than 0\.2 seconds"):
        run_session([Step("sleep 5", (), 1)], tmp_path, seconds=0.2)
