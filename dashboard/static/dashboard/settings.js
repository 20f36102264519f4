// The settings work without this. With it, texts can be copied by a button, and what came of a form has the focus.

import "./copy-text.js";

// On a narrow screen the list of sections scrolls sideways: the one that is shown must be in sight.
document.querySelector(".sections [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

// After a form was sent the words about it come first: the preview, a token, what became of an upload.
const outcome = document.querySelector(".take-focus, #preview");
if (outcome && !document.querySelector("[autofocus]")) outcome.focus();
