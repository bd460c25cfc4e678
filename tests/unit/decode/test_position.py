"""Positions sort as their source's log does."""

import random

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from engine.decode import position
from engine.frames import local_frame
from engine.jvm import CATALOG


def test_postgresql_positions_sort_by_the_transaction_before_then_by_lsn(spark: SparkSession) -> None:
    given = [  # (lsn, sequence), in the order of the log
        (7, '["5","7"]'),
        (9, '["5","9"]'),
        (9, '["6","9"]'),  # one lsn, another transaction before it
        (8, '["10","8"]'),
        (4096, '["99","4096"]'),
        (2**62, f'["{2**61}","{2**62}"]'),
    ]
    rows = spark.createDataFrame(given, "lsn bigint, sequence string")
    found = [row[0] for row in rows.select(position.postgresql(F.col("lsn"), F.col("sequence"))).collect()]
    assert found == sorted(found)
    assert found[0] == "0000-0000000000000005-0000000000000007"


def test_postgresql_fills_what_is_missing_from_the_other_and_refuses_sentinels(spark: SparkSession) -> None:
    given = [
        (7, '[null,"7"]'),
        (7, None),
        (None, '["5","7"]'),  # an incremental snapshot's READ
        (-(2**63), None),
        (None, None),
        (None, "[null,null]"),
        (None, "[]"),
    ]
    rows = spark.createDataFrame(given, "lsn bigint, sequence string")
    found = [row[0] for row in rows.select(position.postgresql(F.col("lsn"), F.col("sequence"))).collect()]
    own = "0000-0000000000000007-0000000000000007"
    assert found == [own, own, "0000-0000000000000005-0000000000000007", None, None, None, None]


def test_a_number_of_a_sequence_is_what_stands_between_its_signs(spark: SparkSession) -> None:
    draw = random.Random(3)
    items = (
        '"5"',
        "null",
        '"0"',
        '"24023128"',
        "7",
        '"-1"',
        '""',
        '" 7 "',
        '"1.5"',
        f'"{2**62}"',
        f'"{2**63}"',
        "x",
        '"+3"',
    )
    signs = ("[", "]", ",", " ", '"', ",null", "")
    made = [draw.choice(items) for _ in range(3_000)]
    told = [f"[{one},{other}]" for one, other in zip(made, reversed(made), strict=True)]
    told += [
        text[:at] + draw.choice(signs) + text[at + draw.randint(0, 1) :] for text in told for at in [draw.randint(0, 9)]
    ]
    rows = local_frame(spark, [{"sequence": text} for text in told], "sequence string")
    for side in (1, -1):
        plainly = F.call_function(f"{CATALOG}.number_in_pair", "sequence", F.lit(side))
        spark_says = F.coalesce(position._number_between(F.col("sequence"), side), F.lit(-1))
        found = rows.select("sequence", plainly.alias("plainly"), spark_says.alias("spark")).localCheckpoint()
        assert found.where("plainly is not null and plainly is distinct from spark").head() is None
        assert 200 < found.where("plainly is not null").count() < 2_000


def test_binlog_positions_compare_file_numbers_not_file_names(spark: SparkSession) -> None:
    given = [
        ("mysql-bin.000009", 4, 0),
        ("mysql-bin.999999", 99, None),
        ("mysql-bin.1000000", 4, 0),
        ("mysql-bin.1000000", 4, 1),
        ("mysql-bin.1000000", 15, 0),
        ("", 0, 0),
        (None, 4, 0),
        ("mysql-bin.000001", None, 0),
        ("mysql-bin.99999999999999999999", 4, 0),
    ]
    rows = spark.createDataFrame(given, "file string, pos bigint, row bigint")
    found = [row[0] for row in rows.select(position.binlog(F.col("file"), F.col("pos"), F.col("row"))).collect()]
    assert found[:5] == sorted(found[:5])
    assert found[0] == "0000-00000009-0000000000000004-00000000"
    assert found[5:] == [None] * 4


def segment_by_steps(text: Column) -> Column:
    """The segment of a plain number, by Spark's own functions."""
    bare = F.ltrim(text, F.lit("+-0"))
    whole = F.substring_index(bare, ".", 1)
    digits = F.concat(whole, F.rtrim(F.regexp_extract(text, r"\.([0-9]*)", 1), F.lit("0")))
    negative = text.startswith("-") & (digits != "")
    few, many = [
        F.lpad(F.hex(F.when(negative, most - F.length(whole)).otherwise(F.length(whole))), width, "0")
        for most, width in ((0xFF, 2), (0xFFFF, 4))
    ]
    ended = F.when(negative, "00").otherwise("FF")
    count = F.when(F.length(whole) < 0xFF, few).otherwise(F.concat(ended, many))
    complement = F.concat(F.lit("A"), count, F.translate(digits, "0123456789", "9876543210"), F.lit("F"))
    return F.when(negative, complement).otherwise(F.concat(F.lit("B"), count, digits))


def test_numbers_are_segments_as_they_are_by_their_steps(spark: SparkSession) -> None:
    draw = random.Random(41)
    signs = ["", "", "-", "+"]
    given = [
        draw.choice(signs) + "".join(draw.choices("0019.", k=draw.choice([1, 2, 5, 30, 254, 255, 256, 300])))
        for _ in range(4_000)
    ]
    given += [
        "",
        "-",
        "+",
        ".",
        "1.",
        ".5",
        "-0",
        "-0.0",
        "0.50",
        "00.10",
        "1e3",
        " 1",
        "1\n",
        "--1",
        "\u0661",
        "1.5.",
        "-.5",
        "7" * 0xFFFE,
        "-" + "7" * 0xFFFE + ".5",
        "7" * 0xFFFF,
    ]
    frame = spark.createDataFrame([(text,) for text in given], "text string")
    mine, theirs = position.number_segment(F.col("text")), segment_by_steps(F.col("text"))
    is_number = F.col("text").rlike(r"^[+-]?[0-9]{1,65534}(?:\.[0-9]+)?\z")
    assert frame.where(mine.isNotNull() != is_number).count() == 0
    assert frame.where(is_number & ~mine.eqNullSafe(theirs)).count() == 0
    assert frame.where(is_number).count() > 500
