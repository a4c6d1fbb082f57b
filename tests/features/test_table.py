"""Tables as people have them: mixed kinds, tails, gaps, dates, from any library."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import norm, rankdata
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from grople.baselines import Ridge
from grople.errors import DataError
from grople.features import TableColumns, TableFeatures
from grople.io import read_model, save_model

RNG = np.random.default_rng(0)


def features_of(table, **settings):
    features = TableFeatures(**settings)
    rows = features.fit_transform(table)
    return dict(zip(features.get_feature_names_out(), rows.T, strict=True))


def test_numbers_are_of_like_size_whatever_their_unit():
    values = RNG.normal(size=1000)
    rows = features_of({"metres": 3 + values, "inches": 1e6 * values})
    for column in rows.values():
        assert np.median(column) == pytest.approx(0, abs=1e-9)
        assert np.subtract(*np.quantile(column, [0.75, 0.25])) == pytest.approx(1.349)
        np.testing.assert_allclose(np.corrcoef(column, values)[0, 1], 1)
    np.testing.assert_allclose(rows["metres"], rows["inches"], atol=1e-6)


def test_what_lies_far_out_is_cut_off():
    values = np.append(RNG.standard_t(2, size=1000), [1e9, -np.inf])
    column = features_of({"x": values})["x"]
    assert column[-2:].tolist() == [4.0, -4.0]
    near = np.abs(values) < 3
    np.testing.assert_allclose(np.corrcoef(column[near], values[near])[0, 1], 1)


def test_of_columns_mostly_of_one_value_the_ranks_count():
    values = np.where(RNG.random(5000) < 0.1, np.exp(3 * RNG.normal(size=5000)), 0)
    column = features_of({"x": values})["x"]
    expected = norm.ppf((rankdata(values) - 0.5) / len(values))
    assert np.quantile(np.abs(column - expected), 0.99) < 0.1
    assert (np.diff(column[np.argsort(values)]) >= 0).all()


def test_constants_and_empty_columns_are_left_out():
    table = {
        "same": [3] * 4, "word": ["a"] * 4, "none": [None] * 4, "nan": [np.nan] * 4,
        "each": ["a", "b", "c", "d"], "two": [7, 7, 9, 9], "yes": [True, False, True, True],
    }  # fmt: skip
    found = features_of(table)
    assert {name: column.tolist() for name, column in found.items()} == {
        "two": [0, 0, 1, 1], "yes": [1, 0, 1, 1],
    }  # fmt: skip


def test_missing_values_are_in_the_middle_and_say_so():
    found = features_of(
        {"x": [1.0, None, 2.0, 9.0], "c": ["a", "a", None, "?"], "k": [5, None, 5, 5]}
    )
    assert found["x"][1] == 0
    assert found["x missing"].tolist() == [0, 1, 0, 0]
    assert found["c=a"].tolist() == [1, 1, 0, 0]
    assert found["c missing"].tolist() == [0, 0, 1, 1]
    assert found["k missing"].tolist() == [0, 1, 0, 0]


def test_categories_by_frequency_and_strangers_are_none():
    cities = ["Bonn"] * 5 + ["Ulm"] * 4 + ["Rom"] * 3 + ["Oslo"]
    features = TableFeatures(max_values=3).fit({"city": cities})
    assert features.get_feature_names_out().tolist() == ["city=Bonn", "city=Rom", "city=Ulm"]
    assert features.transform({"city": ["Rom", "Paris", None]}).tolist() == [
        [0, 1, 0],
        [0] * 3,
        [0] * 3,
    ]
    assert TableFeatures(max_values=2).fit({"city": cities}).get_feature_names_out().tolist() == [
        "city=Bonn", "city=Ulm",
    ]  # fmt: skip


def test_dates_and_their_parts():
    days = [datetime.date(2024, 2, 29), datetime.date(2023, 12, 31), datetime.date(2024, 3, 3)]
    names = set(features_of({"d": days}, min_rows=1))
    assert {"d month=02", "d month=03", "d month=12", "d weekday=Sunday", "d year"} <= names
    assert "d hour" not in names
    texts = [f"{day}T12:30:00+02:00" for day in days]
    found = features_of({"d": texts}, min_rows=1)
    for day, *row in zip(
        days, found["d weekday=Sunday"], found["d year"], found["d days"], strict=True
    ):
        assert row[0] == (day.weekday() == 6)
        assert row[1] == day.year - 2023
    order = np.argsort(days)
    assert (np.diff(found["d days"][order]) > 0).all()
    assert features_of({"d": [*days, None]})["d year missing"].tolist() == [0, 0, 0, 1]


def frames():
    return {
        "n": [1, None, 3, 5], "x": [0.5, 1.5, None, 2.0], "b": [True, None, False, True],
        "s": ["u", "v", None, "u"], "d": [datetime.date(2024, 1, 1 + i) for i in range(4)],
    }  # fmt: skip


def as_pandas(table):
    frame = pd.DataFrame(table)
    return frame.astype({"n": "Int64", "b": "boolean", "s": "category"}).assign(
        d=pd.to_datetime(frame["d"])
    )


def as_polars(table):
    polars = pytest.importorskip("polars")
    return polars.DataFrame(table).with_columns(polars.col("s").cast(polars.Categorical))


def as_arrow(table):
    pyarrow = pytest.importorskip("pyarrow")
    arrow = pyarrow.table(table)
    return arrow.set_column(3, "s", arrow["s"].dictionary_encode())


def as_texts(table):
    return {name: [None if v is None else str(v) for v in cells] for name, cells in table.items()}


@pytest.mark.parametrize("kind", [as_pandas, as_polars, as_arrow, as_texts])
def test_every_library_gives_the_same_features(kind):
    expected = TableFeatures(min_rows=1).fit(frames())
    table = kind(frames())
    features = TableFeatures(min_rows=1).fit(table)
    names = list(features.get_feature_names_out())
    assert names[:5] == ["n", "n missing", "x", "x missing", "b"] or kind is as_texts
    if kind is as_texts:  # "True" is a word there
        numbers = [name for name in names if not name.startswith("b")]
        assert numbers == [n for n in expected.get_feature_names_out() if not n.startswith("b")]
        return
    assert names == expected.get_feature_names_out().tolist()
    np.testing.assert_array_equal(features.transform(table), expected.transform(frames()))
    np.testing.assert_array_equal(expected.transform(table), expected.transform(frames()))


def test_categories_that_are_numbers_are_categories():
    zone = pd.DataFrame({"zone": pd.Categorical([1, 2, 2, 1, None])})
    assert TableFeatures().fit(zone).get_feature_names_out().tolist() == [
        "zone=1", "zone=2", "zone missing",
    ]  # fmt: skip
    assert TableFeatures().fit({"zone": [1, 2, 2, 1]}).get_feature_names_out().tolist() == ["zone"]


def test_columns_are_found_by_name_and_rows_do_not_depend_on_their_company():
    table = pd.DataFrame({"a": RNG.normal(size=50), "c": RNG.choice(list("xyz"), 50), "unused": 0})
    features = TableFeatures().fit(table)
    rows = features.transform(table)
    np.testing.assert_array_equal(features.transform(table[["c", "a"]]), rows)
    alone = [features.transform(table.iloc[[i]])[0] for i in range(50)]
    np.testing.assert_array_equal(alone, rows)
    order = RNG.permutation(50)
    shuffled = TableFeatures().fit(table.iloc[order])
    np.testing.assert_array_equal(shuffled.transform(table), rows)


def test_mostly_categories_are_sparse():
    table = {f"c{i}": RNG.choice([f"v{j}" for j in range(30)], 300) for i in range(5)}
    rows = TableFeatures().fit_transform(table)
    assert sp.issparse(rows)
    assert rows.sum() == 5 * 300


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"a": [1.0], "c": ["x"]}, "no column 'b'.*there are 'a', 'c'"),
        ({"a": [1.0], "b": ["many"]}, "column 'b', row 1: 'many' is no number"),
        ({"a": [1.0], "b": [1.0, 2.0]}, "not equally long"),
        (np.zeros(3), "1 dimensions"),
        ("a table", "expected a table"),
    ],
)
def test_tables_that_do_not_fit_say_why(table, message):
    features = TableFeatures().fit({"a": [1.0, 2.0, 3.0], "b": [1, 5, 2]})
    with pytest.raises(DataError, match=message):
        features.transform(table)


def test_settings_are_checked():
    with pytest.raises(ValueError, match="max_values must be"):
        TableFeatures(max_values=0).fit({"a": [1, 2]})


def test_a_pipeline_and_a_model_file(tmp_path):
    n = 120
    table = pd.DataFrame(
        {
            "x": RNG.normal(size=n),
            "city": RNG.choice(["Bonn", "Ulm"], n),
            "gap": RNG.choice([1, np.nan, 3], n),
        }
    )
    Y = np.column_stack([table["x"] > 0, table["city"] == "Ulm", table["gap"].isna()]).astype(int)
    pipeline = make_pipeline(TableFeatures(), Ridge(0.1, decision="micro_f1")).fit(table, Y)
    assert (pipeline.predict(table) == Y).mean() > 0.95
    assert clone(pipeline[0]).get_params() == pipeline[0].get_params()
    save_model(tmp_path / "m", pipeline[-1], features=pipeline[0].table_)
    saved = read_model(tmp_path / "m").features
    assert isinstance(saved, TableColumns)
    np.testing.assert_array_equal(saved.transform(table), pipeline[0].transform(table))
