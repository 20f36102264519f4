"""Charts of dots: which labels have room on a narrow screen."""

from dashboard.layout.dot_chart import Point, draw_dots


def point(label: str) -> Point:
    return Point(label=label, value=1.0, low=None, high=None, text="")


def test_three_labels_have_room_on_a_narrow_screen_and_of_more_the_first_and_the_last() -> None:
    three = draw_dots([point(label) for label in ("1.0.0", "1.1.0", "1.2.0")])
    assert [dot.is_minor for dot in three.dots] == [False, False, False]
    four = draw_dots([point(label) for label in ("1.0.0", "1.1.0", "1.2.0", "1.3.0")])
    assert [dot.is_minor for dot in four.dots] == [False, True, True, False]
