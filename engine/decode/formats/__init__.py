"""The formats of the sources, one module each. The registry is the only place that lists them."""
