"""Several new projects in a running stack."""

import json
from collections.abc import Sequence
from typing import Final

from ops.supervisor.running import RunningStack

CREATE: Final = """
import json
from projects.creation import create_project
from projects.tokens import create_token
tokens = {{}}
for slug in {slugs!r}:
    project, _ = create_project(slug=slug, key=slug, origins=["*"])
    tokens[slug] = create_token(project=project)[1]
print(json.dumps(tokens))
"""


def create_projects(stack: RunningStack, slugs: Sequence[str]) -> dict[str, str]:
    """Returns the tokens of new projects whose keys are their slugs; in one process, since each takes seconds."""
    tokens: dict[str, str] = json.loads(stack.manage("shell", "-c", CREATE.format(slugs=slugs)).splitlines()[-1])
    return tokens
