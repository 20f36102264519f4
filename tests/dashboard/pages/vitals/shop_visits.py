"""A shop with recorded visits, and a client that may see it."""

from django.contrib.auth.models import User
from django.test import Client

from projects.models import Membership, Project
from tests.aggregate.selectors.vitals.recorded_visits import post_visits, read_visits
from tests.builders import make_project

VISITS = 48


def make_visited_shop() -> Project:
    project = make_project("shop", name="The shop")
    post_visits("KEY-shop", read_visits("1.2.0", VISITS))
    Membership.objects.create(project=project, user=User.objects.create_user("member"))
    return project


def log_in(client: Client) -> Client:
    client.force_login(User.objects.get(username="member"))
    return client
