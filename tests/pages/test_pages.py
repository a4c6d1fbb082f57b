"""Pages are self-contained, harmless and well-formed; tables survive the way into files."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from grople.errors import DataError
from grople.pages import Cell, Page, Table, figure_svg
from grople.pages.markup import inline, json_island, paragraphs

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a&b", "</style>", "]]>"]
VOID = {"meta", "input", "br", "img", "link", "hr"}


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


def full_page(words):
    page = Page(words[0], words[1], footer=words[2])
    for i, word in enumerate(words):
        section = page.section(f"s{i}", word, word)
        section.text(word).heading(word).facts([(word, word, word)])
        section.table(Table([word, word], [[word, Cell(1.0, word, title=word)]], word, word, True))
        section.details(word).text(word)
        section.columns().text(word).text(word)
    return page


def test_a_page_is_well_formed_accessible_and_needs_nothing_from_outside():
    page = Page("Title", "sub")
    page.section("one", "First").figure(drawing(), "picture", "Caption", "Described")
    page.section("two", "Second").table(Table(["a", "b"], [["x", 1]], "All", search=True))
    html = page.render()
    outline = Outline(html)
    ids = [a["id"] for _, a in outline.elements if a.get("id")]
    assert len(ids) == len(set(ids))
    for tag in ("header", "nav", "main", "h1"):
        assert len(outline.named(tag)) == 1
    assert [a["href"] for a in outline.named("a")] == ["#content", "#one", "#two"]
    assert all(a.get("scope") in ("col", "row") for a in outline.named("th"))
    assert {"Described"} == {a["aria-label"] for _, a in outline.elements if a.get("role") == "img"}
    assert all(a.get("aria-label") for a in outline.named("input"))
    assert not outline.named("link")
    assert not [a for a in outline.named("script") if "src" in a]
    addresses = [
        v for _, a in outline.elements for k, v in a.items() if k.endswith(("href", "src"))
    ]
    assert all(value.startswith(("#", "data:")) for value in addresses)
    assert not re.search(r"@import|url\((?!#)", html)


def test_whatever_words_come_in_only_words_come_out():
    plain = Outline(full_page(["word"] * len(HOSTILE)).render())
    hostile = Outline(full_page(HOSTILE).render())
    assert [tag for tag, _ in hostile.elements] == [tag for tag, _ in plain.elements]
    assert not [k for _, a in hostile.elements for k in a if k.startswith("on")]
    text = "".join(hostile.texts)
    assert all(word in text for word in HOSTILE)


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=40))
def test_any_text_stays_text(text):
    page = Page(text, text)
    page.section("s", text, text).table(Table([text], [[text]], text, text)).facts([(text,) * 3])
    page.data("d", {text: [text]})
    outline = Outline(page.render())
    allowed = {"strong", "code", "ul", "li", "p", "a"}
    reference = Page("x", "x")
    reference.section("s", "x", "x").table(Table(["x"], [["x"]], "x", "x")).facts([("x",) * 3])
    reference.data("d", {"x": ["x"]})
    expected = {tag for tag, _ in Outline(reference.render()).elements}
    assert {tag for tag, _ in outline.elements} <= expected | allowed
    page.render().encode("utf-8")


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    )
)
def test_data_come_back_from_the_page(value):
    island = json_island("d", value)
    content = island.removeprefix('<script type="application/json" id="d">').removesuffix(
        "</script>"
    )
    assert not set("<>&") & set(content)
    assert json.loads(content) == value


def test_markup_is_understood_and_code_is_left_alone():
    assert inline("`**x**` **`y`**").startswith("<code>**x**</code>")
    assert inline("[x](javascript:alert)") == "[x](javascript:alert)"
    assert paragraphs("a\nb\n\n- c") == "<p>a b</p>\n<ul><li>c</li></ul>"


def test_ids_are_checked_and_unique():
    page = Page("t")
    page.section("one", "One")
    for bad in ("one", "content", "", "1x", "a b", 'a"b'):
        with pytest.raises(ValueError, match=re.escape(repr(bad))):
            page.section(bad, "again")
    with pytest.raises(ValueError, match="</script"):
        page.script("x = '</SCRIPT>'")


def test_a_page_appears_whole_or_not_at_all(tmp_path):
    target = tmp_path / "page.html"
    page = Page("t")
    page.write(target)
    assert target.read_text(encoding="utf-8") == page.render()
    with pytest.raises(DataError, match="nowhere"):
        page.write(tmp_path / "nowhere" / "page.html")
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


# -- tables ------------------------------------------------------------------------------------

CELLS = st.none() | st.integers() | st.floats(allow_infinity=False) | st.text(
    st.characters(blacklist_categories=("Cs", "Cc")), min_size=1
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS), max_size=5))
def test_csv_keeps_every_value(rows):
    read = list(csv.reader(io.StringIO(Table(["a", "b"], rows).csv())))
    assert read[0] == ["a", "b"]
    for got, row in zip(read[1:], rows, strict=True):
        for text, value in zip(got, row, strict=True):
            if value is None or value != value:
                assert text == ""
            elif isinstance(value, str):
                assert text == value
            else:
                assert type(value)(text) == value


def test_tables_are_written_to_files(tmp_path):
    table = Table(["m_1", "50%"], [["a&b", Cell(0.5, "0.50 ± 0.01", emphasis="bold")]])
    table.to_csv(tmp_path / "t.csv")
    table.to_latex(tmp_path / "t.tex")
    assert (tmp_path / "t.csv").read_text() == "m_1,50%\na&b,0.5\n"
    latex = (tmp_path / "t.tex").read_text()
    assert r"m\_1 & 50\% \\" in latex
    assert r"a\&b & \textbf{0.50 $\pm$ 0.01} \\" in latex


def test_cells_sort_by_value_whatever_they_show():
    table = Table(["name", "value"], [["x", Cell(0.25, "a quarter", shade=-0.5)], ["y", None]])
    cells = Outline(table.html()).named("td")
    assert cells[0]["data-value"] == "0.25"
    assert cells[0]["class"] == "number worse"
    assert cells[0]["style"] == "--shade:0.500"
    assert "data-value" not in cells[1]


def test_a_ragged_table_is_refused():
    with pytest.raises(ValueError, match="row 1 has 1 cells, the table 2 columns"):
        Table(["a", "b"], [[1, 2], [1]])
    with pytest.raises(ValueError, match="emphasis"):
        Cell(1, emphasis="loud")
