"""Debezium events of one small table, `shop.things` on MySQL, as JSON lines, and `Shop`, a project that reads them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from siltstone.engine.report import RunReport, TableReport
from siltstone.engine.run import catch_up
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec, QualitySpec, SparkSpec, TableSpec

catch_up_module = import_module("siltstone.engine.run.catch_up")
"""The module of `catch_up`, for tests that replace a step. The package exports the function under this name."""

THINGS = "shop.things"
START_MS = 1_704_067_200_000  # 2024-01-01 00:00:00 UTC
COLUMNS = {"id": "int", "name": "string", "n": "int"}
_TYPES = {"id": "int32", "name": "string", "n": "int32"}


def row(key: int | None, name: str, n: Any = 0) -> dict[str, Any]:
    return {"id": key, "name": name, "n": n}


def insert(second: int, after: dict[str, Any], **options: Any) -> str:
    return event("c", second, None, after, **options)


def update(second: int, after: dict[str, Any], **options: Any) -> str:
    return event("u", second, None, after, **options)


def delete(second: int, before: dict[str, Any], **options: Any) -> str:
    return event("d", second, before, None, **options)


def read(second: int, after: dict[str, Any], **options: Any) -> str:
    return event("r", second, None, after, **options)


def event(
    op: str,
    second: int,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    table: str = THINGS,
    types: dict[str, Any] | None = None,
) -> str:
    """One event, as a line.

    `second`: its commit time in seconds after the start, and its position in the log. `types`: the event carries a
    schema with these types for some of the columns. Each is the name of a type, or a whole description.
    """
    database, name = table.split(".")
    millis = START_MS + second * 1000
    source = {"connector": "mysql", "name": "shop", "db": database, "table": name, "ts_ms": millis}
    place = {"file": "binlog.000001", "pos": second, "row": 0}
    value = {"before": before, "after": after, "source": source | place, "op": op, "ts_ms": millis + 500}
    return json.dumps(value if types is None else {"schema": _schema(types), "payload": value}) + "\n"


def _schema(types: dict[str, Any]) -> dict[str, Any]:
    declared = {name: kind if isinstance(kind, dict) else {"type": kind} for name, kind in (_TYPES | types).items()}
    fields = [{"field": name, "optional": True} | kind for name, kind in declared.items()]
    images = [{"field": image, "type": "struct", "optional": True, "fields": fields} for image in ("before", "after")]
    return {"type": "struct", "fields": images}


# Key 1: a late change between two others. Keys 2 and 3: a change inside the window of a READ supersedes the READ.
# Key 4: a change before the window of a READ. PROMPT arrives first, LATE arrives later.
PROMPT = (
    insert(105, row(1, "Alice")),
    update(110, row(1, "Alice")),
    update(115, row(1, "Alice")),
    update(120, row(1, "Charlie")),
    read(200, row(2, "as read")),
    update(195, row(3, "as streamed")),
    read(300, row(4, "as read")),
)
LATE = (
    update(110, row(1, "Alice")),
    update(112, row(1, "Bob")),
    update(195, row(2, "as streamed")),
    read(200, row(3, "as read")),
    update(250, row(4, "before the window")),
)


@dataclass(frozen=True)
class Shop:
    """A project with a folder of events, and the tables that runs build from them."""

    spark: SparkSession
    project: ProjectSpec

    @classmethod
    def open(cls, spark: SparkSession, catalog: CatalogSpec, root: Path, namespace: str) -> "Shop":
        return cls(spark, ProjectSpec(root, None, catalog, namespace, SparkSpec(), QualitySpec()))

    @property
    def events(self) -> Path:
        folder = self.project.root / "events"
        folder.mkdir(exist_ok=True)
        return folder

    def write(self, name: str, lines: Sequence[str]) -> Path:
        """Write a file of events. It replaces an existing file of this name."""
        file = self.events / name
        file.write_text("".join(lines), encoding="utf-8")
        return file

    def spec(
        self,
        table: str = THINGS,
        path: str = "events",
        columns: dict[str, str] | None = COLUMNS,
        rejects: float = 0.01,
    ) -> TableSpec:
        """The spec of one table. Without `columns`, the columns come from the events."""
        name = table.replace(".", "_")
        mapping: dict[str, Any] = {
            "table": table,
            "source": {"format": "debezium-json", "path": path},
            "keys": ["id"],
            "target": {"latest": f"{self.project.namespace}.{name}", "history": f"{self.project.namespace}.{name}_h"},
            "rejects": {"max_fraction": rejects},
        }
        return table_spec(mapping | ({"columns": columns} if columns else {}), self.project)

    def run(self, *specs: TableSpec) -> RunReport:
        """Run once over these tables, or over `shop.things` if none is given."""
        return catch_up(self.project, specs or (self.spec(),), self.spark)

    def taken(self, *specs: TableSpec) -> TableReport:
        """Run once over one table, and expect exit code 0. Gives the report of the table."""
        (table,) = self.run(*specs).tables
        assert table.exit_code == 0, table.error
        return table

    def another(self, name: str) -> "Shop":
        """Another project in the same catalog, with its own folder and namespace."""
        root = self.project.root / name
        root.mkdir()
        return Shop(self.spark, replace(self.project, root=root, namespace=f"{self.project.namespace}_{name}"))

    def stored(self) -> list[list[str]]:
        """The rows of history and of latest without `_batch`, sorted, so that tests can compare them."""
        both = (self.rows("shop_things_h"), self.rows("shop_things"))
        return [sorted(repr(sorted((n, v) for n, v in r.items() if n != "_batch")) for r in rows) for rows in both]

    def rows(self, name: str) -> list[dict[str, Any]]:
        """All rows of a table in the project's namespace; none if the table does not exist."""
        identifier = f"{self.project.catalog.name}.{self.project.namespace}.{name}"
        if not self.spark.catalog.tableExists(identifier):
            return []
        return [found.asDict() for found in self.spark.table(identifier).collect()]

    def snapshots(self, name: str) -> tuple[list[int], list[str]]:
        """The ids of all snapshots of a table, and the names of its branches and tags."""
        identifier = f"{self.project.catalog.name}.{self.project.namespace}.{name}"
        found = self.spark.table(f"{identifier}.snapshots").select("snapshot_id").collect()
        refs = self.spark.table(f"{identifier}.refs").select("name").collect()
        return sorted(row[0] for row in found), sorted(row[0] for row in refs)

    def latest(self, table: str = "shop_things") -> list[tuple[Any, ...]]:
        """(id, name, n) of the live rows."""
        return sorted((found["id"], found["name"], found["n"]) for found in self.rows(table))

    def versions(self, key: int) -> list[tuple[str | None, int, int | None]]:
        """(name, from second, to second) of the versions of one key, including deletions."""
        found = [version for version in self.rows("shop_things_h") if version["id"] == key]
        spans = [(v["name"], second(v["_valid_from"]), second(v["_valid_to"])) for v in found]
        return sorted(spans, key=lambda span: (span[1], span[2] is None, span[2] or 0))


def second(moment: Any) -> Any:
    """Seconds since the start; None for None. Spark gives times in the time zone of the Python process."""
    return None if moment is None else round(moment.timestamp() - START_MS / 1000)
