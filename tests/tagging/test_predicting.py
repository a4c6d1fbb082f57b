"""Tags, why, and how they are written."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
import scipy.sparse as sp

from grople.baselines import BSVM, MLSF, Ridge, make_method
from grople.datasets import Records, make_grouped_multilabel, read
from grople.estimators import GroPLE
from grople.tagging import (
    Explainer,
    Selection,
    output,
    select_labels,
    tag_records,
    write_tags,
)


@pytest.fixture(scope="module")
def data():
    return make_grouped_multilabel(300, 20, 12, n_groups=3, random_state=0)


@pytest.fixture(scope="module")
def model(data):
    return GroPLE(5, 3, random_state=0).fit(data.X, data.Y)


def chosen(model, X, **selection):
    columns, chances = select_labels(model, X, Selection.of(**selection))
    for own, shown in zip(columns, chances, strict=True):
        assert list(shown) == sorted(shown, reverse=True)
        assert len(set(own.tolist())) == len(own)
    return [set(own.tolist()) for own in columns]


def test_labels_are_those_that_the_model_gives(model, data):
    expected = [set(row.nonzero()[0].tolist()) for row in model.predict(data.X).toarray()]
    assert chosen(model, data.X) == expected


def test_a_number_or_a_threshold_replaces_the_decision(model, data):
    X = data.X[:50]
    chances = model.predict_proba(X)
    assert chosen(model, X, threshold=0.4) == [set(np.flatnonzero(row >= 0.4)) for row in chances]
    for own, row in zip(chosen(model, X, top_k=3), chances, strict=True):
        assert len(own) == 3
        assert sorted(row[list(own)]) == sorted(np.sort(row)[-3:])
    both = chosen(model, X, top_k=2, threshold=0.4)
    for own, row in zip(both, chances, strict=True):
        assert len(own) == min(2, int((row >= 0.4).sum()))
    cut = chosen(model, X, top_k=1, decision="example_f1")
    decided = chosen(model, X)
    assert all(one <= every and len(one) == 1 for one, every in zip(cut, decided, strict=True))


@pytest.mark.parametrize(("field", "value"), [("top_k", 0), ("threshold", 1.5)])
def test_a_selection_that_makes_no_sense_is_refused(field, value):
    with pytest.raises(ValueError, match=r"top-k|threshold"):
        Selection.of(**{field: value})


def test_classes_are_labels_too(data):
    y = np.array(["red", "green", "blue"])[np.asarray(sp.csr_array(data.Y).toarray()).sum(1) % 3]
    model = Ridge(1.0).fit(data.X, y)
    columns, _ = select_labels(model, data.X[:20], Selection())
    given = [model.classes_[own].tolist() for own in columns]
    assert given == [[label] for label in model.predict(data.X[:20])]
    two = Ridge(1.0).fit(data.X, y == "red")
    with pytest.raises(ValueError, match="two classes"):
        Explainer(two, data.feature_names, ["no", "yes"])


def test_blocks_do_not_matter(model, data):
    def tagged(blocks):
        return [row for block in tag_records(model, blocks) for row in block]

    parts = [Records(data.X[:7]), Records(data.X[7:8]), Records(data.X[8:60])]
    together, apart = tagged([Records(data.X[:60])]), tagged(parts)
    assert [row.row for row in apart] == list(range(1, 61))
    for one, other in zip(together, apart, strict=True):
        assert [tag.label for tag in one.tags] == [tag.label for tag in other.tags]
        assert [t.probability for t in one.tags] == [t.probability for t in other.tags]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "estimator",
    [
        GroPLE(5, 3, experts=["linear"]),
        Ridge(1.0),
        BSVM(decision="sign"),
    ],
)
def test_shares_add_up_to_the_score(estimator, data, sparse):
    X = sp.csr_array(data.X) if sparse else np.asarray(sp.csr_array(data.X).toarray())
    fitted = estimator.fit(X[:200], data.Y[:200])
    explainer = Explainer(fitted, data.feature_names, data.label_names, n_features=4, n_labels=2)
    scores = fitted.decision_function(X[200:210])
    assert explainer.is_exact
    for row in range(10):
        for why in explainer.explain(X[[200 + row]], range(12)):
            score = scores[row, data.label_names.index(why.label)]
            assert len(why.features) <= 4
            assert len(why.co_labels) <= 2
            by_feature = why.base + sum(s for _, s in why.features) + why.other_features
            by_label = why.base + why.own + sum(s for _, s in why.co_labels) + why.other_labels
            # Sums of a few dozen terms of order one, in another order.
            assert by_feature == pytest.approx(score, abs=1e-10)
            assert by_label == pytest.approx(score, abs=1e-10)
            assert why.score == pytest.approx(score, abs=1e-10)


def test_shares_of_joined_experts_are_what_leaving_out_changes(data):
    X = sp.csr_array(data.X)
    fitted = GroPLE(5, 3, random_state=0).fit(X[:200], data.Y[:200])
    assert any(expert["weight"] > 0 for expert in fitted.selection_[1:])
    explainer = Explainer(fitted, data.feature_names, data.label_names, n_features=99)
    row = X[[205]]
    scores = fitted.decision_function(row)[0]
    empty = fitted.decision_function(sp.csr_array(row.shape))[0]
    for label, why in enumerate(explainer.explain(row, range(12))):
        assert not why.exact
        assert (why.score, why.base) == (scores[label], empty[label])
        shares = dict(why.features)
        for j in row.indices:
            without = row.toarray()
            without[0, j] = 0.0
            change = scores[label] - fitted.decision_function(sp.csr_array(without))[0, label]
            assert shares.get(data.feature_names[j], 0.0) == pytest.approx(change, abs=1e-12)


def test_shares_are_those_of_the_coefficients(data):
    model = GroPLE(5, 3, experts=["linear"]).fit(data.X, data.Y)
    x = sp.csr_array(data.X[[5]])
    [why] = Explainer(model, data.feature_names, data.label_names, n_features=99).explain(x, [4])
    expected = {
        data.feature_names[j]: x[0, j] * model.coef_[4, j] for j in range(20) if x[0, j] != 0
    }
    assert dict(why.features) == pytest.approx(expected, abs=1e-10)


def test_a_label_that_shares_no_dimension_takes_nothing_from_others():
    """Two blocks of labels that never meet, with dimensions of their own."""
    rng = np.random.default_rng(0)
    half = rng.random((200, 1)) < 0.5
    left, right = rng.random((200, 3)) < 0.6, rng.random((200, 3)) < 0.6
    Y = np.hstack([left & half, right & ~half]).astype(int)
    X = Y + 0.1 * rng.normal(size=Y.shape)
    fitted = GroPLE(6, 2, lambda_2=0.0, random_state=0).fit(X, Y)
    [why] = Explainer(fitted, list("abcdef"), list("uvwxyz"), n_labels=9).explain(X[:1], [0])
    # Six dimensions for six labels: every label's evidence is its own.
    assert why.own == pytest.approx(why.score - why.base, abs=1e-8)
    assert all(abs(share) < 1e-8 for _, share in why.co_labels)


def test_other_classifiers_are_not_explained(data):
    other = make_method("extratrees", "sign", estimator__n_estimators=3, cv=None)
    with pytest.raises(ValueError, match="not linear"):
        Explainer(other.fit(data.X, data.Y), data.feature_names, data.label_names)


def test_chains_of_labels_are_explained_by_leaving_out(data):
    fitted = MLSF(decision="sign", random_state=0).fit(data.X, data.Y)
    explainer = Explainer(fitted, data.feature_names, data.label_names)
    [why] = explainer.explain(sp.csr_array(data.X[[5]]), [4])
    assert not why.exact
    assert why.score == fitted.decision_function(data.X[[5]])[0, 4]


def written(model, data, format, names=None, **options):
    stream = io.BytesIO()
    blocks = [Records(data.X[:5], names and names[:5]), Records(data.X[5:9], names and names[5:])]
    tagged = tag_records(model, blocks, **options)
    rows = write_tags(tagged, stream, format, list(map(str, model.classes_)))
    assert rows == 9
    return stream.getvalue().decode()


def test_every_format_says_the_same(model, data, tmp_path):
    names = [f"naïve, row {i}" for i in range(9)]
    objects = [json.loads(line) for line in written(model, data, "jsonl", names).splitlines()]
    assert [entry["id"] for entry in objects] == names
    assert [entry["row"] for entry in objects] == list(range(1, 10))
    table = list(csv.DictReader(io.StringIO(written(model, data, "csv", names))))
    head, *lines = written(model, data, "extreme").splitlines()
    assert head == "9 12"
    for entry, cells, line in zip(objects, table, lines, strict=True):
        labels = {tag["label"]: tag["probability"] for tag in entry["labels"]}
        chances = [float(p) for p in cells["probabilities"].split(";") if p]
        assert dict(zip(filter(None, cells["labels"].split(";")), chances, strict=True)) == labels
        pairs = dict(pair.split(":") for pair in line.split())
        assert {str(int(k)): float(v) for k, v in pairs.items()} == {
            str(list(map(str, model.classes_)).index(k)): v for k, v in labels.items()
        }
    file = tmp_path / "back.csv"
    file.write_text(written(model, data, "csv"))
    back = read(file, labels="labels", ignore=["probabilities"])
    marks = model.predict(data.X[:9]).toarray()
    order = [int(label) for label in back.label_names]
    assert np.array_equal(back.Y.toarray(), marks[:, order])


def test_a_table_keeps_its_columns_where_names_come_and_go(model, data):
    blocks = [Records(data.X[:2], ["a", "b"]), Records(data.X[2:3])]
    stream = io.BytesIO()
    write_tags(tag_records(model, blocks), stream, "csv", list(map(str, model.classes_)))
    rows = list(csv.DictReader(io.StringIO(stream.getvalue().decode())))
    assert [row["id"] for row in rows] == ["a", "b", ""]
    assert None not in rows[2]


def test_a_table_cannot_hold_its_own_separator(tmp_path):
    with pytest.raises(ValueError, match="JSON lines"):
        write_tags([], io.BytesIO(), "csv", ["a;b"])


def test_output_appears_whole_or_not_at_all(tmp_path):
    target = tmp_path / "out"

    def half_written():
        with output(target, io.BytesIO()) as stream:
            stream.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half_written()
    assert list(tmp_path.iterdir()) == []
    with output(target, io.BytesIO()) as stream:
        stream.write(b"whole")
    assert target.read_bytes() == b"whole"


def test_a_device_is_written_to_not_replaced():
    from pathlib import Path

    for device in ("/dev/null", "/dev/full"):
        if not Path(device).is_char_device():
            pytest.skip(f"no {device} here")
    with output("/dev/null", io.BytesIO()) as stream:
        stream.write(b"gone")
    assert Path("/dev/null").is_char_device()
    with (
        pytest.raises(ValueError, match="/dev/full: cannot be written"),
        output("/dev/full", io.BytesIO()) as stream,
    ):
        stream.write(b"too much")
    assert Path("/dev/full").is_char_device()
