"""The decoders turn records of a source into changes, control events and rejects. Plain Python, one module per format.

    message -> event (a change, a control event, a reject)          formats/, registry
    events of a table -> the shape of its rows                      columns_seen, table_shape
    events of a table -> rows of `changes`, as Arrow                change_rows, types/

Only `engine.decode.spark` uses Spark. It maps the decoders over the records of a run.
"""
