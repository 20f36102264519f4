"""The link of an open alarm, followed: the page Functions shows the row that it names, with the figure of its days."""

import html
import re
from datetime import timedelta

import pytest
from django.test import Client

from alerts.evaluating import evaluate_one
from alerts.queries import clean_alert_query
from alerts.rules import create_alert
from projects.models import Project
from tests.alerts.costly_days import APP, TODAY, add_functions

pytestmark = pytest.mark.django_db
NOW = TODAY + timedelta(hours=2)  # the shop has page views of its own at nine
TAG, OTHER = "https://www.googletagmanager.com/gtag/js", "https://connect.facebook.net/b.js"


@pytest.mark.parametrize(
    ("kind", "question"),
    [
        ("new_third_parties", {"by": "party", "limit": 10.0}),
        ("budget", {"measure": "share", "by": "party", "name": "Google Tag Manager", "limit": 0.1}),
    ],
)
def test_an_alarm_leads_to_its_row(member: Client, shop: Project, kind: str, question: dict[str, object]) -> None:
    asked = clean_alert_query(kind, question)
    alert = create_alert(project=shop, kind=kind, name="Tags", question=asked, now=TODAY - timedelta(days=5))
    for days_ago in range(9, 0, -1):
        new = {TAG: 0.2} if days_ago <= 5 else {}
        add_functions(shop, days_ago, {APP: 0.3, OTHER: 0.3, **new}, today=NOW)
    add_functions(shop, 0, {APP: 0.1, TAG: 0.9}, today=NOW)  # not judged yet, so not in the link
    assert evaluate_one(shop.pk, alert.id, NOW)
    page = member.get("/projects/shop/alerts/").content.decode()
    (link,) = re.findall(r'href="([^"]*/projects/shop/functions/\?[^"]*)"', page.partition('id="rules"')[0])
    shown = member.get(html.unescape(link)).content.decode()
    assert 'name="q" value="Google Tag Manager"' in shown
    assert re.search(r'aria-current="true">Party<', shown)
    (part_link,) = re.findall(r'hx-get="([^"]*/functions/table/[^"]*)"', shown)
    table = member.get(html.unescape(part_link)).content.decode()
    assert re.findall(r'<bdi class="name">([^<]+)<', table) == ["Google Tag Manager"]
    cost = re.search(r'data-label="Self \+ hidden per view"><b>([\d.]+)', table)
    assert cost is not None
    assert float(cost[1]) == pytest.approx(21.0, abs=2.0)  # of the days that were judged, not of today
