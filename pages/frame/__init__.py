"""Parts that all pages share: layout, controls, components, and the user's session."""
