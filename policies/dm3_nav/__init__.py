"""DM3-Nav: robots that each decide for themselves, and tell each other what they know when they meet."""
