"""Page routes: which addresses are one page, and what a change of the rules would call the pages known now."""

from datetime import UTC, datetime, timedelta
from typing import Final

from django import forms
from django.http import HttpResponse

from aggregate.selectors.route_previews import preview_addresses, preview_routes
from dashboard.settings.forms import SettingsForm, read_lines
from dashboard.settings.frame import Desk, settings_page
from ingest.keys import CACHE_S
from ingest.projects import MAX_ROUTE_RULES, change_route_rules
from profcore.routes import MAX_ROUTE_CHARS, RouteRuleError, check_rule, find_unreached

ADDRESS_DAYS: Final = 2  # of which raw traces are looked at: few daily partitions
MAX_SHOWN: Final = 200  # pages that would be renamed; the rest is counted


class RoutesForm(SettingsForm):
    rules = forms.CharField(
        required=False,
        max_length=MAX_ROUTE_RULES * (MAX_ROUTE_CHARS + 2),
        widget=forms.Textarea(
            attrs={"rows": 8, "spellcheck": "false", "autocomplete": "off", "placeholder": "/product/:sku\n/help/*"}
        ),
        help_text=(
            "One a line; the first that fits a path is its page. :name stands for one part between slashes, "
            "a last * for any rest."
        ),
    )

    def clean_rules(self) -> list[str]:
        """Returns the rules, or a sentence for each line that is wrong."""
        wrong = []
        rules = []
        for number, line in enumerate(self.cleaned_data["rules"].splitlines(), start=1):
            rule = line.strip()
            if not rule:
                continue
            try:
                check_rule(rule)
            except RouteRuleError as error:
                wrong.append(f"Line {number}: {error}.")
            rules.append(rule)
        if len(rules) > MAX_ROUTE_RULES:
            wrong.append(f"A project has at most {MAX_ROUTE_RULES} rules; these are {len(rules)}.")
        if wrong:
            raise forms.ValidationError(wrong)
        return rules


@settings_page("settings-routes")
def show_routes(desk: Desk) -> HttpResponse:
    stored = "\n".join(desk.project.route_rules)
    form = RoutesForm(desk.request.POST if desk.has_posted else None, initial={"rules": stored})
    context: dict[str, object] = {"form": form, "cache_s": CACHE_S}
    if form.is_bound and form.is_valid():
        rules = form.cleaned_data["rules"]
        if "preview" not in desk.request.POST:
            change_route_rules(desk.project, rules)
            desk.tell("route rules changed:", len(rules))
            return desk.leave(
                f"The rules are saved. They hold within {CACHE_S:.0f} seconds, for what arrives from then."
            )
        preview = preview_routes(desk.project.pk, rules)
        since = datetime.now(UTC) - timedelta(days=ADDRESS_DAYS)
        context |= {
            "addresses": preview_addresses(desk.project.pk, desk.project.route_rules, rules, since=since),
            "address_days": ADDRESS_DAYS,
            "preview": preview,
            "renamed": preview.renamed[:MAX_SHOWN],
            "unreached": [(rules[later], rules[earlier]) for later, earlier in find_unreached(rules).items()],
        }
    else:
        known = find_unreached(read_lines(stored))
        context["unreached"] = [(desk.project.route_rules[n], desk.project.route_rules[m]) for n, m in known.items()]
    return desk.show("routes", status=400 if form.is_bound and form.errors else 200, **context)
