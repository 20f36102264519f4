// The page "Compare": filters and sides keep what the table shows, and two functions are merged after a second click.
import assert from "node:assert/strict";
import { test } from "node:test";

import { fire, openPage, run, settle } from "../page.mjs";

const HTML = `<form class="slice-bar"><a href="https://fieldflame.example/projects/shop/compare/?page=%2Fcart&q=old">Clear</a></form>
  <div class="chooser"><a href="https://fieldflame.example/projects/shop/compare/?base_release=2">Swap</a></div>
  <form id="chooser-form"><select name="base_release"></select><select name="head_release"></select></form>
  <div id="compared"><button class="same-func" data-code-url="/code" data-from="a" data-to="b" hidden>Merge as one function</button></div>
  <form><input name="csrfmiddlewaretoken" value="token"></form>`;
const find = (selector) => document.querySelector(selector);

async function open(answers = {}) {
  const page = openPage(HTML, { address: "https://fieldflame.example/projects/shop/compare/?q=ste&noise=1&page=/cart", answers });
  await run("compare/compare.js");
  return page;
}

test("links and forms keep what the table shows, and nothing else of the address", async () => {
  await open();
  for (let n = 0; n < 2; n++) fire(document.body, "htmx:replacedInHistory");
  assert.deepEqual(document.querySelectorAll("a").map((link) => new URL(link.href).search), ["?page=%2Fcart&noise=1&q=ste", "?base_release=2&noise=1&q=ste"]);
  for (const form of ["form.slice-bar", "#chooser-form"]) {
    assert.deepEqual(document.querySelectorAll(`${form} input`).map(({ type, name, value }) => [type, name, value]), [["hidden", "noise", "1"], ["hidden", "q", "ste"]]);
  }
  history.replaceState(null, "", "?page=/cart");
  fire(document.body, "htmx:replacedInHistory");
  assert.equal(document.querySelectorAll("[type=hidden]").length, 0);
  assert.deepEqual(document.querySelectorAll("a").map((link) => new URL(link.href).search), ["?page=%2Fcart", "?base_release=2"]);
});

test("empty fields are not sent, and are there again after back", async () => {
  await open();
  find("[name=base_release]").value = "1.0.0";
  fire(find("#chooser-form"), "submit");
  assert.deepEqual(document.querySelectorAll(":disabled").map(({ name }) => name), ["head_release"]);
  fire(window, "pageshow");
  assert.equal(document.querySelectorAll(":disabled").length, 0);
});

test("a second click merges two functions, next to what was merged before", async () => {
  const rules = { own: ["src"], same_funcs: [{ from: "x", to: "y" }] };
  const { asked } = await open({ "/code": () => ({ rules }) });
  const button = find(".same-func");
  assert.equal(button.hidden, false);
  button.click();
  assert.deepEqual([button.textContent, asked.length], ["Merge in all releases", 0]);
  button.click();
  await settle();
  assert.deepEqual([asked[1].method, asked[1].headers["X-CSRFToken"]], ["PATCH", "token"]);
  assert.deepEqual(JSON.parse(asked[1].body).rules, { own: ["src"], same_funcs: [{ from: "x", to: "y" }, { from: "a", to: "b" }] });
  assert.equal(document.gone, location.href);
});

test("what keeps two functions from being merged is said on the button", async () => {
  for (const [answer, words] of [[Response.json({ detail: "Only admins." }, { status: 403 }), "Only admins."], [new Response("-", { status: 502 }), "The server answered with status 502."]]) {
    await open({ "/code": answer });
    const button = find(".same-func");
    button.click();
    button.click();
    await settle();
    assert.deepEqual([button.textContent, document.gone], [words, undefined]);
  }
});
