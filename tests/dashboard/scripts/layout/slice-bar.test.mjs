// The slice bar: its lists by keys, what is sent, times in the reader's zone, and the search that other scripts change.
import assert from "node:assert/strict";
import { test } from "node:test";

import { fire, openPage, press, run, type } from "../page.mjs";

process.env.TZ = "America/New_York";
const option = (name, isLink = true) => `<div class="option"><label><input type="checkbox" name="release" value="${name}"></label>${isLink ? `<a href="?release=${name}">${name}</a>` : ""}</div>`;
// As dashboard/templates/dashboard/layout/_slice_bar.html has it.
const HTML = `<main><form class="slice-bar"><button type="button" class="filter" aria-expanded="false" hidden>Filter</button>
  <details id="release"><summary>Release</summary><input type="search" class="narrow-choices" hidden>${["1.0.0", "1.1.0", "2.0.0"].map((name) => option(name)).join("")}</details>
  <details id="time"><summary>Time</summary><input name="from" type="text" data-moment="2026-11-16T09:00Z" value="2026-11-16T09:00Z"><p data-zone=""></p></details>
  <input type="search" name="q" value=""><a data-slice="" href="https://fieldflame.example/projects/shop/functions/?q=old">Clear</a></form>
  <a id="tab" data-slice="" href="https://fieldflame.example/projects/shop/quality/?page=%2Fcart">Quality</a><form data-slice="" id="other"></form></main>`;
const find = (selector) => document.querySelector(selector);

async function open() {
  openPage(HTML);
  let sent = 0;
  const bar = find(".slice-bar");
  bar.requestSubmit = () => { sent += 1; };
  bar.reset = () => { for (const box of bar.querySelectorAll("[type=checkbox]")) box.checked = false; };
  await run("layout/slice-bar.js");
  return { bar, sent: () => sent };
}

function unfold(list) {
  list.open = true;
  fire(list, "toggle", { bubbles: false });
}

test("arrows go from name to name, and Escape closes the list", async () => {
  await open();
  const list = find("#release");
  unfold(list);
  assert.equal(document.activeElement.className, "narrow-choices");
  const walk = ["ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp", "ArrowDown", "ArrowDown", "ArrowDown"].map((key) => {
    press(key);
    return document.activeElement.textContent;
  });
  assert.deepEqual(walk, ["1.0.0", "1.1.0", "1.0.0", "1.0.0", "1.1.0", "2.0.0", "2.0.0"]);
  press("Escape");
  assert.equal(list.open, false);
  assert.equal(document.activeElement.textContent, "Release");
});

test("a search narrows a long list, and Enter takes the first that is left", async () => {
  await open();
  unfold(find("#release"));
  const field = find(".narrow-choices");
  let clicked = null;
  for (const link of document.querySelectorAll(".option a")) link.click = () => { clicked = link.textContent; };
  assert.equal(press("Enter").defaultPrevented, true);
  assert.equal(clicked, null); // nothing is searched for
  type(field, "2.0");
  assert.deepEqual(document.querySelectorAll(".option").map((each) => Boolean(each.hidden)), [true, true, false]);
  press("Enter");
  assert.equal(clicked, "2.0.0");
  press("ArrowUp");
  assert.equal(document.activeElement.textContent, "2.0.0");
});

test("only one list is open, and a click elsewhere sends what was changed", async () => {
  const { sent } = await open();
  unfold(find("#release"));
  unfold(find("#time"));
  assert.equal(find("#release").open, false);
  fire(find("main"), "click");
  assert.deepEqual([find("#time").open, sent()], [false, 0]); // nothing was changed
  unfold(find("#release"));
  find('[value="1.1.0"]').checked = true;
  fire(find("#release"), "click");
  assert.equal(sent(), 0);
  fire(find("main"), "click");
  assert.equal(sent(), 1);
});

test("times are the reader’s, and go into the address as UTC", async () => {
  await open();
  const [sent, seen] = document.querySelectorAll("#time input");
  assert.deepEqual([sent.type, seen.type, seen.value], ["hidden", "datetime-local", "2026-11-16T04:00"]);
  assert.equal(find("[data-zone]").textContent, "Your time zone: America/New_York.");
  for (const [local, utc] of [["2026-11-15T22:00", "2026-11-16T03:00Z"], ["2026-07-01T00:00", "2026-07-01T04:00Z"], ["", ""], ["soon", ""]]) {
    seen.value = local;
    fire(seen, "change");
    assert.equal(sent.value, utc);
  }
});

test("empty fields stay out of the address, and are there again after back", async () => {
  const { bar } = await open();
  const [sent, seen] = document.querySelectorAll("#time input");
  seen.value = "";
  fire(seen, "change");
  find('[value="1.1.0"]').checked = true;
  find("#time").open = true;
  fire(bar, "submit");
  assert.deepEqual(document.querySelectorAll("input:disabled").map((field) => field.name), ["from", "q"]);
  fire(window, "pageshow", { persisted: true });
  assert.equal(document.querySelectorAll("input:disabled").length, 0);
  assert.deepEqual([sent.value, seen.value, find("#time").open], ["2026-11-16T09:00Z", "2026-11-16T04:00", false]);
  assert.equal(document.querySelectorAll(":checked").length, 0);
});

test("on a narrow screen the bar is one button", async () => {
  const { bar } = await open();
  const button = find(".filter");
  assert.equal(button.hidden, false);
  for (const isOpen of [true, false]) {
    button.click();
    assert.deepEqual([button.getAttribute("aria-expanded"), bar.classList.contains("unfolded")], [String(isOpen), isOpen]);
  }
});

test("links and forms keep a search that a script put into the address", async () => {
  const { sent } = await open();
  const say = (name, value, isOfPage = false) => fire(document, "address-kept", { detail: { name, value, isOfPage } });
  say("q", "ren");
  assert.deepEqual(document.querySelectorAll("a[data-slice]").map((link) => link.href), ["/projects/shop/functions/?q=ren", "/projects/shop/quality/?page=%2Fcart&q=ren"]);
  assert.equal(find("#other [name=q]").value, "ren");
  for (const link of document.querySelectorAll("a[data-slice]")) link.href = `https://fieldflame.example${link.href}`;
  say("focus", "0.1", true); // what only this page understands
  assert.match(find(".slice-bar a[data-slice]").href, /focus=0\.1/);
  assert.doesNotMatch(find("#tab").href, /focus=/);
  for (const link of document.querySelectorAll("a[data-slice]")) link.href = link.href.replace(/^\//, "https://fieldflame.example/");
  say("q", "");
  assert.equal(find("#other [name=q]"), null);
  unfold(find("#time"));
  fire(find("main"), "click");
  assert.equal(sent(), 0); // nobody changed the bar
});
