"""The content of the web reader: one typed view of a session for the server and for exported HTML pages.

`schema` is the contract with the browser; the TypeScript types are generated from it.
"""
