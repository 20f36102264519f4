"""What display rules would change is told before anything does."""

import pytest

from aggregate.selectors.previews.display_preview import preview_display
from profcore.code.display_rules import read_display_rules
from projects.models import Project
from tests.aggregate.selectors.displayed_app import FOLD, GROUP, show

pytestmark = pytest.mark.django_db


def test_a_preview_tells_what_each_rule_decides_and_stores_nothing(app: Project) -> None:
    show(app, GROUP)
    rules = [FOLD, {**FOLD, "pattern": "rHooks"}, {**FOLD, "pattern": "nobody"}, {**GROUP, "pattern": "*"}]
    preview = preview_display(app.pk, read_display_rules(rules))
    assert [(effect.decided, effect.fits, effect.self_us) for effect in preview.effects] == [
        (3, 3, 70_000),
        (0, 1, 0),
        (0, 0, 0),
        (2, 5, 70_000),
    ]
    assert (preview.stored_count, preview.before_count, preview.after_count) == (5, 3, 2)
    after = [(entry.row.label, entry.func_count, entry.row.self_us // 1000) for entry in preview.after]
    assert sorted(after) == [("React", 2, 70), ("React", 3, 70)]
    assert [entry.row.label for entry in preview.before] == ["React", "app", "card"]
    assert [entry.is_changed for entry in preview.before] == [True, True, True]
    same = preview_display(app.pk, read_display_rules([GROUP]))
    assert not any(entry.is_changed for entry in (*same.before, *same.after))
    recoloured = preview_display(app.pk, read_display_rules([{**GROUP, "colour": "red"}]))
    assert [entry.is_changed for entry in recoloured.after] == [True, False, False]
    app.refresh_from_db()
    assert app.display_rules == [GROUP]
