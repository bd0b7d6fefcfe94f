"""From commits to the turns that wrote their lines."""
