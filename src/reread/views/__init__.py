"""Views: a conversation made into something to look at. A view draws; it knows no dialect and no tool."""
