"""The settings page "Page routes": which addresses are one page, with a preview of new names."""

from datetime import UTC, datetime, timedelta
from typing import Final

from django import forms
from django.http import HttpResponse

from aggregate.selectors.previews.route_preview import preview_addresses, preview_routes
from dashboard.layout.forms import SettingsForm, read_lines
from dashboard.pages.settings.layout import SettingsRequest, settings_page
from dashboard.web.read_deadline import bounded_read
from profcore.trace.routes import MAX_ROUTE_CHARS, RouteRuleError, check_rule, find_unreached
from projects.descriptions import MAX_ROUTE_RULES, change_route_rules
from projects.key_cache import CACHE_S

ADDRESS_DAYS: Final = 2  # of raw traces in a preview: few daily partitions
MAX_SHOWN: Final = 200  # renamed pages in the list; the others are counted


class RoutesForm(SettingsForm):
    rules = forms.CharField(
        required=False,
        max_length=MAX_ROUTE_RULES * (MAX_ROUTE_CHARS + 2),
        widget=forms.Textarea(
            attrs={"rows": 8, "spellcheck": "false", "autocomplete": "off", "placeholder": "/product/:sku\n/help/*"}
        ),
        help_text=(
            "One per line; the first rule that matches a path gives its page. :name matches one part between slashes, "
            "* at the end matches the rest."
        ),
    )

    def clean_rules(self) -> list[str]:
        """Returns the rules. Raises `ValidationError` with a sentence for each wrong line."""
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
            wrong.append(f"At most {MAX_ROUTE_RULES} rules are accepted; these are {len(rules)}.")
        if wrong:
            raise forms.ValidationError(wrong)
        return rules


@settings_page("settings-routes")
def show_routes(page: SettingsRequest) -> HttpResponse:
    stored = "\n".join(page.project.route_rules)
    form = RoutesForm(page.request.POST if page.has_posted else None, initial={"rules": stored})
    context: dict[str, object] = {"form": form, "cache_s": CACHE_S}
    if form.is_bound and form.is_valid():
        rules = form.cleaned_data["rules"]
        if "preview" not in page.request.POST:
            change_route_rules(page.project, rules)
            page.log_change("route rules changed:", len(rules))
            return page.redirect(
                f"The rules are saved. They apply within {CACHE_S:.0f} seconds, to traces received from then on."
            )
        since = datetime.now(UTC) - timedelta(days=ADDRESS_DAYS)
        with bounded_read():
            preview = preview_routes(page.project.pk, rules)
            addresses = preview_addresses(page.project.pk, page.project.route_rules, rules, since=since)
        context |= {
            "addresses": addresses,
            "address_days": ADDRESS_DAYS,
            "preview": preview,
            "renamed": preview.renamed[:MAX_SHOWN],
            "unreached": [(rules[later], rules[earlier]) for later, earlier in find_unreached(rules).items()],
        }
    else:
        known = find_unreached(read_lines(stored))
        context["unreached"] = [(page.project.route_rules[n], page.project.route_rules[m]) for n, m in known.items()]
    return page.render("routes", status=400 if form.is_bound and form.errors else 200, **context)
