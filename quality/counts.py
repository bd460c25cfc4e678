"""Counts as people read them: `1 record`, `2 records`. Without Spark."""


def plural(noun: str, number: int) -> str:
    """The noun in the form that the number needs: `record`, `records`; `entry`, `entries`."""
    if number == 1:
        return noun
    return noun[:-1] + "ies" if noun.endswith("y") else noun + "s"


def counted(number: int, noun: str) -> str:
    """A number and its noun: `1 record`, `2,000 records`."""
    return f"{number:,} {plural(noun, number)}"
