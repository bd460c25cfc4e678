"""Finds formats, tables, keys and types in files and topics of events, and writes specs for them.

files -> records               file_sample, typed_files, stored_paths
records -> a format            recognition: the decoder that accepts most of the records
events of a format -> tables   table_search, event_tables, row_tables, column_samples, guessed_types
topics -> files                topic_samples: the first and last records
other files -> a description   unread_files, envelopes, other_tools
tables -> specs                spec_text, path_patterns, targets
"""

from siltstone.engine.init.found_table import FoundTable
from siltstone.engine.init.recognition import looks_like, other_than
from siltstone.engine.init.schema_place import SchemaPlace
from siltstone.engine.init.spec_text import WrittenSpec, project_root, write_schemas, write_specs, written_specs
from siltstone.engine.init.stored_paths import event_place
from siltstone.engine.init.table_search import find_tables
from siltstone.engine.init.topic_samples import FoundTopics, find_in_topics, topics_at

__all__ = [
    "FoundTable",
    "FoundTopics",
    "SchemaPlace",
    "WrittenSpec",
    "event_place",
    "find_in_topics",
    "find_tables",
    "looks_like",
    "other_than",
    "project_root",
    "topics_at",
    "write_schemas",
    "write_specs",
    "written_specs",
]
