"""What a page view would save without a function, as its page shows it."""

from django.http import QueryDict

from dashboard.pages.function.costs import Context
from dashboard.pages.function.query import FunctionQuery
from dashboard.web.cache import RANKED, answer_savings
from dashboard.web.params import EVERY_FUNCTION
from dashboard.web.queries import write_query


def build_savings(query: FunctionQuery, _params: QueryDict) -> Context:
    """Returns the bounds, and the function's rank among all of the slice; without them if it costs too little."""
    savings = answer_savings(query.slice_, group_by="function", limit=RANKED, narrowing=EVERY_FUNCTION)
    ranked = {saving.row.id: (rank, saving) for rank, saving in enumerate(savings.rows, start=1)}
    rank, saving = ranked.get(query.func.id, (None, None))
    return {
        "rank": rank,
        "saving": saving,
        "ranked": RANKED,
        "table": savings.table,
        "vitals": savings.vitals,
        "savings_query": write_query(query.slice_.params()),
    }
