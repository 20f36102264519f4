"""A channel for tests of pages."""

from alerts.channels import Terms, create_channel
from alerts.models import Channel
from projects.models import Project
from tests.alerts.state_changes import NOON


def make_channel(project: Project) -> Channel:
    """Returns a webhook that gets the messages of all alerts."""
    addresses = ["https://hooks.example/secret"]
    return create_channel(project=project, kind="webhook", name="Team", addresses=addresses, terms=Terms(), now=NOON)[0]
