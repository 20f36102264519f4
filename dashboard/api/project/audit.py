"""`GET …/audit`: a project's log of administration, for its admins and for tokens with the scope `audit`."""

from typing import Annotated, Any, Final

from msgspec import convert
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request

from dashboard.api.core.answer import Answer, InstantText, doc
from dashboard.api.core.parameters import Parameter
from dashboard.api.core.views import ProjectView
from dashboard.web.access import may_administer
from dashboard.web.params import ParamError
from projects.audit.entries import encode_entry, entries_of
from projects.models import ApiToken, Project

PAGE_ROWS: Final = 1_000


class ActorAnswer(Answer):
    kind: Annotated[str, doc("user, token, command, provider or server")]
    id: int | None
    name: str


class AuditProjectAnswer(Answer):
    id: int
    slug: str


class AuditEntryAnswer(Answer):
    id: int
    at: InstantText
    act: str
    actor: ActorAnswer
    network: Annotated[str | None, doc("Stands for an address: equal signs, equal networks.")]
    project: AuditProjectAnswer | None
    about: dict[str, Any]  # Any: JSON


class AuditAnswer(Answer):
    entries: list[AuditEntryAnswer]
    after: Annotated[int, doc("Ask again with this number for what came later.")]


class AuditView(ProjectView):
    token_scopes = (ApiToken.Scope.AUDIT,)
    known_params = (Parameter("after", "Only entries after the one with this id.", type="integer"),)

    def get(self, request: Request, slug: str) -> AuditAnswer:
        """Up to 1,000 entries of the project's audit log, oldest first."""
        if not isinstance(request.auth, ApiToken) and not may_administer(request.user, self.project):
            raise PermissionDenied("Only administrators of the project can read its audit log.")
        text = request.query_params.get("after", "0")
        if not (text.isascii() and text.isdigit() and len(text) < 19):
            raise ParamError("after", "after must be the id of an entry.")
        entries = entries_of(Project.objects.filter(pk=self.project.pk), with_server=False)
        page = entries.filter(pk__gt=int(text)).order_by("pk")[:PAGE_ROWS]
        rows = [convert(encode_entry(entry), AuditEntryAnswer) for entry in page]
        return AuditAnswer(rows, rows[-1].id if rows else int(text))
