"""StructTypes of the tables, and how they evolve. Nothing here touches a session."""
