"""Files as they arrive: which are there, what of them is new, and their lines with coordinates."""
