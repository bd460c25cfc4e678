"""Project files and table specs, from YAML or from plain values, with every violation of every file at once."""

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
from siltstone.engine.spec.config_models import ProjectConfig, RegistryConfig, TableConfig
from siltstone.engine.spec.cross_checks import disagreements
from siltstone.engine.spec.interpolation import Interpolation
from siltstone.engine.spec.model import ProjectSpec, RegistrySpec, TableSpec
from siltstone.engine.spec.resolve import project_values, registry_values, table_values
from siltstone.engine.spec.value_checks import ONE_PLACE
from siltstone.engine.spec.violations import model_violations
from siltstone.engine.spec.yaml_document import Document, read_document

PROJECT_FILE = "siltstone.yaml"
SPECS_FOLDER = "specs"

_Face = TypeVar("_Face", bound=BaseModel)


def load_project(path: Path | None = None, start: Path | None = None) -> ProjectSpec:
    """The project of a file or folder, or the one found upward from `start` (default: the working directory).

    Without a file anywhere: the defaults, with `start` as the root.
    Raises: SpecError with every violation of the file.
    """
    begin = (start or Path.cwd()).resolve()
    file = project_file(path, begin)
    if file is None:
        return project_values(ProjectConfig(), begin, None)
    document = read_document(file)
    if document.empty:
        return project_values(ProjectConfig(), file.parent, file)
    face = _face(document, ProjectConfig, file.parent)
    if face is None:
        raise SpecError.from_violations(document.violations)
    return project_values(face, file.parent, file)


def load_specs(paths: Sequence[Path] | None, project: ProjectSpec) -> list[TableSpec]:
    """The specs of the files and folders given, else of `<root>/specs`, in the order of their names.

    Raises: one SpecError with every violation of every file, the tables they must not share included.
    """
    files, violations = _spec_files(paths, project)
    return _checked([read_document(file) for file in files], project, violations)


def with_tables(project: ProjectSpec, specs: Sequence[TableSpec]) -> ProjectSpec:
    """The project with these tables, those it knows already and the others of `<root>/specs`.

    A spec that cannot be read stops nobody here.
    """
    own, others, unread = {spec.file for spec in specs}, list(project.tables), []
    for file in specs_in(project.root / SPECS_FOLDER):
        try:
            others += [] if file in own else _checked([read_document(file)], project)
        except SpecError:
            unread.append(file)
    known = {spec.table: spec for spec in (*specs, *others, *specs)}  # in this order, and by the specs at work
    return replace(project, tables=tuple(known.values()), unread=tuple(unread))


def load_spec(path: Path, project: ProjectSpec | None = None) -> TableSpec:
    """The spec in one file; without a project, in the project found upward from that file.

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
    face = _face(document, RegistryConfig, root)
    if face is None:
        raise SpecError.from_violations(document.violations)
    return registry_values(face)


def _checked(
    documents: Iterable[Document], project: ProjectSpec, violations: Sequence[Violation] = ()
) -> list[TableSpec]:
    found, read = list(violations), []
    for document in documents:
        face = _face(document, TableConfig, project.root)
        found += document.violations
        if face is not None:
            spec = table_values(face, project, document.file)
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


def _face(document: Document, model: type[_Face], root: Path) -> _Face | None:
    """The values of a document as a model, or None; what is wrong stands in the document's violations."""
    if document.value is None:
        return None
    filling = Interpolation(root, os.environ)
    document.value = filling.fill(document.value)
    unfilled = {place for place, _, _ in filling.problems}
    document.violations += [document.violation(*problem) for problem in filling.problems]
    if model is TableConfig:
        document.violations += [document.violation(*found) for found in disagreements(document.value)]
    try:
        face = model.model_validate(document.value)
    except ValidationError as error:
        places = {document.violation(place, "").path for place in unfilled}
        document.violations += [v for v in model_violations(error, model, document) if v.path not in places]
        return None
    return None if document.violations else face


def project_file(path: Path | None, begin: Path) -> Path | None:
    """The project file of a file or folder, or the one found upward from `begin`; None where there is none."""
    if path is not None:
        file = Path(path).resolve()
        return file / PROJECT_FILE if file.is_dir() else file
    candidates = (folder / PROJECT_FILE for folder in (begin, *begin.parents))
    return next((file for file in candidates if file.is_file()), None)


def specs_in(folder: Path) -> list[Path]:
    """The files of a folder that are specs, in the order of their names; none where there is no folder.

    A project file can stand beside them.
    """
    found = (*folder.glob("*.yaml"), *folder.glob("*.yml"))
    return sorted(file for file in found if file.name != PROJECT_FILE)


def _spec_files(paths: Sequence[Path] | None, project: ProjectSpec) -> tuple[list[Path], list[Violation]]:
    files: list[Path] = []
    violations: list[Violation] = []
    for path in [Path(p).resolve() for p in paths or [project.root / SPECS_FOLDER]]:
        inside = specs_in(path) if path.is_dir() else [path]
        if not inside or not path.exists():
            hint = "siltstone init writes specs from events; specs/README.md describes them."
            violations.append(Violation("$", "there is no spec here", hint, path))
        else:
            files += [file for file in inside if file not in files]
    return files, violations
