"""What needs an event's neighbours: rules over light values in plain Python, and the Spark steps that call them."""
