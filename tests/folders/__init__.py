"""Model folders as the world writes them: one description per JSON file."""
