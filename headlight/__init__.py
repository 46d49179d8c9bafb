"""The command `headlight`: the app, served from any folder."""
