"""Pages are self-contained, harmless and well-formed, and stay as they are."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from grople.errors import DataError
from grople.inspection import (
    TERMS,
    Cell,
    Columns,
    Details,
    Facts,
    Picture,
    Section,
    Table,
    figure_svg,
    plain_text,
    render_page,
    write_text,
)

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a&b", "</style>", "]]>"]
VOID = {"meta", "input", "br", "img", "link", "hr", "wbr"}
SNAPSHOT = Path(__file__).with_name("page.html")


class Outline(HTMLParser):
    """Element names, attributes and text, with a check that every element is closed."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.stack: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()
        assert not self.stack

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def named(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def drawing(title="title"):
    ax = Figure().subplots()
    ax.plot([0, 1], [1, 0], label=title)
    ax.imshow([[0, 1], [1, 0]])
    ax.legend()
    ax.set_title(title)
    return ax


def page_of(words):
    """A page that shows words in every place."""
    sections = [
        Section(
            f"s{i}",
            word,
            [
                word,
                Facts([(word, word, word)]),
                Table([word, word], [[word, Cell(1.0, word, title=word)]], word, word, True),
                Details(word, [word]),
                Columns([word, word]),
            ],
            word,
        )
        for i, word in enumerate(words)
    ]
    return render_page(
        words[0], sections, subtitle=words[0], footer=words[0], data={"d": {words[0]: [words[0]]}}
    )


def test_a_page_is_well_formed_accessible_and_needs_nothing_from_outside():
    html = render_page(
        "Title",
        [
            Section("one", "First", [Picture(drawing(), "picture", "Its title", "How", "Seen")]),
            Section("two", "Second", [Table(["a", "b"], [["x", 1]], "All", search=True)]),
        ],
        subtitle="sub",
    )
    outline = Outline(html)
    ids = [a["id"] for _, a in outline.elements if a.get("id")]
    assert len(ids) == len(set(ids))
    for tag in ("header", "nav", "main", "h1"):
        assert len(outline.named(tag)) == 1
    assert [a["href"] for a in outline.named("a")] == ["#content", "#one", "#two"]
    assert all(a.get("scope") in ("col", "row") for a in outline.named("th"))
    assert {"Seen"} == {a["aria-label"] for _, a in outline.elements if a.get("role") == "img"}
    assert all(a.get("aria-label") for a in outline.named("input"))
    assert not outline.named("link")
    assert not [a for a in outline.named("script") if "src" in a]
    assert not [k for _, a in outline.elements for k in a if k.startswith("on")]
    addresses = [
        v for _, a in outline.elements for k, v in a.items() if k.endswith(("href", "src"))
    ]
    assert all(value.startswith(("#", "data:")) for value in addresses)
    assert not re.search(r"@import|url\((?!#)", html)


def test_a_page_stays_as_it_is():
    table = Table(
        ["method", "example_f1", "seconds"],
        [
            ["works-with::text", Cell(0.512, "0.512 ± 0.004", "bold"), Cell(2, bar=0.5)],
            ["other", Cell(0.3, shade=-0.5, title="a remark"), None],
        ],
        "Quality",
        "Five **folds**.",
        search=True,
    )
    html = render_page(
        "A page",
        [
            Section("first", "First", ["One [AUC](?).\n\n- two\n- `three`", table], "An intro."),
            Section(
                "second",
                "Second",
                [Facts([("rows", 12345, "a remark")]), Details("More", [Columns(["a", "b"])])],
            ),
        ],
        subtitle="its subtitle",
        footer="its footer",
    )
    body = re.search(r"<body>.*?(?=<script>)", html, re.DOTALL).group()
    assert body == SNAPSHOT.read_text(encoding="utf-8")


@pytest.mark.parametrize("words", [HOSTILE, ["{{ 7 * 7 }}"], ["{% raw %}"], ["\x00\x1b\ud800"]])
def test_whatever_words_come_in_only_words_come_out(words):
    plain, hostile = Outline(page_of(["word"] * len(words))), Outline(page_of(words))
    # Long names may be broken; nothing else is added.
    tags = [tag for tag, _ in hostile.elements if tag != "wbr"]
    assert tags == [tag for tag, _ in plain.elements]
    assert not [k for _, a in hostile.elements for k in a if k.startswith("on")]
    text = "".join(hostile.texts)
    assert all(re.sub("[\x00-\x1f\ud800]", "�", word) in text for word in words)


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=40))
def test_any_text_stays_text(text):
    html = page_of([text])
    allowed = {"strong", "code", "ul", "li", "p", "a", "wbr"}
    expected = {tag for tag, _ in Outline(page_of(["x"])).elements}
    assert {tag for tag, _ in Outline(html).elements} <= expected | allowed
    html.encode("utf-8")


@settings(max_examples=40, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    )
)
def test_data_come_back_from_the_page(value):
    html = render_page("t", [], data={"d": value})
    content = re.search(r'<script type="application/json" id="d">(.*?)</script>', html).group(1)
    assert not set("<>&") & set(content)
    assert json.loads(content) == value


def test_markup_is_understood_and_code_is_left_alone():
    text = "`**x**` **`y`** [z](#there) [w](javascript:alert)\n\n- c"
    html = render_page("t", [Section("there", "There", [text])])
    assert "<code>**x**</code>" in html
    assert '<a href="#there">z</a> [w](javascript:alert)' in html
    assert "<ul><li>c</li></ul>" in html
    assert plain_text("**a** `b` [c](#d) [AUC](?)") == "a b c AUC"


def test_terms_are_explained_where_they_stand_and_listed_at_the_end():
    table = Table(["method", "macro_f1"], [["x", 1.0]])
    html = render_page("t", [Section("s", "S", ["By [held-out](?) [nonsense](?).", table])])
    assert f'title="{TERMS["held-out"]}" data-term="held-out">held-out</abbr>' in html
    assert f'title="{TERMS["macro-F1"]}"' in html
    assert "[nonsense](?)" in html
    assert re.findall(r"<dt>(.*?)</dt>", html) == ["held-out", "macro-F1"]
    assert "Terms" not in render_page("t", [Section("s", "S", ["Nothing to explain."])])


def test_ids_are_checked_and_unique():
    one = Section("one", "One")
    for bad in ("one", "content", "", "1x", "a b", 'a"b'):
        with pytest.raises(ValueError, match=re.escape(repr(bad))):
            render_page("t", [one, Section(bad, "again")])
    twice = Picture(drawing(), "one", "", "", "")
    with pytest.raises(ValueError, match="used twice"):
        render_page("t", [Section("one", "One", [twice])])


def test_a_page_appears_whole_or_not_at_all(tmp_path):
    target = tmp_path / "page.html"
    write_text(target, "page")
    assert target.read_text(encoding="utf-8") == "page"
    with pytest.raises(DataError, match="nowhere"):
        write_text(tmp_path / "nowhere" / "page.html", "page")
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


# -- figures -----------------------------------------------------------------------------------


def test_figures_are_the_same_each_time_and_valid_xml():
    first, second = figure_svg(drawing()), figure_svg(drawing())
    assert first == second
    root = ET.fromstring(first)
    assert not root.findall(".//{*}metadata")
    assert "title" in "".join(root.itertext())  # fonts as text
    whole = ET.fromstring(figure_svg(drawing(), standalone=True))
    assert whole.get("width").endswith("pt")


def test_figures_of_one_page_share_no_ids_and_keep_their_references():
    both = [figure_svg(drawing(), name) for name in ("a", "b")]
    ids = [set(re.findall(r'\bid="([^"]+)"', svg)) for svg in both]
    assert not ids[0] & ids[1]
    for svg, known in zip(both, ids, strict=True):
        used = set(re.findall(r'(?:url\(#|href="#)([^")]+)', svg))
        assert used
        assert used <= known


def test_figures_take_the_colours_of_the_page():
    svg = figure_svg(drawing())
    assert "#000000" not in svg
    assert "#ffffff" not in svg
    assert "#ffffff" in figure_svg(drawing(), standalone=True)
