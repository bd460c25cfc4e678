"""Loads project files and table specs from YAML or from plain values, and reports all violations at once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from siltstone.engine.errors import SpecError, Violation
from siltstone.engine.formats import format_of
from siltstone.engine.spec.collisions import collisions
from siltstone.engine.spec.cross_checks import disagreements
from siltstone.engine.spec.interpolation import Interpolation
from siltstone.engine.spec.model import ProjectSpec, RegistrySpec, TableSpec
from siltstone.engine.spec.project_config import ProjectConfig
from siltstone.engine.spec.resolve import project_values, registry_values, table_values
from siltstone.engine.spec.source_config import RegistryConfig
from siltstone.engine.spec.table_config import TableConfig
from siltstone.engine.spec.value_checks import ONE_PLACE
from siltstone.engine.spec.violations import model_violations
from siltstone.engine.spec.yaml_document import Document, read_document

PROJECT_FILE = "siltstone.yaml"
SPECS_FOLDER = "specs"

_Config = TypeVar("_Config", bound=BaseModel)


def load_project(path: Path | None = None, start: Path | None = None) -> ProjectSpec:
    """The project of a file or folder, or of the first project file in `start` and the folders above it.

    `start` is the working directory by default. Without a project file, the project has the defaults and `start` as its
    root.
    Raises: SpecError with every violation of the file.
    """
    begin = (start or Path.cwd()).resolve()
    file = project_file(path, begin)
    if file is None:
        return project_values(ProjectConfig(), begin, None)
    document = read_document(file)
    if document.empty:
        return project_values(ProjectConfig(), file.parent, file)
    config = _config(document, ProjectConfig, file.parent)
    if config is None:
        raise SpecError.from_violations(document.violations)
    return project_values(config, file.parent, file)


def load_specs(paths: Sequence[Path] | None, project: ProjectSpec) -> list[TableSpec]:
    """The specs of the given files and folders, else of `<root>/specs`, in the order of their names.

    Raises: one SpecError with every violation of every file, also those between specs.
    """
    files, violations = _spec_files(paths, project)
    return _checked([read_document(file) for file in files], project, violations)


def with_tables(project: ProjectSpec, specs: Sequence[TableSpec]) -> ProjectSpec:
    """The project with these tables, the tables that it already knows, and the others of `<root>/specs`.

    A spec that cannot be read is listed in `unread` and raises no error.
    """
    own, others, unread = {spec.file for spec in specs}, list(project.tables), []
    for file in specs_in(project.root / SPECS_FOLDER):
        try:
            others += [] if file in own else _checked([read_document(file)], project)
        except SpecError:
            unread.append(file)
    known = {spec.table: spec for spec in (*specs, *others, *specs)}  # in this order; the given specs win
    return replace(project, tables=tuple(known.values()), unread=tuple(unread))


def load_spec(path: Path, project: ProjectSpec | None = None) -> TableSpec:
    """The spec in one file. The default project is the one of the file's folder or the folders above it.

    Raises: SpecError with every violation.
    """
    file = Path(path).resolve()
    return _checked([read_document(file)], project or load_project(start=file.parent))[0]


def table_spec(values: Mapping[str, object], project: ProjectSpec) -> TableSpec:
    """The spec that plain values (YAML's, without a file) describe.

    Raises: SpecError with every violation.
    """
    return _checked([Document(None, dict(values))], project)[0]


def registry_spec(values: Mapping[str, object], root: Path) -> RegistrySpec:
    """The registry that plain values describe, as a spec's `registry` does.

    Raises: SpecError with every violation.
    """
    document = Document(None, dict(values))
    config = _config(document, RegistryConfig, root)
    if config is None:
        raise SpecError.from_violations(document.violations)
    return registry_values(config)


def _checked(
    documents: Iterable[Document], project: ProjectSpec, violations: Sequence[Violation] = ()
) -> list[TableSpec]:
    found, read = list(violations), []
    for document in documents:
        config = _config(document, TableConfig, project.root)
        found += document.violations
        if config is not None:
            spec = table_values(config, project, document.file)
            if (
                format_of(spec.source.format).needs_schemas
                and spec.source.registry is None
                and spec.source.schemas is None
            ):
                found.append(document.violation(("source",), ONE_PLACE))
            read.append((spec, document))
    found += collisions(read, project)
    if found:
        raise SpecError.from_violations(found)
    return [spec for spec, _ in read]


def _config(document: Document, model: type[_Config], root: Path) -> _Config | None:
    """The values of a document as a model, or None. Violations are added to the document."""
    if document.value is None:
        return None
    filling = Interpolation(root, os.environ)
    document.value = filling.fill(document.value)
    unfilled = {place for place, _, _ in filling.problems}
    document.violations += [document.violation(*problem) for problem in filling.problems]
    if model is TableConfig:
        document.violations += [document.violation(*found) for found in disagreements(document.value)]
    try:
        config = model.model_validate(document.value)
    except ValidationError as error:
        places = {document.violation(place, "").path for place in unfilled}
        document.violations += [v for v in model_violations(error, model, document) if v.path not in places]
        return None
    return None if document.violations else config


def project_file(path: Path | None, begin: Path) -> Path | None:
    """The project file of a file or folder, else the first one in `begin` and the folders above it, or None."""
    if path is not None:
        file = Path(path).resolve()
        return file / PROJECT_FILE if file.is_dir() else file
    candidates = (folder / PROJECT_FILE for folder in (begin, *begin.parents))
    return next((file for file in candidates if file.is_file()), None)


def specs_in(folder: Path) -> list[Path]:
    """The specs in a folder, in the order of their names. The list is empty if there is no such folder.

    A project file in the folder is skipped.
    """
    found = (*folder.glob("*.yaml"), *folder.glob("*.yml"))
    return sorted(file for file in found if file.name != PROJECT_FILE)


def _spec_files(paths: Sequence[Path] | None, project: ProjectSpec) -> tuple[list[Path], list[Violation]]:
    files: list[Path] = []
    violations: list[Violation] = []
    for path in [Path(p).resolve() for p in paths or [project.root / SPECS_FOLDER]]:
        inside = specs_in(path) if path.is_dir() else [path]
        if not inside or not path.exists():
            hint = "siltstone init writes specs from events; docs/reference/spec.md describes them."
            violations.append(Violation("$", "there is no spec here", hint, path))
        else:
            files += [file for file in inside if file not in files]
    return files, violations
