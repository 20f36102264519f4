"""What a page view would save without a function, as its page shows it."""

from django.http import QueryDict

from dashboard.pages.function.costs import Context
from dashboard.pages.function.query import FunctionQuery
from dashboard.web.cache import RANKED, answer_savings
from dashboard.web.params import EVERY_FUNCTION
from dashboard.web.queries import write_query


def build_savings(question: FunctionQuery, _params: QueryDict) -> Context:
    """Returns the bounds, and the function's rank among all of the slice; without them if it costs too little."""
    found = answer_savings(question.slice_, group_by="function", limit=RANKED, narrowing=EVERY_FUNCTION)
    ranked = {each.row.id: (rank, each) for rank, each in enumerate(found.rows, start=1)}
    rank, saving = ranked.get(question.func.id, (None, None))
    return {
        "rank": rank,
        "saving": saving,
        "ranked": RANKED,
        "table": found.table,
        "vitals": found.vitals,
        "savings_query": write_query(question.slice_.params()),
    }
