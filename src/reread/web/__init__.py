"""The web reader's server: loopback only unless asked otherwise, and nothing here changes anything."""
