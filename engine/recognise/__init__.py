"""What is in files of events, without a JVM: formats, tables, keys, types; and specs written from it."""

from engine.recognise.formats import RECOGNISERS, looks_like, other_than, recognise
from engine.recognise.frames import SchemaPlace
from engine.recognise.tables import FoundTable, find_tables
from engine.recognise.writing import WrittenSpec, project_root, write_specs, written_specs

__all__ = [
    "RECOGNISERS",
    "FoundTable",
    "SchemaPlace",
    "WrittenSpec",
    "find_tables",
    "looks_like",
    "other_than",
    "project_root",
    "recognise",
    "write_specs",
    "written_specs",
]
