"""Tables and paragraphs keep to 100 columns and to what prints."""

from __future__ import annotations

from inferform.cli.formats.table import bullets, pairs, table


def test_columns_are_as_wide_as_they_need() -> None:
    """Words stand left, numbers right, two blanks between columns, nothing at the ends."""
    assert "pool  nodes\na         1\nlong     12" == table(("pool", "nodes"), [("a", "1"), ("long", "12")], right=(1,))


def test_a_wide_table_wraps_its_widest_column() -> None:
    """No line is wider than asked for and no word is lost."""
    words = "one two three four five six seven eight nine ten"
    text = table(("name", "why"), [("a", words), ("b", "short")], width=30)
    assert 30 >= max(len(line) for line in text.splitlines())
    assert words.split() == [w for line in text.splitlines()[1:-1] for w in line.split() if w != "a"]


def test_control_characters_do_not_reach_the_terminal() -> None:
    """Escapes are written out in cells, items and pairs."""
    for text in (table(("a",), [("x\x1b[31m",)]), bullets(["x\x1b[31m"]), pairs([("a", "x\x1b[31m")])):
        assert "\x1b" not in text
        assert "\\x1b" in text


def test_paragraphs_wrap_under_their_first_word() -> None:
    """A long item goes on under its text, a long value in its column."""
    assert ["  - aaa", "    bbb"] == bullets(["aaa bbb"], width=8).splitlines()
    assert ["  k  aaa", "     bbb"] == pairs([("k", "aaa bbb")], width=8).splitlines()
