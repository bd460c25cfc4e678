"""Rules that need several events, in plain Python over a few values, and the Spark steps that apply them."""
