"""Display rules that tests save."""

FOLD = {"action": "fold", "field": "uri", "pattern": "*/app.js", "title": "The app", "colour": "teal"}


RETITLE = {"action": "retitle", "field": "name", "pattern": "draw", "title": "Draws {name}"}
