"""A channel for tests of pages."""

from aggregate.guard.channels import Terms, create_channel
from aggregate.guard_models import Channel
from ingest.models import Project
from tests.aggregate.guard.told_changes import NOON


def make_channel(project: Project) -> Channel:
    """Returns a webhook that gets the messages of all watches."""
    addresses = ["https://hooks.example/secret"]
    return create_channel(project=project, kind="webhook", name="Team", addresses=addresses, terms=Terms(), now=NOON)[0]
