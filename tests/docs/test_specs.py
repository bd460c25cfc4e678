"""The specs of the documentation are valid: the program's own loader reads them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from siltstone.engine.errors import SpecError
from siltstone.engine.spec import load_project, load_spec, table_spec
from siltstone.engine.spec.project_config import ProjectConfig
from siltstone.engine.spec.table_config import TableConfig
from siltstone.engine.spec.yaml_document import read_document
from tests.docs.markdown import Block, blocks, name_of, pages

WHOLE: Final = {"table", "source", "keys"}
SPEC_KEYS: Final = set(TableConfig.model_fields)
PROJECT_KEYS: Final = set(ProjectConfig.model_fields)
SMALLEST: Final[Mapping[str, Any]] = {
    "table": "inventory.customers",
    "source": {"format": "debezium-json", "path": "events/*.jsonl"},
    "keys": ["id"],
}
_VARIABLE: Final = re.compile(r"(?<!\$)\$\{env:(\w+)\}")


def settings_of(block: Block) -> dict[str, Any]:
    """The settings that a block shows; none where it is of another program, or has placeholders."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "settings.yaml"
        file.write_text(block.text, encoding="utf-8")
        found = read_document(file).value
    is_ours = isinstance(found, dict) and found.keys() and (found.keys() <= SPEC_KEYS or found.keys() <= PROJECT_KEYS)
    return found if is_ours else {}


def specs_of(text: str) -> Iterator[Block]:
    """The complete specs of a page."""
    for block in blocks(text):
        found = yaml_keys(block)
        if found >= WHOLE and found <= SPEC_KEYS:
            yield block


def yaml_keys(block: Block) -> set[str]:
    """The names at the left edge of a block of YAML, also where it cannot be parsed."""
    return set(re.findall(r"^([a-z_]+):", block.text, re.MULTILINE)) if block.language == "yaml" else set()


def parts_of(text: str) -> Iterator[Block]:
    """The parts of specs and of project files that a page shows."""
    for block in blocks(text):
        if block.language == "yaml" and settings_of(block) and not yaml_keys(block) >= WHOLE:
            yield block


def problem_of_spec(text: str, folder: Path) -> str | None:
    """What the program says of a spec; None where it is valid."""
    file = folder / "spec.yaml"
    file.write_text(text, encoding="utf-8")
    return problem_in(lambda: load_spec(file))


def problem_of_part(block: Block, folder: Path) -> str | None:
    """What the program says of a part: of a spec that has it, or of a project file."""
    settings, problems = settings_of(block), []
    if settings.keys() <= PROJECT_KEYS:
        file = folder / "project.yaml"
        file.write_text(block.text, encoding="utf-8")
        problems.append(problem_in(lambda: load_project(file)))
    if settings.keys() <= SPEC_KEYS:
        source = settings.get("source", {})
        whole = {**SMALLEST, **settings, "source": source if "format" in source else {**SMALLEST["source"], **source}}
        problems.append(problem_in(lambda: table_spec(whole, load_project(start=folder))))
    return None if None in problems else "\n".join(map(str, problems))


def problem_in(load: Callable[[], object]) -> str | None:
    """What the program says while it loads something; None where it is valid."""
    try:
        load()
    except SpecError as error:
        return str(error)
    return None


def set_variables(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the variables that a spec refers to a value."""
    for name in _VARIABLE.findall(text):
        monkeypatch.setenv(name, "a-value")


def cases(find: Any) -> list[Any]:
    """The blocks of all pages that a function finds, named by their places."""
    return [
        pytest.param(block, id=f"{name_of(page)}:{block.line}")
        for page in pages()
        for block in find(page.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize("block", cases(specs_of))
def test_a_spec_of_the_documentation_is_valid(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_variables(block.text, monkeypatch)
    assert problem_of_spec(block.text, tmp_path) is None


@pytest.mark.parametrize("block", cases(parts_of))
def test_a_part_of_a_spec_is_valid(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_variables(block.text, monkeypatch)
    assert problem_of_part(block, tmp_path) is None


def test_a_wrong_spec_and_a_wrong_part_are_found(tmp_path: Path) -> None:
    text = "```yaml\ntable: a.b\nsource: {format: rows, pat: x}\nkeys: [id]\n```\n\n```yaml\nlateness: soon\n```\n"
    [spec], [part] = specs_of(text), parts_of(text)
    assert "$.source.pat" in str(problem_of_spec(spec.text, tmp_path))
    assert "$.lateness" in str(problem_of_part(part, tmp_path))
    assert problem_of_part(Block("yaml", "namespace: ledger\n", 1), tmp_path) is None


def test_yaml_of_other_programs_is_not_looked_at() -> None:
    text = "```yaml\napiVersion: v1\nkind: Pod\n```\n\n```bash\ntable: x\n```\n"
    assert list(specs_of(text)) == list(parts_of(text)) == []
