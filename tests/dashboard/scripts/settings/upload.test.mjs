// The settings: a build folder becomes a tar file, files that are too large are not sent, and rules get more rows.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { fire, openPage, run } from "../page.mjs";

const byId = (id) => document.getElementById(id);
const UPLOAD = `<form id="upload-form" data-limit="2000" data-max-files="3"><input type="file" name="build"><p id="folder-field" hidden><input type="file" id="folder"></p></form><p id="upload-status"></p>`;
const fileAt = (path, text) => Object.assign(new File([text], path.split("/").at(-1)), { webkitRelativePath: path });

async function openUpload() {
  openPage(UPLOAD);
  globalThis.DataTransfer = class {
    files = [];
    items = { add: (file) => this.files.push(file) };
  };
  const files = document.querySelector("[name=build]");
  files.files = [];
  await run("settings/upload.js");
  return { files, status: () => byId("upload-status").textContent };
}

function chooseFolder(...files) {
  byId("folder").files = files;
  fire(byId("folder"), "change");
}

test("a build folder becomes a tar file that tar can read, with its scripts and maps only", async () => {
  const { files, status } = await openUpload();
  const deep = `assets/${"a-long-folder-name/".repeat(7)}deep.js`; // beyond the 100 bytes of a tar's name
  const umlaut = "assets/käse.mjs";
  chooseFolder(fileAt(`dist/${deep}`, "deep()"), fileAt("dist/main.js.map", "x".repeat(513)), fileAt(`dist/${umlaut}`, "é"), fileAt("dist/index.html", "not sent"));
  assert.equal(status(), "3 scripts and maps, 5 kB.");
  const folder = mkdtempSync(join(tmpdir(), "fieldflame-tar-"));
  const tar = join(folder, "build.tar");
  try {
    writeFileSync(tar, Buffer.from(await files.files[0].arrayBuffer()));
    const read = (...words) => execFileSync("tar", words, { encoding: "utf8", env: { LC_ALL: "C.UTF-8" } });
    assert.deepEqual(read("-tf", tar, "--quoting-style=literal").trim().split("\n"), [deep, "main.js.map", umlaut]);
    assert.deepEqual([deep, "main.js.map", umlaut].map((name) => read("-xOf", tar, name)), ["deep()", "x".repeat(513), "é"]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a folder without scripts, or with too long a path, is not sent", async () => {
  const { files, status } = await openUpload();
  chooseFolder(fileAt("dist/index.html", ""));
  assert.equal(status(), "This folder has no scripts or source maps.");
  chooseFolder(fileAt(`dist/${"a".repeat(101)}.js`, ""));
  assert.match(status(), /^The path a+\.js is too long for a tar file\.$/);
  assert.deepEqual(files.files, []);
});

test("files that are too large or too many are said before they are sent", async () => {
  const { files, status } = await openUpload();
  const send = (...sizes) => {
    files.files = sizes.map((size, n) => new File(["x".repeat(size)], `${n}.js`));
    fire(files, "change");
    return fire(byId("upload-form"), "submit").defaultPrevented;
  };
  assert.equal(send(1_000, 1_001), true);
  assert.equal(status(), "These files are larger than 2 kB together. Upload them in parts from the command line.");
  assert.equal(send(1, 1, 1, 1), true);
  assert.match(status(), /^At most 3 files are accepted\./);
  assert.equal(send(1_000, 1_000), false);
  assert.match(status(), /^Uploading and reading\./);
});

test("a row for a rule is added at the end, up to the most, and has the focus", async () => {
  openPage(`<div><table><tbody><tr><td><input name="own-0-folder"></td></tr></tbody></table><p class="add-rule" hidden><button data-prefix="own">Add rule</button></p>
    <template><tr><td><input name="own-__prefix__-folder"></td></tr></template>
    <input id="id_own-TOTAL_FORMS" value="1"><input id="id_own-MAX_NUM_FORMS" value="3"></div><p class="take-focus" tabindex="-1"></p>`);
  await run("settings/settings.js");
  assert.equal(document.activeElement.className, "take-focus");
  const button = document.querySelector(".add-rule button");
  button.click();
  assert.equal(document.activeElement.name, "own-1-folder");
  assert.equal(button.disabled, false);
  button.click();
  assert.deepEqual(document.querySelectorAll("tbody input").map((field) => field.name), ["own-0-folder", "own-1-folder", "own-2-folder"]);
  assert.deepEqual([byId("id_own-TOTAL_FORMS").value, button.disabled], ["3", true]);
});
