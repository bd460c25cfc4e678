"""The formats of the sources, one module per format. Only the registry (`engine.formats`) lists them."""
