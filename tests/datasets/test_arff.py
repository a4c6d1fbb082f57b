"""ARFF: what is understood, what is refused and where, against liac-arff."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import arff as liac
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grople.datasets import Bundle, read, write
from grople.datasets._formats import _arff_rows
from grople.datasets._formats._arff_header import quote, read_header, unquote
from grople.datasets._formats._arff_values import domains_of
from grople.errors import DataError
from tests.datasets.samples import DENSE_ARFF, LABELS_XML, SPARSE_ARFF, dense, finite, names

quick = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def arff(tmp_path: Path) -> Any:
    """Write a file and read it."""

    def read_content(content: bytes | str, **options: Any) -> Bundle:
        file = tmp_path / "x.arff"
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return read(file, format="arff", **options)

    return read_content


class TestWhatIsUnderstood:
    def test_dense(self, arff: Any) -> None:
        bundle = arff(DENSE_ARFF)
        assert bundle.label_names == ("first", "second one")
        assert bundle.feature_names == ("x", "colour=red", "colour=green", "colour=light blue")
        assert dense(bundle.X).tolist() == [[1.5, 1, 0, 0], [-2000, 0, 0, 1]]
        assert bundle.Y.toarray().tolist() == [[0, 1], [1, 0]]
        assert bundle.X.dtype == np.float64

    def test_sparse(self, arff: Any) -> None:
        bundle = arff(SPARSE_ARFF)
        assert bundle.label_names == ("good",)
        assert bundle.feature_names == ("x", "y", "z")
        assert sp.issparse(bundle.X)
        assert bundle.X.toarray().tolist() == [[1.5, 0, 0], [0, 0, 0], [0, 1, 4]]
        assert bundle.Y.toarray().tolist() == [[1], [0], [0]]

    @pytest.mark.parametrize("content", [DENSE_ARFF, SPARSE_ARFF])
    def test_line_ends_byte_order_mark_and_no_last_newline(self, arff: Any, content: bytes) -> None:
        expected = arff(content)
        variants = (
            content.replace(b"\n", b"\r\n"),
            b"\xef\xbb\xbf" + content,
            content.rstrip(),
            content + b"\n\n% the end\n",
            content.replace(b"@attribute", b"@ATTRIBUTE").replace(b"@data", b"@Data"),
        )
        for variant in variants:
            bundle = arff(variant)
            assert np.array_equal(dense(bundle.X), dense(expected.X))
            assert (bundle.Y != expected.Y).nnz == 0
            assert bundle.feature_names == expected.feature_names

    def test_comments_after_values(self, arff: Any) -> None:
        text = "@relation x\n@attribute a {0,1} % label\n@attribute b real % feature\n@data\n"
        bundle = arff(text + "1,2 % a comment, with a comma\n{0 1,1 3} % and\n", labels=["a"])
        assert dense(bundle.X).tolist() == [[2], [3]]

    def test_dense_and_sparse_rows_may_be_mixed(self, arff: Any) -> None:
        header = "@relation 'x: -C 1'\n@attribute a {0,1}\n@attribute b real\n@attribute c real\n"
        bundle = arff(header + "@data\n1,0,2\n{2 5}\n0,1,0\n")
        assert dense(bundle.X).tolist() == [[0, 2], [0, 5], [1, 0]]

    def test_odd_names(self, arff: Any) -> None:
        wanted = ["-", "0;", "l=10", "it's", '"hi"', "100%", "a,b", "{x}", "a b", "tab\there", "é"]
        lines = "".join(f"@attribute {quote(name)} numeric\n" for name in wanted)
        row = ",".join("1" for _ in wanted)
        bundle = arff(f"@relation x\n@attribute y {{0,1}}\n{lines}@data\n1,{row}\n", labels=["y"])
        assert list(bundle.feature_names) == wanted

    def test_bare_names_stand_for_themselves(self, arff: Any) -> None:
        header = "@relation x\n@attribute m\\'usica{0,1}\n@attribute y real\n"
        bundle = arff(header + "@data\n1,2\n", labels=1)
        assert bundle.label_names == ("m\\'usica",)

    def test_unicode_escapes(self) -> None:
        assert unquote(r"'\u00e9\ud83d\ude00'", "f", 1) == "é\N{GRINNING FACE}"
        with pytest.raises(DataError, match=r"line 7.*half a character"):
            unquote(r"'\ud83d'", "f", 7)

    @given(names)
    def test_quoting_round_trip(self, name: str) -> None:
        assert unquote(quote(name), "f", 1) == name
        assert "\n" not in quote(name)


class TestNominalValues:
    @pytest.mark.parametrize(
        ("values", "rows", "expected"),
        [
            ("{YES, NO}", ["YES", "NO"], [1, 0]),
            ("{NO,YES}", ["YES", "NO"], [1, 0]),
            ("{0,1}", ["1", "0"], [1, 0]),
            ("{1,0}", ["1", "0"], [1, 0]),
            ("{-1,1}", ["1", "-1"], [1, 0]),
            ("{2,1}", ["1", "2"], [0, 1]),
            ("{True,False}", ["True", "False"], [1, 0]),
            ("{f, m}", ["f", "m"], [0, 1]),
            ("{0}", ["0", "0"], [0, 0]),
            ("{1}", ["1", "1"], [1, 1]),
        ],
    )
    def test_two_values_become_one_column(
        self, arff: Any, values: str, rows: list[str], expected: list[int]
    ) -> None:
        text = f"@relation x\n@attribute y {{0,1}}\n@attribute a {values}\n@data\n"
        bundle = arff(text + "".join(f"1,{row}\n" for row in rows), labels=["y"])
        assert dense(bundle.X).ravel().tolist() == expected
        assert bundle.feature_names == ("a",)

    def test_unclear_pairs_are_noted(self, arff: Any) -> None:
        text = "@relation x\n@attribute y {0,1}\n@attribute sex {f,m}\n@data\n1,m\n"
        assert any("'sex'" in note for note in arff(text, labels=["y"]).notes)

    def test_a_sparse_row_leaves_out_the_first_value(self, arff: Any) -> None:
        text = (
            "@relation x\n@attribute y {0,1}\n@attribute a {YES,NO}\n@attribute b {r,g,b}\n@data\n"
            "{0 1}\n{1 NO,2 b}\n{1 YES,2 r}\n"
        )
        bundle = arff(text, labels=["y"])
        assert dense(bundle.X).tolist() == [[1, 1, 0, 0], [0, 0, 0, 1], [1, 1, 0, 0]]

    def test_three_values_become_columns_in_place(self, arff: Any) -> None:
        text = (
            "@relation x\n@attribute a real\n@attribute b {r,g,b}\n@attribute c real\n"
            "@attribute y {0,1}\n@data\n7,g,8,1\n5,r,6,0\n"
        )
        bundle = arff(text, labels=-1)
        assert bundle.feature_names == ("a", "b=r", "b=g", "b=b", "c")
        assert dense(bundle.X).tolist() == [[7, 0, 1, 0, 8], [5, 1, 0, 0, 6]]

    @pytest.mark.parametrize("kind", ["string", "nominal"])
    def test_identifiers_are_left_out_with_a_note(self, arff: Any, kind: str) -> None:
        keys = [f"P{i}" for i in range(12)]
        declared = "string" if kind == "string" else "{" + ",".join(keys) + "}"
        text = f"@relation x\n@attribute key {declared}\n@attribute a real\n@attribute y {{0,1}}\n"
        rows = "".join(f"{key},{i},1\n" for i, key in enumerate(keys))
        bundle = arff(f"{text}@data\n{rows}", labels=-1)
        assert bundle.feature_names == ("a",)
        assert any("'key'" in note and "left out" in note for note in bundle.notes)
        assert bundle.row_names == (tuple(keys) if kind == "nominal" else ())

    def test_a_category_used_twice_is_no_identifier(self, arff: Any) -> None:
        keys = [f"P{i}" for i in range(12)]
        text = f"@relation x\n@attribute key {{{','.join(keys)}}}\n@attribute y {{0,1}}\n@data\n"
        bundle = arff(text + "P1,1\nP2,0\nP1,0\n", labels=-1)
        assert bundle.n_features == 12
        assert arff(text + "P1,1\nP2,0\nP3,0\n", labels=-1).n_features == 12  # too few to tell

    def test_ignore(self, arff: Any) -> None:
        assert arff(DENSE_ARFF, ignore=["colour"]).feature_names == ("x",)
        with pytest.raises(DataError, match="no attribute 'nothing'"):
            arff(DENSE_ARFF, ignore=["nothing"])


class TestLabels:
    text = (
        "@relation {}\n@attribute a {{0,1}}\n@attribute b {{0,1}}\n@attribute c {{0,1}}\n"
        "@data\n1,0,1\n"
    )

    @pytest.mark.parametrize(
        ("relation", "expected"),
        [
            ("'x: -C 1'", ("a",)),
            ("'x: -C 2 -split-percentage 50'", ("a", "b")),
            ("'x: -C -2'", ("b", "c")),
            ("x: -C -1", ("c",)),
        ],
    )
    def test_meka(self, arff: Any, relation: str, expected: tuple[str, ...]) -> None:
        assert arff(self.text.format(relation)).label_names == expected

    def test_names_and_counts_given(self, arff: Any) -> None:
        assert arff(self.text.format("x"), labels=["c", "a"]).label_names == ("c", "a")
        assert arff(self.text.format("x"), labels=2).label_names == ("a", "b")
        assert arff(self.text.format("x"), labels=-2).label_names == ("b", "c")

    def test_header_given_or_found(self, arff: Any, tmp_path: Path) -> None:
        header = tmp_path / "other.xml"
        header.write_bytes(LABELS_XML)
        assert arff(DENSE_ARFF, labels=header).label_names == ("first", "second one")
        (tmp_path / "x.xml").write_bytes(b"<labels><label name='second one'/></labels>")
        # The header beside the file goes before -C, which filters may have made wrong.
        assert arff(DENSE_ARFF).label_names == ("second one",)

    @pytest.mark.parametrize("name", ["x-train.arff", "x-test.arff", "x_sparse.arff", "x.arff.gz"])
    def test_header_of_parts(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "x.xml").write_bytes(LABELS_XML)
        (tmp_path / name).write_bytes(DENSE_ARFF)
        assert read(tmp_path / name).n_labels == 2

    def test_a_numeric_label(self, arff: Any) -> None:
        text = "@relation x\n@attribute a numeric\n@attribute b real\n@data\n1.0,5\n0,6\n"
        assert arff(text, labels=["a"]).Y.toarray().tolist() == [[1], [0]]

    @pytest.mark.parametrize(
        ("labels", "reason"),
        [
            (4, "4 labels asked for"),
            (0, "0 labels asked for"),
            (["a", "zz"], "'zz' is not an attribute"),
            (["a", "b", "c"], "no features"),
            (None, "which attributes are labels"),
        ],
    )
    def test_refused(self, arff: Any, labels: Any, reason: str) -> None:
        with pytest.raises(DataError, match=reason):
            arff(self.text.format("x"), labels=labels)

    def test_label_of_the_header_that_is_not_there(self, arff: Any, tmp_path: Path) -> None:
        (tmp_path / "x.xml").write_bytes(LABELS_XML.replace(b"second", b"third"))
        with pytest.raises(DataError, match=r"x\.xml, line 4: label 'third one' is not") as caught:
            arff(DENSE_ARFF)
        assert caught.value.line == 4

    @pytest.mark.parametrize("kind", ["{a,b,c}", "string"])
    def test_a_label_must_be_binary(self, arff: Any, kind: str) -> None:
        with pytest.raises(DataError, match="line 2: label 'y'"):
            arff(f"@relation x\n@attribute y {kind}\n@attribute b real\n@data\na,1\n", labels=1)


HEAD = "@relation 'x: -C 1'\n@attribute y {0,1}\n@attribute a real\n@attribute b {r,g,b}\n@data\n"


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("rows", "line", "reason"),
        [
            ("1,2,r\n1,2\n", 7, "expected 3 columns, found 2"),
            ("1,2,r\n1,2,g,3\n", 7, "expected 3 columns, found 4"),
            ("1,2,r\n1,2,black\n", 7, "attribute 'b': unknown value 'black'"),
            ("2,2,r\n", 6, "attribute 'y': unknown value '2'"),
            ("1,two,r\n", 6, "'two' is not a number"),
            ("1,nan,r\n", 6, "'nan' is not a finite number"),
            ("1,-Infinity,r\n", 6, "not a finite number"),
            ("1,1e999,r\n", 6, "'1e999' is not a finite number"),
            ("1,1_000,r\n", 6, "'1_000' is not a number"),
            ("1,'5',r\n", 6, "'5' is not a number"),
            ("1,٣,r\n", 6, "is not a number"),
            ("1,2,r\n\n% note\n1,?,r\n", 9, r"attribute 'a' is missing \(\?\)"),
            ("1,,r\n", 6, "cannot read ',r'"),
            ("1,2,\n", 6, "ends where a value should be"),
            ("1,2,'r\n", 6, "cannot read"),
            ("{0 1}\n{0 1,3 1}\n", 7, "index 3 is out of range: 3 attributes"),
            ("{0 1}\n{0 1,1 4,1 5}\n", 7, "index 1 occurs twice"),
            ("{0 1}\n{0 1,1 4\n", 7, "truncated"),
            ("{0 1}\n{0 1,1}\n", 7, "cannot read '1}'"),
            ("{0 1}\n{0 1,,1 1}\n", 7, "cannot read"),
            ("{0 1}\n{0 1}x\n", 7, "cannot read 'x'"),
            ("{0 1}\n{1 1e400}\n", 7, "not a finite number"),
            ("{0 1}\n{0 01}\n", 7, "attribute 'y': unknown value '01'"),
            ("{0 1}\n{99999999999999999999999 1}\n", 7, "out of range"),
            ("{0 1}\n{-1 1}\n", 7, "cannot read"),
            ("5{ 2}\n", 6, "cannot read"),
            ("{5}\n{ 3}\n", 6, "cannot read"),
            ("", None, "no rows"),
        ],
    )
    def test_rows(self, arff: Any, rows: str, line: int | None, reason: str) -> None:
        with pytest.raises(DataError, match=reason) as caught:
            arff(HEAD + rows)
        assert caught.value.line == line
        assert caught.value.file.endswith("x.arff")

    def test_an_error_far_down_names_its_line(self, arff: Any) -> None:
        good = "{0 1,1 2}\n" * 300_000  # three blocks
        with pytest.raises(DataError, match="out of range") as caught:
            arff(HEAD + good + "{7 1}\n" + good)
        assert caught.value.line == 300_006

    @pytest.mark.parametrize(
        ("header", "line", "reason"),
        [
            ("@attribute a real\n@attribute a real\n@data\n", 2, "two columns are called 'a'"),
            ("@attribute a\n", 1, "unknown type ''"),
            ("@attribute a relational\n", 1, "unknown type 'relational'"),
            ("@attribute 'a real\n", 1, "cannot find the attribute's name"),
            ("@attribute a {r,r}\n", 1, "lists the value 'r' twice"),
            ("@attribute a {r,g\n", 1, "cannot read its values"),
            ("@attribute a {}\n", 1, "cannot read its values"),
            ("@attribute a {r} g\n", 1, "unexpected 'g'|unexpected ' g'"),
            ("@attribute a real\n", None, "no @data section"),
            ("@data\n", 1, "@data before any @attribute"),
            ("a,b,c\n", 1, "expected @relation"),
            ("", None, "no @data section"),
        ],
    )
    def test_headers(self, arff: Any, header: str, line: int | None, reason: str) -> None:
        with pytest.raises(DataError, match=reason) as caught:
            arff(header, labels=1)
        assert caught.value.line == line

    def test_wrong_encoding(self, arff: Any) -> None:
        text = "@relation x\n@attribute é {0,1}\n@attribute b real\n@data\n1,2\n"
        with pytest.raises(DataError, match=r"line 2: byte 0xe9 at position 12 .*Latin-1.*iconv"):
            arff(text.encode("latin-1"), labels=1)
        for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32"):
            assert arff(text.encode(encoding), labels=1).label_names == ("é",)
        with pytest.raises(DataError, match="UTF-16"):
            arff(text.encode("utf-16-le"), labels=1)


class TestMissingValues:
    rows = "1,?,r\n?,3,?\n"

    def test_zero(self, arff: Any) -> None:
        bundle = arff(HEAD + self.rows, missing="zero")
        assert dense(bundle.X).tolist() == [[0, 1, 0, 0], [3, 0, 0, 0]]
        assert bundle.Y.toarray().tolist() == [[1], [0]]

    def test_nan(self, arff: Any) -> None:
        bundle = arff(HEAD + "1,?,r\n1,3,?\n", missing="nan")
        assert np.isnan(dense(bundle.X)[0, 0])
        assert dense(bundle.X)[1].tolist() == [3, 0, 0, 0]
        with pytest.raises(DataError, match="line 7: label 'y' is missing"):
            arff(HEAD + self.rows, missing="nan")

    def test_sparse(self, arff: Any) -> None:
        bundle = arff(HEAD + "{0 1,1 ?}\n{1 2}\n", missing="nan")
        assert np.isnan(dense(bundle.X)[0, 0])
        assert sp.issparse(arff(HEAD + "{0 1,1 ?}\n{1 2}\n", missing="zero").X)


# Cells as they occur, with a few that do not fit; both paths must agree on all of them.
PLAIN = ["0", "1", "2", "9007199254740993", "1.5", "-3e2", "r"]
CELLS = [*PLAIN, "'r'", "?", "01", "1.0", "nan", "", " 1", "1_0", "1e999", "é"]
plain_row = st.lists(st.sampled_from(PLAIN), min_size=3, max_size=3).map(",".join)
dense_row = st.lists(st.sampled_from(CELLS), min_size=2, max_size=4).map(",".join)
pair = st.tuples(st.sampled_from("0123"), st.sampled_from(CELLS)).map(" ".join)
whole_pairs = st.lists(st.sampled_from(PLAIN[:4]), max_size=3).map(
    lambda cells: [f"{index} {cell}" for index, cell in enumerate(cells)]
)
braces = "{{{}}}".format
whole_row = whole_pairs.map(lambda pairs: braces(",".join(pairs)))
sparse_row = st.lists(pair, max_size=3).map(lambda pairs: braces(",".join(pairs)))
odd_row = st.text("{}, 01r%'\t", max_size=8)


@settings(quick, max_examples=300)
@given(
    rows=st.one_of(
        st.lists(plain_row, max_size=4),
        st.lists(whole_row, max_size=4),
        st.lists(dense_row, max_size=4),
        st.lists(sparse_row, max_size=4),
        st.lists(st.one_of(sparse_row, odd_row), max_size=4),
    ),
    label=st.sampled_from(["{0,1}", "numeric", "{1,0}"]),
    kind=st.sampled_from(["{r,g,b}", "{0,1,2}", "real", "{1,0}", "string"]),
)
def test_the_fast_path_agrees_with_the_precise_one(rows: list[str], label: str, kind: str) -> None:
    text = f"@attribute y {label}\n@attribute a real\n@attribute b {kind}\n@data\n"
    header, _, _ = read_header(iter([(1, text.encode())]), "f")
    domains = domains_of(header.attributes, {0}, {0, 1, 2})
    parser = _arff_rows.RowParser(header.attributes, domains, "f", "error")
    block = "".join(row + "\n" for row in rows).encode() or b"\n"

    read = 2 if kind == "string" else 3  # what stands in a column of text is nobody's concern

    def attempt(parse: Any) -> Any:
        try:
            return dense(parse(1, block))[:, :read].tolist()
        except DataError as error:
            return error.line, error.reason

    assert attempt(parser.parse) == attempt(parser._precise)


# liac-arff does not undo escapes in attribute names, so none of these needs one.
plain_names = st.text("abcé -/;=()01", min_size=1, max_size=6).filter(lambda n: n.strip() == n)


@quick
@given(
    data=st.data(),
    attributes=st.lists(
        st.tuples(plain_names, st.sampled_from(["REAL", ["0", "1"], ["NO", "YES"]])),
        min_size=2,
        max_size=5,
        unique_by=lambda pair: pair[0],
    ),
    sparse=st.booleans(),
)
def test_agrees_with_liac_arff(
    tmp_path: Path, data: Any, attributes: list[Any], sparse: bool
) -> None:
    """What liac-arff writes, both read the same."""
    attributes = [*attributes, ("the label", ["0", "1"])]
    cells = [finite if kind == "REAL" else st.sampled_from(kind) for _, kind in attributes]
    rows = data.draw(st.lists(st.tuples(*cells), min_size=1, max_size=4))
    if sparse:
        omitted = (0.0, "0", "NO")
        rows = [{i: v for i, v in enumerate(row) if v not in omitted} for row in rows]
    text = liac.dumps({"relation": "x", "attributes": attributes, "data": rows})
    file = tmp_path / "x.arff"
    file.write_bytes(text.encode())
    bundle = read(file, labels=["the label"])
    expected = liac_cells(text, sparse)
    assert list(bundle.feature_names) == [name for name, _ in attributes[:-1]]
    assert np.array_equal(dense(bundle.X), expected[:, :-1])
    assert np.array_equal(bundle.Y.toarray(), expected[:, -1:])


def liac_cells(text: str, sparse: bool) -> Any:
    """The rows as liac-arff reads them, words as 0 and 1."""
    document = liac.loads(text, return_type=liac.LOD if sparse else liac.DENSE)
    code = {"0": 0.0, "1": 1.0, "NO": 0.0, "YES": 1.0}
    cells = np.zeros((len(document["data"]), len(document["attributes"])))
    for index, row in enumerate(document["data"]):
        for column, value in row.items() if sparse else enumerate(row):
            cells[index, column] = code.get(value, value)
    return cells


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_liac_arff_reads_what_is_written(tmp_path: Path, layout: Any) -> None:
    X, Y = np.array([[0.1, 0, -3e-300], [0, 1, 0]]), np.array([[1, 0], [1, 1]])
    bundle = Bundle(layout(X), Y, feature_names=["a b", "c", "d,e"], label_names=["y", "ü"])
    file, _ = write(bundle, tmp_path / "x.arff")
    text = file.read_text(encoding="utf-8")
    assert [name for name, _ in liac.loads(text)["attributes"]] == ["a b", "c", "d,e", "y", "ü"]
    assert np.array_equal(liac_cells(text, layout is not np.asarray), np.hstack([X, Y]))


def test_a_sparse_file_is_never_made_dense(tmp_path: Path) -> None:
    width, n_rows = 20_000, 2_000
    header = "".join(f"@attribute a{i} numeric\n" for i in range(width))
    rows = "".join(f"{{0 1,{i + 1} 2.5,{width - 1} 3}}\n" for i in range(n_rows))
    file = tmp_path / "x.arff"
    file.write_text(f"@relation 'x: -C 1'\n{header}@data\n{rows}")
    tracemalloc.start()
    bundle = read(file)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert bundle.X.shape == (n_rows, width - 1)
    assert bundle.X.nnz == 2 * n_rows
    assert peak < 8 * width * n_rows / 5  # the dense matrix would take five times as much and more
