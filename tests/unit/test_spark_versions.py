"""The installed Spark decides which runtime of Iceberg is fetched."""

import pytest

from siltstone.engine import spark_versions
from siltstone.engine.errors import SpecError
from siltstone.engine.spark_versions import ICEBERG_RUNTIMES, iceberg_runtime


@pytest.mark.parametrize("installed", ["4.1.1", "4.1.4-amzn-0", "4.0.5"])
def test_a_runtime_is_for_the_installed_spark(installed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_versions, "version", lambda _: installed)
    assert iceberg_runtime() is ICEBERG_RUNTIMES[installed[:3]]
    assert f"-{installed[:3]}_" in iceberg_runtime().artifact


def test_an_unknown_spark_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_versions, "version", lambda _: "3.5.9")
    with pytest.raises(SpecError, match=r"Cannot use Spark 3\.5: siltstone runs with Spark 4\.0, 4\.1"):
        iceberg_runtime()
