"""The decoders: records of a source in; changes, control events and rejects out. Plain Python, one module a format.

    message -> event (a change, a control event, a reject)          formats/, registry
    events of a table -> what their columns look like               columns_seen, table_shape
    events of a table -> rows of `changes`, as Arrow                table_rows, types/

Only `engine.decode.spark` knows Spark: it maps these over the records of a run.
"""
