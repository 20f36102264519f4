// The import of profiles: files that are dropped, files that are too large, and an upload that runs.
import assert from "node:assert/strict";
import { test } from "node:test";

import { fire, openPage, run } from "../page.mjs";

const byId = (id) => document.getElementById(id);
const IMPORT = `<form id="import" data-limit="1000"><div id="drop"><input type="file" id="files"></div><p id="files-hint" data-with-script="Drop files here."></p>
  <p id="import-status"></p><button>Import files</button></form>`;

async function openImport() {
  openPage(IMPORT);
  byId("files").files = [];
  await run("imports/imports.js");
  assert.equal(byId("files-hint").textContent, "Drop files here.");
}

test("dropped files are taken and named, and nothing that is dropped elsewhere is opened", async () => {
  await openImport();
  const dataTransfer = { files: [new File(["x".repeat(700)], "trace.json"), new File(["x"], "lab.cpuprofile")] };
  assert.equal(fire(byId("drop"), "dragover", { dataTransfer }).defaultPrevented, true);
  assert.deepEqual([dataTransfer.dropEffect, byId("drop").className], ["copy", "over"]);
  fire(byId("drop"), "drop", { dataTransfer });
  assert.equal(byId("drop").className, "");
  assert.deepEqual(byId("files").files, dataTransfer.files);
  assert.equal(byId("files-hint").textContent, "trace.json (1 kB), lab.cpuprofile (1 kB)");
  assert.equal(fire(window, "drop").defaultPrevented, true);
});

test("files that are too large are said before they are sent", async () => {
  await openImport();
  const input = byId("files");
  input.files = [new File(["x".repeat(1_001)], "a")];
  fire(input, "change");
  assert.equal(input.validationMessage, "These files are larger than 1 kB together.");
  input.files = [new File(["x".repeat(1_000)], "a")];
  fire(input, "change");
  assert.equal(input.validationMessage, "");
  const button = document.querySelector("button");
  fire(byId("import"), "submit");
  assert.equal(button.disabled, true);
  fire(window, "pageshow"); // after "back"
  assert.equal(button.disabled, false);
});
