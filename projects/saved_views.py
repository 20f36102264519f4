"""Saved views: pages of a project with their filters, under names. Whose pages they are is checked by the dashboard."""

from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet

from projects.models import Project, SavedView


@dataclass(frozen=True, slots=True)
class ViewAddress:
    """The address of a page: its path behind the project's own, and its query string."""

    path: str
    query: str


def list_views(project: Project, user_id: int) -> QuerySet[SavedView]:
    """Returns the saved views of a project that a person sees: their own and the shared ones, by name."""
    is_seen = Q(user_id=user_id) | Q(is_shared=True)
    return SavedView.objects.filter(is_seen, project=project).select_related("user").order_by("name", "pk")


def save_view(*, project: Project, user: User, name: str, address: ViewAddress, is_shared: bool) -> SavedView:
    """Saves a view and returns it. Raises `ValidationError` for a wrong field, or if the person has too many."""
    view = SavedView(project=project, user=user, name=name, path=address.path, query=address.query, is_shared=is_shared)
    view.full_clean()
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=user.pk)  # two at the same time count one after the other
        if SavedView.objects.filter(project=project, user=user).count() >= settings.SAVED_VIEWS_MAX:
            most = settings.SAVED_VIEWS_MAX
            raise ValidationError({"name": f"You have {most} saved views in this project. Delete one first."})
        view.save()
    return view


def change_view(view: SavedView, *, name: str, is_shared: bool) -> None:
    """Gives a saved view another name, and shares it or not. Raises `ValidationError`."""
    view.name, view.is_shared = name, is_shared
    view.full_clean()
    view.save(update_fields=["name", "is_shared"])
