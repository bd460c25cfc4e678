"""SharePlex's operations as JSON lines (Alibaba DTS writes them, too): `{"meta", "data", "key"}`, perhaps in `value`.

An `upd` carries the row before in `key` and the columns that changed in `data`; an explicit null counts. UPDATE BEFORE
and UPDATE AFTER are two lines, one behind the other. Operations name no keys and no types: the spec does; and the table
where `meta` does not. Order: SCN, transaction, operation. One change of a delivery without an SCN, and coordinates
order all of it and all that comes later, behind whatever SCNs order (`source.order` says it once for all).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from engine import names
from engine.decode import numbers, position, shareplex_kinds
from engine.decode.coordinates import file_name
from engine.decode.envelope import ANNOUNCED, ANNOUNCED_TYPE, CHANGE, CONTROL, ENVELOPE_COLUMNS, REJECT
from engine.decode.images import Declared, declared_keys, in_halves, laid_over
from engine.decode.instants import micros
from engine.decode.json_lines import is_malformed
from engine.decode.methods import own_method
from engine.decode.outcome import some
from engine.decode.parsing import first_at, first_field, may_have_word, quoted_line_of, struct_of
from engine.spec.model import SourceSpec

_META: Final = (
    "time string, userid string, op string, scn string, rowid string, trans string, seq string, size string, "
    "`table` string, idx string"
)
_COUNTS: Final = ("seq", "size")  # which some write as text
_OPERATION: Final = f"meta struct<{_META}>, data string, `key` string"
_SOME_FIELD: Final = r"^\{\s*[^\s}]"
_LINE: Final = f"value string, topic string, partition int, offset bigint, {_OPERATION}"


def envelopes(lines: DataFrame, source: SourceSpec, declared: Declared) -> DataFrame:
    """What each operation is.

    Needs: file, line, text; all lines of a file. `declared`: keys by table.
    Gives: the columns of ENVELOPE_COLUMNS, then announced.
    Rows: 1:1; 1:2 for an update that changes a key.
    """
    found = _look(lines, source, declared)
    operations = lines.transform(_operations, declared, found.has_halves)
    placed = operations.transform(_placed, source, found.is_lacking)
    return placed.transform(_halves).transform(_completed)


@dataclass(frozen=True, slots=True)
class Found:
    """What one look at all lines finds: whether some may be one of two, and whether coordinates order the changes."""

    has_halves: bool
    is_lacking: bool


def _look(lines: DataFrame, source: SourceSpec, declared: Declared) -> Found:
    """A pass of its own: what follows takes two joins less where nothing of the kind is there."""
    fields = "meta struct<time string, op string, scn string, trans string, seq string, `table` string, idx string>"
    first = lines.select("text", first_field(F.col("text"), fields)["meta"].alias("_first"))  # most often it is
    asked = F.when(F.col("_first").isNull(), F.col("text"))
    line = first.select("*", struct_of(asked, f"value string, {fields}").alias("_line"))
    value, meta = F.col("_line.value"), F.coalesce("_first", "_line.meta")
    told = line.select(
        "text", F.when(value.isNotNull(), struct_of(value, fields)["meta"]).otherwise(meta).alias("_meta")
    )
    word = shareplex_kinds.word(F.col("_meta.op"))
    may_say_half = word.isNull() | word.isin(shareplex_kinds.BEFORE, shareplex_kinds.AFTER)
    facts = told.agg(
        F.bool_or(may_say_half & _may_be_half()).alias("halves"),
        F.bool_or(_lacks_scn(F.col("_meta"), word, declared) if source.order == "auto" else F.lit(False)).alias(
            "lacking"
        ),
    ).first()
    assert facts is not None  # one row
    return Found(bool(facts["halves"]), bool(facts["lacking"]) or source.order == "coordinates")


def _operations(lines: DataFrame, declared: Declared, has_halves: bool) -> DataFrame:
    """One operation a line; those that may be one of two, in two lines, with what the other one told."""
    if not has_halves:
        usual = lines.transform(_parsed).transform(_picked, declared)
        return usual.select("*", F.lit(None).cast("string").alias("_told")).transform(_judged, declared)
    halves = lines.where(_may_be_half()).transform(_parsed).transform(_picked, declared)
    usual = lines.where(~_may_be_half()).transform(_parsed).transform(_picked, declared)
    return halves.transform(_paired).unionByName(usual, allowMissingColumns=True).transform(_judged, declared)


def _may_be_half() -> Column:
    return may_have_word(F.col("text"), "before", "after")


def _parsed(lines: DataFrame) -> DataFrame:
    """The line, and what its value holds; numbers of many digits as text, since rows are handed on as text."""
    outer = lines.select("file", "line", "text", quoted_line_of(F.col("text"), _LINE).alias("_json"))
    return outer.select("*", quoted_line_of(F.col("_json._line.value"), _OPERATION).alias("_inner"))


def _picked(parsed: DataFrame, declared: Declared) -> DataFrame:
    """One operation, wherever the line has it. A spec's table is that of operations that name none."""
    line, inner = F.col("_json._line"), F.col("_inner._line")
    is_inner = line["value"].isNotNull()
    malformed = is_malformed(F.col("_json")) | (is_inner & is_malformed(F.col("_inner")))
    told, data, key = (F.when(is_inner, inner[name]).otherwise(line[name]) for name in ("meta", "data", "key"))
    counts = {name: numbers.whole_number(told[name]) for name in _COUNTS}
    uncounted = some(told[name].isNotNull() & count.isNull() for name, count in counts.items())
    only = next(iter(declared)) if len(declared) == 1 else None
    return parsed.select(
        "file",
        "line",
        "text",
        (malformed | uncounted | (line.isNull() & (F.trim("text") != "null")) | (is_inner & inner.isNull())).alias(
            "_broken"
        ),
        told.alias("_meta"),
        *[count.alias(f"_{name}") for name, count in counts.items()],
        F.coalesce(counts["seq"], F.regexp_extract(told["idx"], "^([0-9]+)/", 1).try_cast("bigint")).alias("_sequence"),
        F.when(data.startswith("{"), data).alias("_data"),
        F.when(key.startswith("{"), key).alias("_key"),
        F.coalesce(told["table"], F.lit(only)).alias("table"),
        shareplex_kinds.word(told["op"]).alias("_word"),
        line["topic"].alias("channel"),
        line["partition"].alias("kafka_partition"),
        line["offset"].alias("kafka_offset"),
    )


def _paired(halves: DataFrame) -> DataFrame:
    """The row that the UPDATE BEFORE told: that on the line before, else the one that has the same place in the same
    transaction, or the place before it, wherever it stands: SharePlex counts both as one operation, or as two.

    Rows: 1:1.
    """
    placed = halves.withColumn("_at", F.struct("table", "_meta.trans", "_meta.scn", "_sequence"))
    befores, afters = (placed.where(F.col("_word") == word) for word in (shareplex_kinds.BEFORE, shareplex_kinds.AFTER))
    told = befores.select(
        "file", (F.col("line") + 1).alias("line"), F.col("_at").alias("_beside"), F.col("_data").alias("_row")
    )
    with_neighbours = placed.join(told, on=["file", "line"], how="left")
    next_to = afters.select("file", (F.col("line") - 1).alias("line"), F.col("_at").alias("_after"))
    lone = befores.join(next_to, on=["file", "line"], how="left").where(~_belong("_at", "_after"))
    by_place = lone.where("_at.trans is not null and _sequence is not null and _data is not null").groupBy(
        "table", "_at.trans", F.coalesce("_at.scn", F.lit("")).alias("scn"), "_sequence"
    )
    rows = by_place.agg(F.max("_data").alias("row"))
    found = with_neighbours
    for name, step in (("_same", 0), ("_previous", 1)):
        there = rows.select(
            F.struct("table", "trans", "scn", (F.col("_sequence") + step).alias("sequence")).alias("_of"),
            F.col("row").alias(name),
        )
        place = F.struct("table", "_at.trans", F.coalesce("_at.scn", F.lit("")).alias("scn"), "_sequence")
        is_there = (F.col("_word") == shareplex_kinds.AFTER) & (place == F.col("_of"))
        found = found.join(there, is_there, "left").drop("_of")
    beside = F.when(_belong("_beside", "_at"), F.col("_row"))
    row = F.coalesce(beside, "_same", "_previous").alias("_told")
    return found.select(*halves.columns, row)


def _belong(before: str, after: str) -> Column:
    """Whether two lines beside each other can be halves of one update: nothing that both tell parts them."""
    one, other = F.col(before), F.col(after)
    apart = F.coalesce(one["scn"] != other["scn"], F.lit(False))
    further = F.coalesce(~(other["_sequence"] - one["_sequence"]).isin(0, 1), F.lit(False))
    alike = (one["table"] == other["table"]) & one["trans"].eqNullSafe(other["trans"])
    return F.coalesce(alike & ~apart & ~further, F.lit(False))


def _judged(paired: DataFrame, declared: Declared) -> DataFrame:
    """What each operation does, and the images that it carries; of an update, the changes laid over the row before."""
    is_after = F.col("_word") == shareplex_kinds.AFTER
    old = F.when(is_after, F.col("_told")).otherwise(F.col("_key"))
    found = paired.select("*", old.alias("_old"), shareplex_kinds.op(F.col("_word")).alias("_op"))
    keys = F.coalesce(declared_keys(F.col("table"), declared), F.array().cast("array<string>"))
    laid = laid_over(keys, F.when(F.col("_op") == names.OP_UPDATE, F.col("_old")), F.col("_data"))
    control = shareplex_kinds.control_kind(F.col("_word"), F.col("_meta"), F.col("text"))
    return found.select("*", control.alias("control_kind"), laid.alias("_laid"))


def _placed(operations: DataFrame, source: SourceSpec, is_lacking: bool) -> DataFrame:
    """The image of each change, and where it stands in the source's order; why it is rejected, if so."""
    meta = F.col("_meta")
    scn = numbers.digits(meta["scn"])
    is_laid = (F.col("_op") == names.OP_UPDATE) & F.col("_old").isNotNull()
    image = F.when(is_laid, F.col("_laid.image")).otherwise(F.col("_data"))
    told = F.when(F.col("_data").rlike(_SOME_FIELD), F.col("_data"))
    image = F.when(F.col("_op") == names.OP_DELETE, F.coalesce(told, "_old")).otherwise(image)
    sequence = F.col("_sequence")
    place = by_coordinates(source) if is_lacking else position.shareplex(scn, meta["trans"], sequence)
    seated = operations.select(
        "*",
        image.alias("_image"),
        place.alias("_place"),
        micros(meta["time"]).alias("commit_ts"),
    )
    reason = shareplex_kinds.reject_reason(
        F.col("_op"), meta, F.col("commit_ts"), F.col("table"), F.col("_image"), F.col("_place")
    )
    return seated.select(
        "*",
        F.when(F.col("_broken"), shareplex_kinds.broken_reason(F.col("text")))
        .when(F.col("control_kind").isNull(), own_method(reason))
        .alias("reason"),
    )


def by_coordinates(source: SourceSpec) -> Column:
    """The place of a change by where it was delivered: its offset, or its file and line. Behind every SCN.

    Of the columns file, line, kafka_partition, kafka_offset.
    """
    epoch, zero = position.SECOND_EPOCH, F.lit(0)
    by_offset = position.kafka_record(zero, F.col("kafka_partition"), F.col("kafka_offset"), zero, epoch)
    return F.coalesce(by_offset, position.file_line(file_name(F.col("file"), source), F.col("line"), zero, epoch))


def _lacks_scn(meta: Column, word: Column, declared: Declared) -> Column:
    """Whether a line is a change of a declared table that does not say its SCN, or not its place in the transaction.

    Not one that is rejected, or of a table that nobody reads: how the changes that are taken stand would hang on it.
    """
    said = meta["trans"].isNotNull() & (meta["seq"].isNotNull() | meta["idx"].isNotNull())
    is_mine = meta["table"].isNull() | meta["table"].isin(*declared)
    is_change = shareplex_kinds.op(word).isNotNull() & micros(meta["time"]).isNotNull() & is_mine
    return F.coalesce(is_change & (shareplex_kinds.is_unsaid(meta["scn"]) | ~said), F.lit(False))


def _halves(placed: DataFrame) -> DataFrame:
    """An update that changes the key is a delete of the old key and an insert of the new one.

    Rows: 1:1, or 1:2.
    """
    moves = F.coalesce(F.col("_laid.changes_key"), F.lit(False)) & F.col("reason").isNull()
    return placed.select("*", F.explode(in_halves(moves, F.col("_op"))).alias("op"))


def _completed(halves: DataFrame) -> DataFrame:
    """The columns of every envelope. The row before counts as whole where it has every column that changed."""
    op, control, meta = F.col("op"), F.col("control_kind"), F.col("_meta")
    is_change = F.col("reason").isNull() & control.isNull()
    is_update = F.col("_op") == names.OP_UPDATE
    gives, takes = is_update & (op == names.OP_DELETE), is_update & (op == names.OP_INSERT)
    before = F.when(gives, F.col("_old")).when(op == names.OP_DELETE, F.col("_image"))
    made = {
        "kind": F.when(F.col("reason").isNotNull(), REJECT).when(control.isNotNull(), CONTROL).otherwise(CHANGE),
        "connector": F.lit("shareplex"),
        "source": F.lit("shareplex"),
        "op": F.when(is_change, op),
        "origin": F.when(is_change, names.ORIGIN_STREAM),
        "before_json": F.when(is_change, before.when((op == names.OP_UPDATE) & F.col("_laid.covers"), F.col("_old"))),
        "after_json": F.when(is_change & (op != names.OP_DELETE), F.col("_image")),
        "schema_hash": F.lit(None).cast("bigint"),
        "position": F.when(is_change, F.col("_place")),
        "ingest_ts": F.lit(None).cast("timestamp"),
        "tx_id": meta["trans"],
        # An UPDATE BEFORE and a DROP COLUMN are operations of their transaction, too: its size counts them.
        "tx_order": F.when(F.col("reason").isNull(), F.col("_sequence")),
        "old_key_json": F.when(takes, F.col("_old")),
        "new_key_json": F.when(gives, F.col("_image")),
        "control_json": F.when(control.isNotNull(), first_at(F.col("text"), "value")),
    }
    there = {name for name in halves.columns if not name.startswith("_")}
    return halves.select(
        *[
            (made[name] if name in made else F.col(name) if name in there else F.lit(None).cast("string")).alias(name)
            for name in ENVELOPE_COLUMNS
        ],
        F.when(F.col("reason").isNull(), own_method(_announced(meta))).alias(ANNOUNCED),
    )


def _announced(meta: Column) -> Column:
    """How many operations the transaction has: `size`, or what stands behind the slash of `idx`."""
    size = F.coalesce("_size", F.regexp_extract(meta["idx"], "/([0-9]+)$", 1).try_cast("bigint"))
    others = [F.lit(None).cast(field.dataType).alias(field.name) for field in ANNOUNCED_TYPE if field.name != "size"]
    return F.when(size.isNotNull(), F.struct(size.alias("size"), *others))
