"""A layer imports only lower ones. Read from the source with `ast`, so that imports inside functions count too."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# From the lowest to the highest. Parts of one layer do not import each other.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("engine.counts",),
    # Decoders of formats are loaded by name when they are used.
    ("engine.errors", "engine.names", "engine.formats", "engine.atomic_file"),
    (
        "engine.frames",
        "engine.gateway",
        "engine.iceberg",
        "engine.java",
        "engine.layout_version",
        "engine.jars",
        "engine.machine",
        "engine.timestamps",
        "engine.plain_values",
        "engine.storage",
    ),
    ("engine.json_text", "engine.spark_versions"),
    ("engine.spec", "engine.schema", "engine.report"),
    ("engine.sqlite_catalog",),
    ("engine.session", "engine.inputs"),
    ("engine.decode",),
    ("engine.neighbours", "engine.steps", "engine.worker_daemon"),
    ("engine.ordering",),
    ("engine.history",),
    ("engine.table",),
    ("engine.reader", "engine.init"),
    ("engine.run_lock", "engine.doctor", "engine.report_pages"),
    ("engine.fold",),
    ("engine.ingest",),  # has the markers of folded batches
    ("engine.run",),
    ("quality",),
    ("engine.cli",),  # where commands meet the checks
    ("engine.demo",),  # runs commands and checks
    ("engine",),  # the public face
    ("jobs",),
)
RANK = {part: rank for rank, layer in enumerate(LAYERS) for part in layer}
PARTS = tuple(RANK)
SEPARATE = frozenset({"engine.decode", "engine.ordering", "engine.table"})
PACKAGES = ("engine", "quality", "jobs")
OWN = "siltstone."


def part_of(module: str) -> str | None:
    """`engine.spec.load` belongs to `engine.spec`, `quality.suite` to `quality`; None: no part of a layer."""
    names = module.split(".")
    part = ".".join(names[:2]) if names[0] == "engine" else names[0]
    return part if part in RANK else None


def module_name(file: Path, root: Path) -> str:
    names = file.relative_to(root).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def imported(file: Path, root: Path) -> Iterator[tuple[int, str]]:
    """Every module of siltstone that a file imports, with the line; without `siltstone.`, as folders have it."""
    package = module_name(file, root).split(".")
    if file.name != "__init__.py":
        package = package[:-1]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.removeprefix(OWN)) for alias in node.names if is_own(alias.name))
        elif isinstance(node, ast.ImportFrom):
            base = ["siltstone", *package[: len(package) - node.level + 1]] if node.level else []
            source = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            if is_own(source):
                for alias in node.names:
                    name = f"{source}.{alias.name}" if source in ("siltstone", "siltstone.engine") else source
                    yield node.lineno, name.removeprefix(OWN)


def is_own(module: str) -> bool:
    return f"{module}.".startswith(OWN)


def breaches(root: Path) -> list[str]:
    """What the packages under a root import against the rule."""
    found = []
    for file in sorted(file for package in PACKAGES for file in (root / package).rglob("*.py")):
        module = module_name(file, root)
        part = part_of(module)
        if part is None:
            found.append(f"{module} belongs to no layer: add it to LAYERS")
            continue
        for line, target in imported(file, root):
            why = breach(part, target)
            if why is not None:
                found.append(f"{module}:{line} imports {target}: {why}")
    return found


def breach(part: str, target: str) -> str | None:
    """Why a part must not import a module, or None."""
    other = part_of(target)
    if other is None:
        return "it belongs to no layer, or is the public API"
    if other == part:
        return None
    if other == "jobs":
        return "nothing imports jobs"
    if {part, other} <= SEPARATE:
        return "decode, ordering and table do not import each other"
    return None if RANK[other] < RANK[part] or part == "jobs" else "a layer imports only lower ones"


def test_every_layer_imports_only_lower_ones() -> None:
    assert breaches(ROOT) == []


def test_the_rule_reads_the_whole_tree() -> None:
    assert {part_of(module_name(file, ROOT)) for file in (ROOT / "engine").rglob("*.py")} >= {
        "engine.errors", "engine.names", "engine.spec",
    }  # fmt: skip


CASES = {
    ("engine/spec/load.py", "from siltstone.engine.errors import SpecError"): None,
    ("engine/spec/load.py", "from siltstone.engine.spec.model import TableSpec"): None,
    ("engine/spec/load.py", "import pyspark"): None,
    ("engine/names.py", "from siltstone.engine import errors"): "a layer imports only lower ones",
    ("engine/spec/load.py", "import siltstone.engine.table.commit"): "a layer imports only lower ones",
    ("engine/schema/change_row.py", "from siltstone.engine.spec import TableSpec"): "a layer imports only lower ones",
    ("engine/table/merge.py", "from siltstone.engine.decode import position"): "decode, ordering and table",
    ("engine/table/merge.py", "from siltstone.engine import ordering"): "decode, ordering and table",
    ("engine/ordering/chronology.py", "from ..decode.position import position"): "decode, ordering and table",
    (
        "engine/history/fold.py",
        "def f():\n    from siltstone.engine.run import catch_up",
    ): "a layer imports only lower ones",
    ("engine/history/fold.py", "from siltstone.quality.suite import suite"): "a layer imports only lower ones",
    ("engine/run.py", "import siltstone.quality"): "a layer imports only lower ones",
    ("quality/suite.py", "from siltstone.engine.table.catalog import catalog"): None,
    ("quality/suite.py", "from siltstone.jobs import catch_up"): "nothing imports jobs",
    ("engine/cli/run_commands.py", "from siltstone.jobs.catch_up import main"): "nothing imports jobs",
    ("jobs/catch_up.py", "from siltstone.engine.run import catch_up\nfrom siltstone.quality.suite import suite"): None,
    ("engine/helpers.py", "import os"): "belongs to no layer",
    ("engine/history/fold.py", "from siltstone import catch_up"): "the public API",
}


@pytest.mark.parametrize(("written", "expected"), CASES.items())
def test_the_rule_finds_imports_that_break_it(tmp_path: Path, written: tuple[str, str], expected: str | None) -> None:
    file = tmp_path / written[0]
    file.parent.mkdir(parents=True)
    file.write_text(written[1], encoding="utf-8")
    found = breaches(tmp_path)
    assert len(found) == (expected is not None)
    assert expected is None or expected in found[0]


def names_used_twice(root: Path) -> dict[str, list[str]]:
    """Names of modules with different meanings. A format has one module that declares it and one that decodes it, and a
    job has the name of the command that it runs."""
    places: dict[str, list[str]] = {}
    for file in sorted(file for package in PACKAGES for file in (root / package).rglob("*.py")):
        folder = file.parent.relative_to(root).as_posix()
        if file.stem != "__init__" and folder not in ("engine/formats", "jobs"):
            places.setdefault(file.stem, []).append(folder)
    return {name: folders for name, folders in places.items() if len(folders) > 1}


def test_a_module_name_means_one_thing(tmp_path: Path) -> None:
    assert names_used_twice(ROOT) == {}
    for folder in ("engine/fold", "engine/table"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "gaps.py").touch()
    assert names_used_twice(tmp_path) == {"gaps": ["engine/fold", "engine/table"]}
