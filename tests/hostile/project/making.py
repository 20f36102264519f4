"""A project in which every text has its worst form, made as strangers, builds and members make it: by requests."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from aggregate.label_models import Label
from aggregate.models import Func
from aggregate.sourcemaps.labelling import label_all
from alerts.delivery.gathering import gather_due
from alerts.evaluating import evaluate_one
from alerts.models import AlertRule, AlertState, Channel, Message, StateChange
from alerts.rules import make_release_alert
from projects.creation import create_project
from projects.models import ApiToken, IngestKey, Membership, Project, SavedView
from tests.aggregate.jobs.running_jobs import run_jobs
from tests.aggregate.posting import fold_all, post
from tests.envelopes import make_envelope, view_id_of
from tests.hostile.project.builds import PREFIX, STEP, STUBS, list_urls, write_tar
from tests.hostile.project.costs import run_once
from tests.hostile.project.texts import (
    BIDI,
    FORMULA,
    FUNC_NAMES,
    MARK,
    MARK_TYPES,
    MARKERS,
    MARKUP,
    NO_BRACES,
    PAGES,
    PLAIN,
    RELEASES,
    SCRIPTS,
    SHOP,
    SLOW_FOR_RE,
    TAGS,
    URI_CHARS,
    fill,
    start_with,
)

SLUG: Final = "hostile"
API: Final = f"/api/v1/projects/{SLUG}/"
PAGE: Final = f"/projects/{SLUG}/"
SETTINGS: Final = f"{PAGE}settings/"
OLD, NEW, ODD = RELEASES
JSON: Final = "application/json"
DAYS: Final = 6
VIEWS_PER_DAY: Final = 70
LONG_SCRIPTS: Final = 60  # of a post: nearly as many bytes as it may have
LONG_POSTS: Final = 5
VIEW: Final = "heavy 0"
SCRIPT_LINE: Final = 2  # of the function that each script has
THIRD_PARTY: Final = f"https://tags.{fill('a.', 200)}example/{MARKUP}.js"

Ids = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostileProject:
    """The project, its administrator's client, and the ids of its rows for addresses, by the name in the address."""

    project: Project
    client: Client
    ids: Ids
    funcs: Sequence[int]  # functions with each name, each script, and of each source


def make_hostile_project() -> HostileProject:
    """Makes the project. What a worker does is bounded too; only a source map is read in a process of its own."""
    project, client = make_empty_project()
    rename(client)
    announce(client)
    make_alerts(client)
    describe(client)
    post_days()
    run_once("folding", fold_all)
    run_once("an upload", lambda: upload(client))
    run_once("labelling", label_all)
    import_file(client)
    evaluate(project)
    gather_due(timezone.now() + timedelta(days=2))
    job = start_job(client, "functions", {"release": NEW})
    run_jobs()
    save(client)
    make_token(client)
    return HostileProject(
        project=project, client=client, ids=collect_ids(project, job, VIEW), funcs=list_funcs(project)
    )


def make_empty_project(origin: str = "*") -> tuple[Project, Client]:
    """Returns a project with an administrator, whose client it is, and another member."""
    owner = User.objects.create_user("a.b+c@d-e_f", password="correct horse", is_superuser=True)
    project, _ = create_project(slug=SLUG, key=f"KEY-{SLUG}", origins=[origin], name=fill(MARKUP, 120))
    Membership.objects.create(project=project, user=owner, role=Membership.Role.ADMIN)
    Membership.objects.create(project=project, user=User.objects.create_user("member"))
    client = Client(raise_request_exception=False)
    client.force_login(owner)
    return project, client


def collect_ids(project: Project, job: str, view: str) -> Ids:
    """Returns ids of the rows of a project, the newest of each table, of a job and of a view."""
    owner, guest = Membership.objects.filter(project=project).order_by("pk")[:2]
    return {
        "slug": project.slug,
        "key_id": IngestKey.objects.filter(project=project).latest("pk").pk,
        "member_id": guest.pk,
        "user_id": owner.user_id,
        "prefix": ApiToken.objects.filter(project=project).latest("pk").prefix,
        "saved_id": SavedView.objects.filter(project=project).latest("pk").pk,
        "view_id": view_id_of(view),
        "ref": f"{view_id_of(view)}.0",
        "alert_id": AlertRule.objects.filter(project=project).latest("id").id,
        "alert": "time",
        "channel_id": Channel.objects.filter(project=project).latest("id").id,
        "channel": "c1",
        "job_id": job,
        "message_id": Message.objects.filter(project=project).latest("created_at").id,
        "change_id": StateChange.objects.filter(project=project).exclude(base_release="").latest("id").id,
        "key": bytes(AlertState.objects.filter(project=project).exclude(subject="")[0].subject_key).hex(),
    }


def take(answer: Any, *statuses: int) -> Any:  # Any: the test client's answers have no public type
    """Returns an answer, which must have one of some statuses."""
    assert answer.status_code in (statuses or (200, 201, 202, 204, 302)), (answer.status_code, answer.content[:3_000])
    return answer


def rename(client: Client) -> None:
    """Writes the settings that are forms only."""
    link = f"https://git.example/{PLAIN}/{{release}}/{{path}}#L{{line}}"
    take(client.post(SETTINGS, {"name": fill(MARKUP, 120), "source_link_template": link}), 302)
    rules = [
        start_with("/cart/", PLAIN.replace(";", ""), 390),
        *("/" + ":a/" * 190 + "*", "/*/" * 100 + "*", "/:a/*/:b/:c"),
    ]
    take(client.post(SETTINGS + "routes/", {"rules": "\n".join(rules[:1] + rules[3:])}), 302)
    take(client.post(SETTINGS + "keys/", {"origins": "*"}))


def announce(client: Client) -> None:
    """Announces the releases, with all that can be said about them."""
    for release in (OLD, NEW):
        body = {
            "release": release,
            "commit": "a" * 64,
            "author": fill(MARKUP, 200),
            "link": start_with("https://a.example/'", f"&{MARK}=1;()'", 2_000),
            "range_link": start_with("https://a.example/{base}...{head}/'", "&'", 2_000),
        }
        take(client.post(API + "releases", body, content_type=JSON))


def make_alerts(client: Client) -> None:
    """Makes a channel of each kind, and alerts of each kind that will find something."""
    hook = f"https://hooks.example/{PLAIN}"
    mails = [f"{fill('a', 60)}+{n}@{'b' * 60}.example" for n in range(20)]
    for number, (kind, addresses) in enumerate(
        (("mail", mails), ("webhook", [hook]), ("slack", [hook]), ("teams", [hook]), ("webhook", [hook]))
    ):
        body = {
            "kind": kind,
            "name": fill(MARKUP, 80),
            "addresses": addresses,
            "tells_suspected": True,
            "is_digest": number == 4,
            "pages": None if number else ["*", fill("*a", 200), fill(MARKUP, 200)],
        }
        take(client.put(f"{API}channels/c{number}", body, content_type=JSON))
    for called, kind, question in (
        ("time", "budget", {"measure": "time", "limit": 0.5}),
        ("page", "budget", {"measure": "time", "limit": 0.5, "page": PAGES[0]}),
        ("share", "budget", {"measure": "share", "limit": 0.01, "by": "function", "name": fill(MARKUP, 400)}),
        ("party", "budget", {"measure": "share", "limit": 0.01, "by": "party", "name": FORMULA}),
        ("script", "budget", {"measure": "inp_script", "limit": 1}),
        ("parties", "new_third_parties", {"by": "party", "limit": 0.01}),
        ("packages", "new_third_parties", {"by": "package", "limit": 0.01}),
    ):
        body = {"kind": kind, "name": fill(MARKUP, 80), "question": question, "is_on": True}
        take(client.put(f"{API}alerts/{called}", body, content_type=JSON))


def make_heavy_trace(samples: int = 400) -> dict[str, Any]:
    """Returns a trace with every name and script, and with a function of each source of the build."""
    resources = [*SCRIPTS, *list_urls()]
    frames: list[dict[str, Any]] = [
        {"name": name, "resourceId": n % len(SCRIPTS), "line": 1, "column": 1 + n} for n, name in enumerate(FUNC_NAMES)
    ]
    frames += [{"name": MARKUP[:900], "resourceId": n, "line": SCRIPT_LINE, "column": 1} for n in range(len(SCRIPTS))]
    for at in range(len(SCRIPTS), len(resources)):
        count = STUBS if at == len(SCRIPTS) else 3
        frames += [{"name": "a", "resourceId": at, "line": 1, "column": 1 + STEP * n} for n in range(count)]
    frames.append({"name": MARKUP})
    stacks = [{"frameId": n} for n in range(len(frames))]
    stacks += [{"frameId": n, "parentId": n - 1 if n % 200 else n} for n in range(1, len(frames))]
    rows = [
        {"timestamp": n * 10.0, "stackId": (n * 7) % len(stacks), "marker": MARKERS[n % len(MARKERS)]}
        for n in range(max(samples, len(stacks)))
    ]
    return {"resources": resources, "frames": frames, "stacks": stacks, "samples": rows}


def make_marks() -> list[dict[str, Any]]:
    """Returns marks of each type, whose facts are hostile too."""
    facts = dict.fromkeys(
        ("name", "target", "url", "id", "interactionId", "invoker", "sourceURL", "element", "size", MARKUP), MARKUP
    )
    scripts = [{"start": 1, "duration": 50, "invoker": MARKUP, "sourceURL": MARKUP}, {"start": MARKUP}, MARKUP]
    types = [*MARK_TYPES, "long-animation-frame", "interaction", "layout-shift"]
    return [
        {
            "type": kind,
            "start": 10.0 * n,
            "duration": 300.0,
            **facts,
            "detail": {MARKUP: [MARKUP] * 20},
            "scripts": scripts,
        }
        for n, kind in enumerate(types)
    ]


def make_long_trace(number: int) -> dict[str, Any]:
    """Returns a trace of functions whose scripts have the longest addresses."""
    resources = [start_with(f"{SHOP}{number}/{n}/", "x", URI_CHARS) for n in range(LONG_SCRIPTS)]
    frames = [{"name": "f", "resourceId": n, "line": 1, "column": 1} for n in range(LONG_SCRIPTS)]
    stacks = [{"frameId": n} for n in range(LONG_SCRIPTS)]
    rows = [{"timestamp": n * 10.0, "stackId": n} for n in range(LONG_SCRIPTS)]
    return {"resources": resources, "frames": frames, "stacks": stacks, "samples": rows}


def make_small_trace(samples: int, *, has_third_party: bool) -> dict[str, Any]:
    """Returns a trace of one function, and of one of a third party."""
    resources = [list_urls()[0], THIRD_PARTY, f"{SHOP}node_modules/@{MARK}/{FORMULA}/x.js"]
    frames = [{"name": MARKUP[:900], "resourceId": n, "line": 1, "column": 1} for n in range(3)]
    rows = [{"timestamp": n * 10.0, "stackId": n % 3 if has_third_party else 0} for n in range(samples)]
    return {"resources": resources, "frames": frames, "stacks": [{"frameId": n} for n in range(3)], "samples": rows}


def post_days() -> None:
    """Posts page views of some days, of which those of the new release take longer."""
    now = timezone.now()
    for day in range(DAYS, -1, -1):
        at = (now - timedelta(days=day)).replace(hour=0, minute=1)
        release = NEW if day < 3 else OLD
        device = {"memory": 8, "cores": 8, "mobile": day % 2 == 0}
        common: dict[str, Any] = {
            "release": release,
            "timeOrigin": at.timestamp() * 1_000,
            "tags": TAGS,
            "device": device,
        }
        small = [
            make_envelope(
                f"{day} {n}",
                page=PAGES[n % 2],
                trace=make_small_trace((6 if release == NEW else 3) + n % 3, has_third_party=release == NEW),
                **common,
            )
            for n in range(VIEWS_PER_DAY)
        ]
        post(f"KEY-{SLUG}", *small)
    heavy: dict[str, Any] = {
        "tags": TAGS,
        "marks": make_marks(),
        "timeOrigin": (now - timedelta(hours=30)).timestamp() * 1_000,
    }
    for number, (release, page) in enumerate(((NEW, PAGES[0]), (OLD, PAGES[0]), (ODD, PAGES[0]))):
        post(
            f"KEY-{SLUG}",
            make_envelope(f"heavy {number}", release=release, page=page, trace=make_heavy_trace(), **heavy),
        )
    for number, page in enumerate(PAGES):
        url = f"{SHOP}{page}?{MARKUP}"
        fields = {"release": ODD, "page": None, "url": url} if number % 2 else {"release": ODD, "page": page}
        post(f"KEY-{SLUG}", make_envelope(f"page {number}", **fields, userAgent=fill(MARKUP, 2_000)))
    for number in range(LONG_POSTS):
        post(f"KEY-{SLUG}", make_envelope(f"long {number}", release=NEW, page=PAGES[1], trace=make_long_trace(number)))
    report = {"reason": "status", "page": PAGES[0], "url": f"{SHOP}{MARKUP}", "rate": 0.5, "status": 413}
    take(Client().post(f"/ingest/v1/absent?key=KEY-{SLUG}", report, content_type=JSON))
    for stack in (f"at {MARKUP} ({SHOP}/{MARKUP}.js:1:2)", f"at {fill(MARKUP, 2_000)}", ""):
        said = {"release": ODD, "page": PAGES[0]}
        body = {"reason": "unresponsive", "stack": stack, "crash_report_api": said}
        crash = {"type": "crash", "age": 1e300, "url": f"{SHOP}{MARKUP}", "body": body}
        take(Client().post(f"/ingest/v1/reports?key=KEY-{SLUG}", [crash], content_type=JSON))


def upload(client: Client) -> None:
    """Uploads the build: some of its files are refused, each with a place and a sentence."""
    where = urlencode({"release": NEW, "url_prefix": PREFIX})
    take(client.post(f"{API}sourcemaps?{where}", write_tar(), content_type="application/gzip"), 422)


def describe(client: Client) -> None:
    """Writes the rules about code, how it is shown, and what is recorded."""
    slow = [f"({'a|' * n}a)*c" for n in range(1, 12)] + ["(a|a)*c", ".*.*.*=.*", "(.{1,9}){1,4}x", "[^/]*[^/]*[^/]*$"]
    categories = [{"category": "library", "name": pattern, "uri": pattern, "source": pattern} for pattern in slow]
    code = {
        "categories": categories,
        "parties": [{"domain": f"<{MARK}>.example", "owner": "other", "name": fill(MARKUP, 400)}],
        "packages": [{"path": "src/*", "name": "@" + fill(MARKUP, 300) + "*"}],
    }
    take(client.patch(API + "code", {"rules": code}, content_type=JSON))
    rules = [
        {
            "action": "group",
            "field": "name",
            "pattern": fill("*" + SLOW_FOR_RE, 200)[:200],
            "title": fill(NO_BRACES, 120),
        },
        {"action": "retitle", "field": "uri", "pattern": "*" + MARK + "*", "title": "{name}" + fill(NO_BRACES, 100)},
        {"action": "fold", "field": "uri", "pattern": "*a*a*a*a*a*a*a*b", "title": "{uri} {source}"},
        {"action": "group", "field": "package", "pattern": fill(PLAIN, 400), "title": "{package}"},
    ]
    take(client.put(API + "display", {"rules": rules}, content_type=JSON))
    collection = {"pages": [["*" + PLAIN[:150], 0.5], ["/*/a*", 0.5]], "rate": 0.5}
    take(client.patch(API + "settings", {"collection": collection}, content_type=JSON))


def import_file(client: Client) -> None:
    """Imports a trace under hostile names, and a file that cannot be read."""
    body = json.dumps(make_envelope("imported", release=ODD, page=PAGES[0])).encode()
    files = [SimpleUploadedFile(f"{MARKUP.replace('/', '')}.json", content) for content in (body, MARKUP.encode())]
    form = {"files": files, "release": fill(MARKUP, 200), "page": fill(MARKUP, 400)}
    take(client.post(PAGE + "import/", form), 400)


def evaluate(project: Project) -> None:
    """Evaluates each alert, on the mornings of three days."""
    now = timezone.now()
    make_release_alert(project.pk, now)
    AlertRule.objects.filter(project=project).update(created_at=now - timedelta(days=DAYS + 1))
    for day in (2, 1, 0):
        for alert in AlertRule.objects.filter(project=project).order_by("id"):
            at = now - timedelta(days=day)
            AlertRule.objects.filter(project=project, id=alert.id).update(due_at=at)
            run_once(f"evaluating {alert.kind}", partial(evaluate_one, project.pk, alert.id, at))
    problems = AlertRule.objects.filter(project=project).exclude(problem=None).values_list("name", "problem")
    assert not list(problems), problems


def save(client: Client) -> None:
    """Saves a view and shares a page, each with hostile filters."""
    query = urlencode({"release": NEW, "page": PAGES[0], "q": MARKUP, "tag": f"visitor={MARKUP}"})
    address = f"{PAGE}functions/?{query}"
    for name in (fill(MARKUP, 80), FORMULA, BIDI):
        take(client.post(PAGE + "saved/", {"name": name, "is_shared": "on", "address": address}), 302)
    take(client.post(PAGE + "share/", {"page": f"{PAGE}functions/?{urlencode({'release': NEW, 'q': MARKUP})}"}))


def start_job(client: Client, kind: str, params: Mapping[str, Any]) -> str:
    """Starts a job by the read API, and returns its id."""
    answer = take(client.post(API + "jobs", {"kind": kind, "params": params}, content_type=JSON), 202)
    return str(answer.json()["id"])


def make_token(client: Client) -> None:
    take(client.post(SETTINGS + "tokens/", {"name": fill(MARKUP, 80), "scopes": "read", "days": "90"}))


def list_funcs(project: Project) -> list[int]:
    """Returns the ids of functions: one of each name, of each script, and all that have a source."""
    ids: dict[tuple[str, str], int] = {}
    for func_id, name, uri, line in Func.objects.filter(project=project).values_list("id", "name", "uri", "line"):
        ids.setdefault(("uri", str(uri)) if line == SCRIPT_LINE else ("name", name), func_id)
    labelled = Label.objects.filter(project=project).exclude(source_id=None).order_by("source_id", "line", "func_id")
    for source_id, func_id in labelled.values_list("source_id", "func_id"):
        ids[("source", str(source_id))] = func_id  # the last one: text of the whole source is in front of it
    return sorted(set(ids.values()))
