"""Errors of the models as violations: with the place in the file, plain words, and the nearest valid word."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from siltstone.engine.errors import Violation
from siltstone.engine.spec.wording import Place, shown, word_hint
from siltstone.engine.spec.yaml_document import Document

_ABSENT = object()


def model_violations(error: ValidationError, model: type[BaseModel], document: Document) -> Iterator[Violation]:
    """Every error of one validation as a violation of the document."""
    for detail in error.errors(include_url=False):
        written = tuple(step for step in detail["loc"] if step != "[key]")
        place = _place_in(document.value, written, detail["type"])
        message, hint = _words(detail, written, model)
        yield document.violation(place, message, hint)


def _place_in(value: object, written: Place, kind: str) -> Place:
    """The part of the place that is in the file (`balance: decimal(12,2)` has no key `type`)."""
    for depth, step in enumerate(written):
        inner = _inside(value, step)
        if inner is _ABSENT:
            return written if kind == "missing" else written[:depth]
        value = inner
    return written


def _inside(value: object, step: str | int) -> object:
    if isinstance(value, Mapping):
        return value.get(step, _ABSENT)
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return value[step]
    return _ABSENT


def _words(detail: ErrorDetails, place: Place, model: type[BaseModel]) -> tuple[str, str | None]:
    match detail["type"]:
        case "violation":
            context = detail.get("ctx", {})
            return str(context["message"]), context["hint"]
        case "extra_forbidden":
            return _unknown_key(place, model)
        case "missing":
            return "is required", None
        case "model_type" | "model_attributes_type" | "dict_type":
            return f"must be a mapping, not {shown(detail['input'])}", None
        case "tuple_type" | "list_type":
            return f"must be a list, not {shown(detail['input'])}", None
    return f"{detail['msg']} (not {shown(detail['input'])})", None


def _unknown_key(place: Place, model: type[BaseModel]) -> tuple[str, str | None]:
    key = str(place[-1])
    section = _section(model, place[:-1])
    return f"the key '{key}' is not known", word_hint(key, list(section.model_fields))


def _section(model: type[BaseModel], place: Place) -> type[BaseModel]:
    """The model of the mapping at a place, which can be in a mapping or a list."""
    steps = iter(place)
    for step in steps:
        annotation = model.model_fields[str(step)].annotation
        models = [part for part in _parts(annotation) if isinstance(part, type) and issubclass(part, BaseModel)]
        if not models:
            return model
        model = models[0]
        if any(typing.get_origin(part) in (dict, tuple) for part in _parts(annotation)):
            next(steps, None)
    return model


def _parts(annotation: object) -> Iterator[object]:
    """An annotation and all its parts."""
    yield annotation
    for inner in typing.get_args(annotation):
        yield from _parts(inner)
