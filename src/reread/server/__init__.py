"""The web reader's server on loopback: routes, live events, the library page and their guard."""
