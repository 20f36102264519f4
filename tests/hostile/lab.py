"""Two projects for hostile requests: a shop, and another one whose every text has a word that no answer may have."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import unquote_to_bytes

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.http import StreamingHttpResponse
from django.test import Client

from projects.models import Membership, Project
from projects.tokens import create_token
from tests.aggregate.posting import fold_all, post
from tests.builders import make_project
from tests.envelopes import make_envelope
from tests.hostile.cases import RequestCase
from tests.runner.caches import clear_caches

SECRET_WORD: Final = "kolibri7f3a"  # in all that the shop's readers must not see


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request: its status, its headers and body as one text of bytes, and the error behind a 500."""

    status: int
    content: bytes
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class Lab:
    """The shop, and the headers of those who ask it: nobody, its owner, its member, its token, and a stranger."""

    shop: Project
    cookies: dict[str, str]
    bearer: str

    def ask(self, case: RequestCase) -> Answer:
        """Sends a request through all of the middleware, as the web server would hand it over."""
        extra = {
            f"HTTP_{name.upper().replace('-', '_')}": value.decode("latin-1") for name, value in case.headers.items()
        }
        cookies = [self.cookies.get(case.who, ""), case.cookies.decode("latin-1")]
        extra["HTTP_COOKIE"] = "; ".join(cookie for cookie in cookies if cookie)
        if case.who == "token":
            extra["HTTP_AUTHORIZATION"] = f"Bearer {self.bearer}"
        extra["PATH_INFO"] = unquote_to_bytes(case.path).decode("latin-1")
        extra["QUERY_STRING"] = case.query.decode("latin-1")
        client = Client(raise_request_exception=False)
        response = client.generic(case.method, "/", case.body, case.media, **extra)  # type: ignore[arg-type]  # environ
        if response.streaming:
            content = b"".join(cast("Iterator[bytes]", cast("StreamingHttpResponse", response).streaming_content))
        else:
            content = response.content
        if "gzip" in (response.get("Content-Encoding", ""), response.get("Content-Type", "").rpartition("/")[2]):
            content = gzip.decompress(content)
        headers = "\n".join(f"{name}: {value}" for name, value in response.items()).encode("utf-8", "replace")
        exc_info = getattr(response, "exc_info", None)
        return Answer(response.status_code, headers + b"\n\n" + content, exc_info[1] if exc_info else None)


@contextmanager
def taken_back() -> Iterator[None]:
    """Takes back all that happens to the database meanwhile, and what the process caches of it."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
    clear_caches()


def assert_is_harmless(answer: Answer, what: str, *, may_name_it: bool = False) -> None:
    """Fails for an answer of 5xx, and for one with a text of another project."""
    error = answer.error
    assert answer.status < 500, f"{what}: {answer.status} {type(error).__name__ if error else ''} {error or ''}"[:500]
    assert may_name_it or SECRET_WORD.encode() not in answer.content, f"{what}: a text of another project"


def make_lab() -> Lab:
    """Makes two projects with folded traces, three people and a token."""
    shop, elsewhere = make_project("shop", name="The shop"), make_project("elsewhere", name=SECRET_WORD)
    columns = ("A\nA B\n-\nA B\nA B A", "C\n-\nA B\nC D", "D\nD A\nA B B B")
    for n in range(8):
        fields: dict[str, Any] = {
            "release": f"{1 + n % 2}.0.0",
            "page": ("/cart", "/p/:id")[n % 3 % 2],
            "tags": {"cache": "warm"},
        }
        post("KEY-shop", make_envelope(f"v{n}", columns[n % 3], **fields, device={"memory": 8, "mobile": bool(n % 2)}))
    trace = {
        "resources": [f"https://{SECRET_WORD}.example/{SECRET_WORD}.js"],
        "frames": [{"name": SECRET_WORD, "resourceId": 0, "line": 1, "column": 1}],
        "stacks": [{"frameId": 0}],
        "samples": [{"timestamp": n * 10.0, "stackId": 0} for n in range(5)],
    }
    for n in range(3):
        fields = {"release": SECRET_WORD, "page": f"/{SECRET_WORD}", "tags": {SECRET_WORD: SECRET_WORD}}
        post("KEY-elsewhere", make_envelope(f"other{n}", trace=trace, **fields))
    fold_all()
    cookies = {}
    for name, project, role in (
        ("owner", shop, Membership.Role.ADMIN),
        ("member", shop, Membership.Role.MEMBER),
        ("stranger", elsewhere, Membership.Role.ADMIN),
    ):
        user = User.objects.create_user(name, password="correct horse")
        Membership.objects.create(project=project, user=user, role=role)
        client = Client()
        client.force_login(user)
        cookies[name] = f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
    _, bearer = create_token(project=shop, scopes=["raw"])
    Client().get("/api/v1/schema")  # made once in a process, and no reader pays for it again
    return Lab(shop=shop, cookies=cookies, bearer=bearer)


def newest(table: str, column: str, project: Project) -> str:
    """Returns the value of the project's last row of a table, or 1."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {column}::text FROM {table} WHERE project_id = %s ORDER BY 1 DESC LIMIT 1", [project.pk]
        )
        row = cursor.fetchone()
    return str(row[0]) if row else "1"
