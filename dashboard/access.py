"""Who sees which project. Every page and every answer of the read API finds its project here, or answers 404."""

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import Http404
from rest_framework.request import Request

from ingest.models import ApiToken, Membership, Project

Reader = User | AbstractBaseUser | AnonymousUser | ApiToken


def reader_of(request: Request) -> Reader:
    """Returns who asks the read API: the token, where there is one, else the user."""
    return request.auth if isinstance(request.auth, ApiToken) else request.user


def visible_projects(reader: Reader) -> QuerySet[Project]:
    """Returns the projects a reader may see.

    A token sees its own, a user those of which he is a member, in any role. A project without members belongs to the
    superusers; once it has some, a superuser must be one of them.
    """
    if isinstance(reader, ApiToken):
        return Project.objects.filter(pk=reader.project_id)
    if not reader.is_authenticated:
        return Project.objects.none()
    members = Membership.objects.filter(project=OuterRef("pk"))
    is_visible: Q = Q(Exists(members.filter(user=reader.pk)))
    if getattr(reader, "is_superuser", False):
        is_visible |= Q(~Exists(members))
    return Project.objects.filter(is_visible).order_by("name", "slug")


def get_visible_project(reader: Reader, slug: str) -> Project:
    """Returns a project by its slug. One that is not there and one that is not his look the same: Http404."""
    project = visible_projects(reader).filter(slug=slug).first()
    if project is None:
        raise Http404("There is no such project.")
    return project


def may_administer(reader: Reader, project: Project) -> bool:
    """Tells whether a reader of a project administers it: its admins; its superusers where it has no members.

    A token reads, and changes nothing.
    """
    if isinstance(reader, ApiToken):
        return False
    roles = dict(Membership.objects.filter(project=project).values_list("user_id", "role"))
    if not roles:
        return bool(getattr(reader, "is_superuser", False))
    return reader.pk is not None and roles.get(reader.pk) == Membership.Role.ADMIN


def may_read_raw(reader: Reader, project: Project) -> bool:
    """Tells whether a reader of a project may read raw bodies: its admins, its owners by command line, and some tokens.

    A raw body has full URLs and texts, which nothing else keeps.
    """
    if isinstance(reader, ApiToken):
        return reader.may_read_raw
    return may_administer(reader, project)
