"""The lines of a file's spans after the file was ingested a second time from an earlier line."""

from siltstone.engine.ingest.taken_lines import Span, shorten_spans


def test_every_line_belongs_to_the_batch_that_ingested_it_last() -> None:
    spans: list[Span] = []
    for batch, (first, last) in enumerate([(1, 3), (4, 9), (10, 9), (7, 12), (1, 2), (3, 5)], 1):
        shorten_spans(spans, first)
        spans.append(Span("a", first, last, batch, 0, 0, ""))
    held = {span.batch: list(range(span.from_line, span.to_line + 1)) for span in spans}
    assert held == {1: [], 2: [], 3: [], 4: [], 5: [1, 2], 6: [3, 4, 5]}
