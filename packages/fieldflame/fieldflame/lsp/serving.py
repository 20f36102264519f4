"""The language server itself: code lenses above functions and hovers on them, by standard input and output."""

import threading
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from fieldflame import __version__
from fieldflame.clean import clean
from fieldflame.exits import CommandError
from fieldflame.lsp.costs import NOTHING, Cost, Costs, FileCosts
from fieldflame.lsp.places import Place, find_places
from fieldflame.numbers import write_ms, write_percent
from fieldflame.server import Server

# What source maps name functions in.
ENDINGS: Final = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte", ".astro")
# Somebody waits for the file to open.
PAUSES_S: Final = (0.5, 1.0)
COMMAND: Final = "fieldflame.open"


class FieldServer(LanguageServer):
    """A language server that shows what functions cost. Errors are said once, and never stop an editor."""

    def __init__(self, server: Server) -> None:
        super().__init__("fieldflame", __version__)
        self._costs = Costs(server)
        self._lock = threading.Lock()
        self._said: set[str] = set()

    def find(self, uri: str) -> tuple[FileCosts, list[Place], int]:
        """Returns a document's costs, where they are, and how many functions are not in it any more."""
        path = self.path_of(uri)
        if path is None:
            return NOTHING, [], 0
        lines = self.workspace.get_text_document(uri).source.splitlines()
        with self._lock:
            try:
                costs = self._costs.find(path)
                places, missing = find_places(lines, costs.functions, lambda cost: self._find_line(cost, costs))
            except CommandError as error:
                self._say(str(error))
                return NOTHING, [], 0
        return costs, places, missing

    def _find_line(self, cost: Cost, costs: FileCosts) -> list[str] | None:
        found = self._costs.find_line(cost.id, costs.release or "")
        return None if found is None else list(found)

    def link(self, cost: Cost) -> str:
        """Returns the function's page in the dashboard."""
        return self._costs.server.link(f"functions/{cost.id}/")

    def path_of(self, uri: str) -> str | None:
        """Returns a document's path below the folder that is open; None for a file that is not looked at."""
        path = PurePosixPath(unquote(urlsplit(uri).path))
        if urlsplit(uri).scheme != "file" or path.suffix not in ENDINGS:
            return None
        roots = [PurePosixPath(unquote(urlsplit(folder).path)) for folder in self.workspace.folders]
        if self.workspace.root_path:
            roots.append(PurePosixPath(self.workspace.root_path))
        below = [path.relative_to(root) for root in roots if path.is_relative_to(root)]
        return min((part.as_posix() for part in below), key=len, default=path.name)

    def _say(self, message: str) -> None:
        if message not in self._said:
            self._said.add(message)
            shown = types.ShowMessageParams(types.MessageType.Warning, f"Fieldflame: {message}")
            self.window_show_message(shown)


def make_server(field: Server) -> FieldServer:
    """Returns the language server with its features."""
    server = FieldServer(field)

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    @server.thread()
    def show_lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
        costs, places, missing = server.find(params.text_document.uri)
        lenses = [_make_lens(place.line, _describe(place, costs), server.link(place.cost)) for place in places]
        if missing:
            were, are = ("functions were", "are") if missing > 1 else ("function was", "is")
            said = f"{missing} {were} measured in {clean(costs.release or '')}, and {are} not in this file any more"
            lenses.append(_make_lens(0, said, None))
        return lenses

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    @server.thread()
    def show_hover(params: types.HoverParams) -> types.Hover | None:
        costs, places, _ = server.find(params.text_document.uri)
        here = [place for place in places if place.line == params.position.line]
        if not here:
            return None
        text = "\n\n".join(_describe_whole(place, costs, server.link(place.cost)) for place in here)
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text))

    @server.command(COMMAND)
    def open_page(link: str) -> None:
        """Opens a page in the browser: what a click on a lens does."""
        if link.startswith(field.url):
            server.window_show_document(types.ShowDocumentParams(link, external=True))

    return server


def _make_lens(line: int, text: str, link: str | None) -> types.CodeLens:
    start = types.Position(line, 0)
    command = types.Command(text, COMMAND if link else "", arguments=[link] if link else None)
    return types.CodeLens(types.Range(start, start), command=command)


def _describe(place: Place, costs: FileCosts) -> str:
    said = place.cost.describe(costs.release or "", costs.base)
    return f"{said} · stale: the file has changed since {clean(costs.release or '')}" if place.is_stale else said


def _describe_whole(place: Place, costs: FileCosts, link: str) -> str:
    cost = place.cost
    lines = [
        f"**{cost.describe(costs.release or '', costs.base)}**",
        f"Script and hidden time, measured in {_code(costs.release)}.",
    ]
    if cost.p75_ms is not None:
        lines.append(f"A quarter of page views spend {write_ms(cost.p75_ms)} or more in it.")
    if cost.ci95 is not None and cost.views_share:
        lines.append(
            f"Where it runs ({write_percent(cost.views_share)}): {write_ms(cost.ms_per_view / cost.views_share)}."
        )
    if place.is_stale:
        lines.append(f"Stale: it was in line {cost.line} then, so the file has changed since.")
    return "  \n".join([*lines, f"[Details]({link})"])


def _code(text: str | None) -> str:
    return f"`{clean(text or '').replace('`', 'ˋ')}`"


def serve(url: str, project: str, token: str) -> None:
    """Serves one editor until it leaves."""
    with Server(url, project, token, pauses_s=PAUSES_S) as field:
        make_server(field).start_io()
