"""Who sees which project. Every page and every endpoint finds its project here, or answers 404.

That is never asked of a replica: who has lost a role is refused at once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.http import Http404
from rest_framework.request import Request

from aggregate.replica.source import at_database
from aggregate.selectors.slice.read_context import keep_answer, once_a_read
from projects.models import ApiToken, Membership, Project, SharedLink


@dataclass(frozen=True, slots=True)
class Guest:
    """A reader of one project by a shared link, without an account (`dashboard.web.guests`).

    A guest stands where a request's user does. They are not authenticated: only what admits guests by name does so.
    """

    link: SharedLink
    login_link: str = ""

    is_guest: ClassVar = True
    is_authenticated: ClassVar = False
    is_active: ClassVar = True  # else Django REST framework takes them for anonymous
    is_superuser: ClassVar = False
    pk: ClassVar = None

    def get_username(self) -> str:
        """Returns no name: a guest has no name."""
        return ""


Reader = User | AbstractBaseUser | AnonymousUser | ApiToken | Guest


def reader_of(request: Request) -> Reader:
    """Returns the reader of a request to the read API: its token if it has one, else its user."""
    return request.auth if isinstance(request.auth, ApiToken) else request.user


def visible_projects(reader: Reader) -> QuerySet[Project]:
    """Returns the projects that a reader can see.

    A token sees its own project, a guest that of their link, a user those of which they are a member, in any role. A
    project without members belongs to the superusers; once it has members, a superuser must be one of them. A project
    that is being deleted is visible to no one.
    """
    return reader_projects(reader).filter(deletion_started_at=None)


def reader_projects(reader: Reader) -> QuerySet[Project]:
    """Returns the projects of a reader, those that are being deleted included: only the list of projects shows them."""
    if isinstance(reader, ApiToken):
        return Project.objects.filter(pk=reader.project_id)
    if isinstance(reader, Guest):
        return Project.objects.filter(pk=reader.link.project_id)
    if not reader.is_authenticated:
        return Project.objects.none()
    members = Membership.objects.filter(project=OuterRef("pk"))
    is_visible: Q = Q(Exists(members.filter(user=reader.pk)))
    if getattr(reader, "is_superuser", False):
        is_visible |= Q(~Exists(members))
    return Project.objects.filter(is_visible).order_by("name", "slug")


def _as_they_are(projects: QuerySet[Project]) -> QuerySet[Project]:
    return projects


@once_a_read
def get_visible_project(
    reader: Reader, slug: str, *, read: Callable[[QuerySet[Project]], QuerySet[Project]] = _as_they_are
) -> Project:
    """Returns a project by its slug. Raises the same Http404 for a missing project and for one they cannot see.

    `read` may have the same statement read more of it; not for tokens.
    """
    if isinstance(reader, ApiToken):  # found with its project
        linked = reader.project
        project = linked if linked.slug == slug and linked.deletion_started_at is None else None
    else:
        members = Membership.objects.filter(project=OuterRef("pk"))
        role = Subquery(members.filter(user=reader.pk).values("role")[:1])
        projects = visible_projects(reader).filter(slug=slug).annotate(role=role, has_members=Exists(members))
        with at_database():
            project = read(projects).first()
        if project is not None:
            is_admin = _administers(reader, project.role, has_members=project.has_members)  # type: ignore[attr-defined]  # annotated
            keep_answer(may_administer, is_admin, reader, project)
    if project is None:
        raise Http404("There is no such project.")
    return project


@once_a_read
def may_administer(reader: Reader, project: Project) -> bool:
    """Returns whether a reader may administer a project: its admins may; superusers may if it has no members.

    Tokens and guests can only read.
    """
    if isinstance(reader, ApiToken | Guest):
        return False
    with at_database():
        roles = dict(Membership.objects.filter(project=project).values_list("user_id", "role"))
    role = None if reader.pk is None else roles.get(reader.pk)
    return _administers(reader, role, has_members=bool(roles))


def _administers(reader: Reader, role: str | None, *, has_members: bool) -> bool:
    return role == Membership.Role.ADMIN if has_members else bool(getattr(reader, "is_superuser", False))


def is_superuser(reader: Reader) -> bool:
    """Returns whether a reader is a superuser: they see the server itself, and can create accounts."""
    return not isinstance(reader, ApiToken) and reader.is_authenticated and bool(getattr(reader, "is_superuser", False))


def may_create_projects(reader: Reader) -> bool:
    """Returns whether a reader may create projects: superusers may."""
    return is_superuser(reader)


def may_read_raw(reader: Reader, project: Project) -> bool:
    """Returns whether a reader may read raw bodies: administrators may, and tokens with the scope `raw`.

    A raw body has full URLs and texts, which are stored nowhere else.
    """
    if isinstance(reader, ApiToken):
        return ApiToken.Scope.RAW in reader.scopes
    return may_administer(reader, project)
