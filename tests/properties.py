"""How many examples a property gets: few and always the same ones by default, many new ones when asked.

`HYPOTHESIS_PROFILE=deep ./test tests/aggregate` looks for new counterexamples, forty times as many; what it finds is
kept in `.hypothesis/` and tried again first.
"""

import os
from typing import Final

from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

IS_DEEP: Final = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
DEEP_FACTOR: Final = 40
# Always the same ones: Hypothesis' own 100 would prove little more, run after run, and take twice as long.
EXAMPLES: Final = 50

# No deadline: the machine that runs the tests is shared. No explaining of what fails: that runs hundreds of examples.
PHASES: Final = tuple(p for p in Phase if p is not Phase.explain)
settings.register_profile(
    "bounded", max_examples=EXAMPLES, deadline=None, derandomize=True, phases=PHASES, report_multiple_bugs=False
)
settings.register_profile("deep", max_examples=EXAMPLES * DEEP_FACTOR, deadline=None, print_blob=True)
settings.load_profile("deep" if IS_DEEP else "bounded")
if not IS_DEEP:
    # Hypothesis also draws numbers and texts from the source of all modules that the process has imported, so the same
    # test would have other examples beside other tests. It has no setting for that.
    providers._get_local_constants = Constants


def bounded(examples: int, *, steps: int = 50) -> settings:
    """Returns settings of a property: so many examples, of so many steps where it has steps; more when deep."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]
    return settings(
        max_examples=examples * (DEEP_FACTOR if IS_DEEP else 1),
        stateful_step_count=steps,
        suppress_health_check=slow,
    )
