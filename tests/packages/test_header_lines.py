"""The lines of docs/headers.md, run: each host's code draws a share of the pages, and announces it."""

import json
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from aggregate.doctor.findings import HEADER_LINE, State
from aggregate.doctor.header_checks import check_announcement, check_policy
from aggregate.doctor.visiting import Hop
from tests.deploy.proxy import FRAME, require_program
from tests.format_judges import COMMAND_S, find_node

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "headers.md"
VIEWS: Final = 2_000
# What stands for the host: it calls the code for views of a page and of a script, with `draw` as the random number.
HARNESS: Final = """
const kinds = [['document', 'text/html; charset=utf-8'], ['script', 'text/javascript']];
const answers = [];
for (let view = 0; view < VIEWS; view += 1) {
  for (const [purpose, type] of kinds) {
    Math.random = () => (view + 0.5) / VIEWS;
    answers.push([purpose, [...await ask(purpose, type)]]);
  }
}
console.log(JSON.stringify(answers));
""".replace("VIEWS", str(VIEWS))
PAGE: Final = "new Response('', { headers: { 'Content-Type': type, 'Server-Timing': 'db;dur=4' } })"
REQUEST: Final = "new Request('https://shop.example/', { headers: { 'sec-fetch-dest': purpose } })"
HOSTS: Final = {
    "express-share.js": (
        "let used; const app = { use: (each) => { used = each; } };",
        """const ask = async (purpose) => {
          const headers = new Headers({ 'Server-Timing': 'db;dur=4' });
          const response = { append: (name, value) => headers.append(name, value) };
          let isDone = false;
          used({ headers: { 'sec-fetch-dest': purpose } }, response, () => { isDone = true; });
          if (!isDone) throw new Error('next was not called');
          return headers;
        };""",
    ),
    "proxy.mjs": (
        f"const type = 'text/html'; const NextResponse = {{ next: () => {PAGE} }};",
        f"const ask = async (purpose) => proxy({REQUEST}).headers;",
    ),
    "vercel-middleware.mjs": (
        "const next = (init) => new Response(null, init);",
        f"const ask = async (purpose, type) => middleware({REQUEST}).headers;",
    ),
    "netlify-edge.mjs": (
        "",
        f"const ask = async (purpose, type) => (await edge({REQUEST}, {{ next: async () => {PAGE} }})).headers;",
    ),
    "cloudfront-function.js": (
        "",
        """const ask = async (purpose, type) => {
          const headers = { 'content-type': { value: type }, 'server-timing': { value: 'db;dur=4' } };
          const answer = handler({ response: { statusCode: 200, headers } });
          return Object.entries(answer.headers).map(([name, each]) => [name, each.value]);
        };""",
    ),
    "cloudflare-worker.mjs": (
        f"let type; const fetch = async () => {PAGE};",
        f"const ask = async (purpose, kind) => {{ type = kind; return (await worker.fetch({REQUEST})).headers; }};",
    ),
}


@cache
def read_blocks() -> dict[str, str]:
    """Returns the indented blocks of the document that begin with a comment, by the name in it."""
    text = DOCUMENT.read_text(encoding="utf-8")
    blocks = re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, re.MULTILINE)
    named = {}
    for block in blocks:
        plain = "".join(line[4:] if line.startswith("    ") else line for line in block.splitlines(keepends=True))
        if match := re.match(r"\n*// (\S+)\n", plain):
            named[match[1]] = plain.lstrip()
    return named


def run_node(folder: Path, code: str) -> Any:  # JSON, as a script printed it
    """Runs a module and returns what it prints."""
    script = folder / "harness.mjs"
    script.write_text(code, encoding="utf-8")
    done = subprocess.run([find_node(), script], capture_output=True, text=True, check=False, timeout=COMMAND_S)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def make_module(code: str, names: str) -> str:
    """Returns code with its imports left out, and its default export by a name."""
    code = re.sub(r"^import .*\n", "", code, flags=re.MULTILINE)
    code = re.sub(r"^export default (async )?function ", r"\1function ", code, flags=re.MULTILINE)
    code = re.sub(r"^export default ", f"const {names} = ", code, flags=re.MULTILINE)
    return re.sub(r"^export ", "", code, flags=re.MULTILINE)


@pytest.mark.parametrize("name", sorted(HOSTS))
def test_the_code_of_a_host_draws_a_tenth_of_the_pages(name: str, tmp_path: Path) -> None:
    before, after = HOSTS[name]
    code = make_module(read_blocks()[name], "worker" if "worker" in name else "edge")
    answers = run_node(tmp_path, f"{before}\n{code}\n{after}\n{HARNESS}")
    pages = [
        Hop(url="https://a/", status=200, headers=headers) for purpose, headers in answers if purpose == "document"
    ]
    others = [dict(headers) for purpose, headers in answers if purpose != "document"]
    assert sum(bool(page.lines("document-policy")) for page in pages) == VIEWS / 10
    assert not any("document-policy" in headers or "ff;" in headers.get("server-timing", "") for headers in others)
    for page in pages:
        (policy,) = check_policy("header", page, [], "")
        (timing,) = check_announcement(page)
        assert policy.state is timing.state is State.OK, (policy, timing, page.headers)
        assert "share of 0.1" in timing.sentence
        if "vercel" not in name:  # there the host joins the page's own headers
            assert page.header("server-timing").startswith("db;dur=4, ff;")


def test_each_block_of_javascript_is_run_here_or_checked() -> None:
    assert set(read_blocks()) == {*HOSTS, "next.config.mjs", "vite.config.mjs", "electron-main.mjs"}


def test_the_configuration_of_next_names_the_header(tmp_path: Path) -> None:
    code = make_module(read_blocks()["next.config.mjs"], "chosen")
    (rule,) = run_node(tmp_path, f"{code}\nconsole.log(JSON.stringify(await chosen.headers()));")
    (header,) = rule["headers"]
    assert f"{header['key']}: {header['value']}" == HEADER_LINE


def test_the_configuration_of_vite_names_the_header(tmp_path: Path) -> None:
    code = make_module(read_blocks()["vite.config.mjs"], "chosen")
    headers = run_node(tmp_path, f"{code}\nconsole.log(JSON.stringify(chosen.preview.headers));")
    assert [f"{name}: {value}" for name, value in headers.items()] == [HEADER_LINE]


def test_electron_adds_the_header_to_pages_alone(tmp_path: Path) -> None:
    asked = """
    const answers = [];
    for (const resourceType of ['mainFrame', 'script']) {
      heard({ resourceType, responseHeaders: { Etag: ['x'] } }, ({ responseHeaders }) => answers.push(responseHeaders));
    }
    console.log(JSON.stringify(answers));
    """
    stub = "let heard; const session = { defaultSession: { webRequest: { onHeadersReceived(f) { heard = f; } } } };"
    page, script = run_node(tmp_path, f"{stub}\n{read_blocks()['electron-main.mjs']}\n{asked}")
    name, _, value = HEADER_LINE.partition(": ")
    assert page == {"Etag": ["x"], name: [value]}
    assert script == {"Etag": ["x"]}


def test_every_host_has_the_header_as_the_doctor_advises_it() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    values = re.findall(r"js-profiling[^\n\"'`]*", text)
    wrong = {value for value in values if value.startswith("js-profiling,")} - {"js-profiling, js-profiling-mode=lazy"}
    assert wrong == set()
    sections = text.split("\n## ")[2:-2]  # behind the reasons, before the other hosts
    assert len(sections) == 14
    assert [section[:20] for section in sections[1:] if "js-profiling, js-profiling-mode=lazy" not in section] == []


def test_nginx_accepts_its_lines(tmp_path: Path) -> None:
    program = require_program("nginx")
    section = DOCUMENT.read_text(encoding="utf-8").partition("## nginx\n")[2].partition("\n## ")[0]
    lines = [line[4:] for line in section.splitlines() if line.startswith("    ")]
    at_server = [line for line in lines if line.startswith("add_header")]
    at_http = [line for line in lines if not line.startswith("add_header")]
    (tmp_path / "log").mkdir()
    site = "\n".join([*at_http, "server {", "listen 127.0.0.1:1;", *at_server, "}"])
    (tmp_path / "site.conf").write_text(site, encoding="utf-8")
    (tmp_path / "nginx.conf").write_text(FRAME.format(folder=tmp_path, user=""), encoding="utf-8")
    command = [program, "-t", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
