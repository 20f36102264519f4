"""Results are cached by short texts only, and by few of them."""

from profcore.caching import cached


def test_short_texts_are_cached_and_long_ones_are_not() -> None:
    asked: list[str] = []

    @cached(entries=2, chars=3)
    def measure(text: str) -> int:
        """Says how long a text is."""
        asked.append(text)
        return len(text)

    for text in ("abc", "abc", "abcd", "abcd"):
        assert measure(text) == len(text)
    assert asked == ["abc", "abcd", "abcd"]
    assert measure.__doc__ == "Says how long a text is."


def test_the_oldest_result_is_dropped_first() -> None:
    asked: list[str | None] = []

    @cached(entries=2, chars=3)
    def note(text: str | None) -> None:
        asked.append(text)

    for text in (None, "a", "b", "a", None):
        note(text)
    assert asked == [None, "a", "b", None]
