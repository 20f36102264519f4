"""The page "Vitals": what delays loading and interactions, in words, with intervals, and honest about small samples."""

import re

from django.test import Client

from ingest.models import RawTrace
from projects.models import Project
from tests.dashboard.pages.reading import HOSTILE, text_of
from tests.dashboard.pages.vitals.shop_visits import VISITS

PAGE = "/projects/shop/vitals/"
WINDOWS = "/projects/shop/vitals/windows/"


def test_the_page_comes_at_once_and_fetches_its_windows(reader: Client) -> None:
    page = reader.get(f"{PAGE}?release=1.2.0").content.decode()
    assert "<h1>What delays loading and interactions <" in page
    assert f'hx-get="{WINDOWS}?release=1.2.0"' in page
    assert re.search(r'vitals/\?release=1\.2\.0" data-slice data-go="w" aria-current', page)


def test_the_windows_say_what_ran_in_them(reader: Client) -> None:
    text = text_of(reader, WINDOWS)
    sentence = r"Of the longest interactions, \S+ % is \w+.*?, of which .+? takes \S+ % \(\S+ ms per view\)\."
    assert re.search(sentence, text)
    for title in ("Input delay", "Processing", "Presentation", "Until the largest paint", "Long animation frames"):
        assert title in text
    assert re.search(r"[\d.]+ m?s p75 \([\d.]+( m?s)? to [\d.]+ m?s\)", text)
    assert f"From all {VISITS} page views" in text


def test_forced_layout_says_who_forced_it_and_what_is_unattributed(reader: Client) -> None:
    text = text_of(reader, WINDOWS)
    forced = text[text.index("Forced layout") :]
    assert re.search(r"Attributed: .* [\d.]+ ms per view \([\d.]+ to [\d.]+ ms\) · in [\d.]+ % of page views", forced)
    assert re.search(r"10 of \d+\. All of it has a function\.", forced)
    assert "With calls" not in text_of(reader, f"{WINDOWS}?group_by=party")


def test_windows_can_be_grouped(reader: Client) -> None:
    assert "first-party" in text_of(reader, f"{WINDOWS}?group_by=category")
    assert "group_by=package&amp;waits=slow" in reader.get(f"{PAGE}?group_by=package&waits=slow").content.decode()


def test_only_slow_waits_may_be_shown(reader: Client) -> None:
    every, slow = (
        [int(count) for count in re.findall(r"per view · (\d+) page view", text_of(reader, WINDOWS + query))]
        for query in ("", "?waits=slow")
    )
    assert slow[0] < every[0]
    assert slow[-1] == every[-1]  # long frames stay


def test_without_scripts_the_page_has_all(reader: Client) -> None:
    assert "Longest interaction (INP)" in text_of(reader, f"{PAGE}?plain=1")


def test_expired_raw_traces_are_said(reader: Client, kept: Project) -> None:
    RawTrace.objects.filter(project_id=kept.pk).delete()
    assert "The raw traces have expired" in text_of(reader, WINDOWS)


def test_tags_are_explained_in_their_place(reader: Client) -> None:
    assert "Windows are of whole page views" in text_of(reader, f"{WINDOWS}?tag=a:b")


def test_hostile_texts_are_only_texts(reader: Client) -> None:
    assert HOSTILE not in reader.get(PAGE, {"page": HOSTILE}).content.decode()
