"""Feature maps with interaction features: what the transformer finds, after words or columns."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from grople.baselines import Ridge
from grople.errors import DataError, ModelFileError
from grople.features import (
    FeaturesWithInteractions,
    InteractionFeatures,
    fit_text,
    plain_columns,
    with_interactions,
    without_interactions,
)
from grople.io import read_model, save_model


def test_words_and_then_what_the_transformer_finds():
    texts = ["sea of java", "java sea", "java code", "code of java"]
    words, X = fit_text(texts, min_df=1)
    features, rows = with_interactions(words, X)
    transformer = InteractionFeatures().fit(X)
    assert features.names.tolist() == transformer.get_feature_names_out(words.names).tolist()
    for found in (rows, features.transform(texts)):
        assert (found != transformer.transform(X)).nnz == 0
    assert features.texts
    assert without_interactions(features) is without_interactions(words) is words


def test_columns_and_then_their_pairs():
    numbers = np.array([[3.0, 4.0, 0.0], [1.0, 1.0, 0.0], [0.0, 2.0, 1.0]])
    columns = plain_columns(["a", "b", "c"], unit_rows=True)
    features, rows = with_interactions(columns, columns.transform(numbers), weight=1.0)
    assert features.names.tolist() == ["a", "b", "c", "a & b"]
    assert not features.texts
    # One pair, so it is as long as the row, which has unit length.
    assert rows.toarray()[0].tolist() == pytest.approx([0.6, 0.8, 0.0, 1.0])
    np.testing.assert_array_equal(features.transform(numbers).toarray(), rows.toarray())
    np.testing.assert_array_equal(
        features.transform(sp.csr_array(numbers)).toarray(), rows.toarray()
    )


def test_features_must_be_amounts():
    columns = plain_columns(["a", "b"])
    with pytest.raises(DataError, match="negative"):
        with_interactions(columns, np.array([[1.0, -1.0]]))
    features, _ = with_interactions(columns, np.ones((2, 2)))
    with pytest.raises(DataError, match="negative"):
        features.transform(np.array([[1.0, -1.0]]))


def test_options_are_checked():
    with pytest.raises(ValueError, match="max_pairs must be"):
        with_interactions(plain_columns(["a", "b"]), np.ones((2, 2)), max_pairs=0)


def test_rows_with_nearly_all_features_are_worth_a_warning():
    many = plain_columns([f"c{i}" for i in range(30)])
    with pytest.warns(UserWarning, match="nearly all"):
        with_interactions(many, np.ones((5, 30)))


def test_pairs_are_counted_without_being_named():
    features, _ = with_interactions(plain_columns(["a", "b"]), np.ones((2, 2)))
    assert len(features) == 3
    assert "names" not in vars(features)


def test_pairs_of_other_features_are_refused():
    features, _ = with_interactions(plain_columns(["a", "b"]), np.ones((2, 2)))
    with pytest.raises(ValueError, match="other features"):
        FeaturesWithInteractions(plain_columns(["a", "b", "c"]), features.table)


def test_they_are_stored_with_a_model(tmp_path):
    X = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 1.0, 3.0]])
    features, rows = with_interactions(plain_columns(["a", "b", "c"]), X)
    model = Ridge(1.0, decision="sign").fit(rows, np.eye(3, 2, dtype=int))
    save_model(tmp_path / "m", model, features=features)
    saved = read_model(tmp_path / "m").features
    assert saved.names.tolist() == features.names.tolist()
    assert (saved.transform(X) != rows).nnz == 0


@pytest.mark.parametrize("change", ["single", "table"])
def test_a_file_with_something_else_in_their_place_is_refused(tmp_path, change):
    X = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 1.0, 3.0]])
    features, rows = with_interactions(plain_columns(["a", "b", "c"]), X)
    object.__setattr__(features, change, features.table if change == "single" else None)
    model = Ridge(1.0, decision="sign").fit(rows, np.eye(3, 2, dtype=int))
    save_model(tmp_path / "m", model, features=features)
    with pytest.raises(ModelFileError, match=f"'{change}' of its FeaturesWithInteractions"):
        read_model(tmp_path / "m")
