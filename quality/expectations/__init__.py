"""Great Expectations' classes of our own, one a file. Import them late: they bring the whole library with them."""
