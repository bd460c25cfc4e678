"""Entry points for spark-submit: parse arguments, use the session, call siltstone, give an exit code."""
