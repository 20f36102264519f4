// A new project: its slug, from its name.
import assert from "node:assert/strict";
import { test } from "node:test";

import { openPage, run, type } from "../page.mjs";

const byId = (id) => document.getElementById(id);

test("a slug is suggested while the name is typed, until somebody types one", async () => {
  openPage(`<input id="name"><input id="slug" data-slug-of="name" maxlength="20">`);
  await run("projects/new-project.js");
  const names = { "The  Shop!": "the-shop", "Café_Zürich 2": "cafe_zurich-2", " a - b ": "a-b", "名前": "", ["x".repeat(30)]: "x".repeat(20) };
  for (const [name, slug] of Object.entries(names)) {
    type(byId("name"), name);
    assert.equal(byId("slug").value, slug);
  }
  type(byId("slug"), "mine");
  type(byId("name"), "Other");
  assert.equal(byId("slug").value, "mine");
  type(byId("slug"), "");
  type(byId("name"), "Another");
  assert.equal(byId("slug").value, "another");
});
