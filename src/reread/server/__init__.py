"""The local web server: routes, live events, the list of sessions and the request guard."""
