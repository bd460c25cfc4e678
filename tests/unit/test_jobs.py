"""The jobs' command lines: what they accept, and how they reject wrong arguments."""

import pytest

from siltstone.jobs import catch_up, rebuild


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--until", "yesterday"), "'yesterday' is no time; write 2026-01-31"),
        (("--until", "0001-01-01T00:00:00+14:00"), "is outside of the years 1 to 9999"),
        (("--wait", "-1"), "'-1' is no time to wait"),
        (("--wait", "nan"), "'nan' is no time to wait"),
        (("--wait", "soon"), "'soon' is no time to wait"),
    ],
)
def test_wrong_usage_ends_with_2_and_a_reason(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    for job in (catch_up, rebuild) if arguments[0] == "--wait" else (catch_up,):
        with pytest.raises(SystemExit) as ended:
            job.main(arguments)
        assert ended.value.code == 2
        assert words in capsys.readouterr().err
