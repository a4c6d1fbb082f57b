"""Interaction features as a step of scikit-learn pipelines."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from grople.errors import Number, Parameter, Whole, check_parameters
from grople.features._interactions import find_interactions, interaction_names

__all__ = ["InteractionFeatures"]

PARAMETERS: dict[str, Parameter] = {
    "n_rarest": Whole(2),
    "min_rows": Whole(1),
    "weight": Number(),
    "max_pairs": Whole(1, words=("all",)),
}


class InteractionFeatures(TransformerMixin, BaseEstimator):
    """Append a feature for each pair of features that occurs together, to rows of amounts.

    Scores are linear in the features: a word adds the same in whichever company. With interaction
    features they tell "java" in a text on islands from "java" in one on compilers. That of the
    features a, b has the value √(x_a·x_b) in a row with both; those of a row are scaled together,
    to ``weight`` times the length of the row.

    Parameters
    ----------
    n_rarest : int, default=20
        Of each row, so many features form pairs: those that the fewest training rows have.
    min_rows : int, default=2
        Pairs that fewer training rows have are left out.
    weight : float, default=0.6
        Length of a row's interaction features in proportion to that of the row.
    max_pairs : int or "all", default=50000
        Of more pairs, those that the most training rows have are kept.

    Attributes
    ----------
    table_ : InteractionTable
        What was found: ``table_.pairs`` are the two features of each pair, in the order of the
        columns after the features, ``table_.rows_with`` the training rows that have each feature.
    n_features_in_ : int
        Features of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from grople.features import InteractionFeatures
    >>> words = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1.0]])
    >>> interactions = InteractionFeatures().fit(words)
    >>> interactions.get_feature_names_out(["java", "island", "sea", "salt"]).tolist()[4:]
    ['java & island', 'island & sea']
    >>> interactions.transform(words).toarray()[:, 4:].round(2)
    array([[0.85, 0.  ],
           [0.73, 0.73],
           [0.  , 1.04]])
    """

    def __init__(
        self,
        n_rarest: int = 20,
        *,
        min_rows: int = 2,
        weight: float = 0.6,
        max_pairs: int | str = 50_000,
    ) -> None:
        self.n_rarest = n_rarest
        self.min_rows = min_rows
        self.weight = weight
        self.max_pairs = max_pairs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def fit(self, X: Any, y: Any = None) -> InteractionFeatures:
        """Find the pairs that occur.

        Parameters
        ----------
        X : array or sparse array of shape (n_rows, n_features)
            Amounts: none is negative.
        y : ignored

        Returns
        -------
        InteractionFeatures
        """
        settings = self.get_params()
        check_parameters("InteractionFeatures", PARAMETERS, settings)
        self.table_ = find_interactions(self._validated(X, reset=True), **settings)
        return self

    def transform(self, X: Any) -> Any:
        """Return the features, then the interaction features.

        Parameters
        ----------
        X : array or sparse array of shape (n_rows, n_features)
            Amounts: none is negative.

        Returns
        -------
        csr_array of shape (n_rows, n_features + n_pairs)
        """
        check_is_fitted(self)
        return self.table_.append_to(self._validated(X, reset=False))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the features, then of the pairs, ``"a & b"``.

        Parameters
        ----------
        input_features : sequence of str, optional
            The names of the features; those of the table that was fitted, or x0, x1, …
        """
        check_is_fitted(self)
        if input_features is None:
            numbered = [f"x{i}" for i in range(self.n_features_in_)]
            input_features = getattr(self, "feature_names_in_", numbered)
        names = np.asarray(input_features, dtype=object)
        if len(names) != self.n_features_in_:
            raise ValueError(
                f"input_features should have length equal to the number of features, "
                f"{self.n_features_in_}; got {len(names)}"
            )
        return interaction_names(names, self.table_)

    def _validated(self, X: Any, *, reset: bool) -> Any:
        kinds = [np.float64, np.float32]
        return validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=kinds, ensure_non_negative=True
        )
