"""Counts with their nouns: `1 record`, `2,000 records`."""


def plural(noun: str, number: int) -> str:
    """The noun in the form that the number needs: `record`, `records`; `entry`, `entries`; `batch`, `batches`."""
    if number == 1:
        return noun
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("ch", "sh", "s", "x")) else f"{noun}s"


def counted(number: int, noun: str) -> str:
    """A number and its noun."""
    return f"{number:,} {plural(noun, number)}"
