"""The fold: from changes in order to versions that tile time. Pure steps; nothing here reads or writes a table."""
