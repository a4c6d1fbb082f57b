"""The published cells of the moment baselines, recomputed on the authors' folds.

As in the published comparison: raw features, labels without a positive in the training fold
removed from training and test, 0/0 = 0, means over five folds. Cells are accuracy, example-F1,
macro-F1 and micro-F1.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from grople import metrics
from grople.baselines import CPLST, LEML, LLSF, MEASURES, PLST, FaIE
from grople.published import approximation_setting, published_data

from .protocol import measured_folds, published_cell, splits

pytestmark = [
    pytest.mark.data,
    pytest.mark.filterwarnings("ignore:The published correlation term"),
]
#: What a cell may be off: rounding to .0005, and scores so close to zero that rounding decides.
CLOSE = 0.006
#: What the paper calls methods otherwise.
TITLES = {"FaIE": "FAiE"}


def cases(*rows):
    """Name the cases, and mark those that take more than a few seconds as slow."""
    return [
        pytest.param(*row, id=f"{type(row[0]).__name__}-{row[1]}", marks=[pytest.mark.slow] * slow)
        for *row, slow in rows
    ]


COMPARISON = cases(
    (PLST.published("genbase"), "genbase-authors", (0.968, 0.975, 0.709, 0.969), False),
    (FaIE.published("genbase"), "genbase-authors", (0.965, 0.973, 0.682, 0.967), True),
    (LLSF.published("genbase"), "genbase-authors", (0.971, 0.977, 0.731, 0.973), True),
    (PLST.published("medical"), "medical", (0.762, 0.793, 0.373, 0.821), False),
    (CPLST.published("medical"), "medical", (0.763, 0.794, 0.378, 0.822), True),
    (FaIE.published("medical"), "medical", (0.765, 0.796, 0.383, 0.823), True),
    (LLSF.published("medical"), "medical", (0.760, 0.792, 0.351, 0.813), True),
    (PLST.published("CAL500"), "CAL500", (0.224, 0.357, 0.110, 0.360), False),
    (FaIE.published("CAL500"), "CAL500", (0.234, 0.368, 0.117, 0.373), False),
    (LLSF.published("CAL500"), "CAL500", (0.221, 0.354, 0.103, 0.357), False),
    (PLST.published("corel5k"), "corel5k", (0.054, 0.078, 0.016, 0.105), False),
    (CPLST.published("corel5k", n_components=0.5), "corel5k", (0.054, 0.078, 0.016, 0.105), True),
    (FaIE.published("corel5k"), "corel5k", (0.089, 0.127, 0.026, 0.162), True),
    (LLSF.published("corel5k"), "corel5k", (0.146, 0.228, 0.050, 0.240), True),
    (PLST.published("rcv1subset1"), "rcv1subset1", (0.231, 0.298, 0.125, 0.349), False),
    (CPLST.published("rcv1subset1"), "rcv1subset1", (0.232, 0.299, 0.125, 0.351), False),
    (FaIE.published("rcv1subset1"), "rcv1subset1", (0.265, 0.339, 0.163, 0.384), True),
    (LLSF.published("rcv1subset1"), "rcv1subset1", (0.297, 0.384, 0.209, 0.443), True),
)


def approximated(model, name, folder):
    """Five-fold means of what a model's code keeps of the training labels."""
    cells = []
    for X, Y, *_ in splits(folder, name):
        model.fit(X, Y)
        blocks = np.array_split(np.arange(Y.shape[0]), 8)
        kept = [sp.csr_array(model.approximate(X[rows], Y[rows]) > 0) for rows in blocks]
        found = metrics.counts(Y, sp.vstack(kept, format="csr").astype(int))
        cells.append([getattr(found, measure)(0.0) for measure in MEASURES])
    return np.mean(cells, axis=0)


def paper_means(tables, name, model, table="comparison"):
    """Four means of a published table."""
    method = type(model).__name__
    return published_cell(tables, name, TITLES.get(method, method), table)[0]


@pytest.mark.parametrize(("model", "name", "cells"), COMPARISON)
def test_the_comparison_is_reproduced(
    model, name, cells, shared_data, paper_tables, record_property
):
    found = measured_folds(shared_data, name, model)
    record_property("found", found.round(4).tolist())
    np.testing.assert_allclose(found, cells, atol=CLOSE)
    paper = paper_means(paper_tables, name, model)
    if isinstance(model, LLSF) and name == "corel5k":
        # A better point of the published grid than the one that was reported.
        assert np.all(found > paper + 0.01)
    else:
        np.testing.assert_allclose(found, paper, atol=CLOSE)


LOW_RANK = cases(
    (LEML.published("medical", random_state=0), "medical", True),
    (LEML.published("CAL500", random_state=0), "CAL500", False),
    (LEML.published("corel5k", random_state=0), "corel5k", True),
    (LEML.published("genbase", random_state=0), "genbase-authors", True),
    (LEML.published("rcv1subset1", random_state=0), "rcv1subset1", True),
    (LEML.published("rcv1subset2", random_state=0), "rcv1subset2", True),
    (LEML.published("rcv1subset3", random_state=0), "rcv1subset3", True),
)


@pytest.mark.parametrize(("model", "name"), LOW_RANK)
def test_leml_is_reproduced(model, name, shared_data, paper_tables, record_property):
    """Within .015 (.010 measured on medical, .001 to .006 elsewhere).

    The published run started at random, and its random numbers and the tolerance of its conjugate
    gradients are not known. On medical, where D > N, ten rounds end far from the minimum, so the
    cell depends on both; the minimum itself scores higher (accuracy .72 instead of .69).
    """
    paper = paper_means(paper_tables, name, model)
    found = measured_folds(shared_data, name, model)
    record_property("found", found.round(4).tolist())
    np.testing.assert_allclose(found, paper, atol=0.015)


def settings_found():
    """Every setting that was found by searching the published grid, beyond the cases above."""
    known = {(type(case.values[0]), case.values[1].removesuffix("-authors")) for case in COMPARISON}
    return cases(
        *(
            (cls.published(name), "genbase-authors" if name == "genbase" else name, True)
            for cls in (PLST, CPLST, FaIE)
            for name in published_data(cls.__name__)
            if (cls, name) not in known
        )
    )


@pytest.mark.parametrize(("model", "name"), settings_found())
def test_settings_found_by_search_reproduce_their_cells(
    model, name, shared_data, paper_tables, record_property
):
    paper = paper_means(paper_tables, name, model)
    found = measured_folds(shared_data, name, model)
    record_property("found", found.round(4).tolist())
    np.testing.assert_allclose(found, paper, atol=CLOSE)


def approximations():
    """Every published setting: the d that the published cells imply."""
    quick = {"genbase", "CAL500"}
    return cases(
        *(
            (
                cls.published(name, **approximation_setting(cls.__name__, name)),
                "genbase-authors" if name == "genbase" else name,
                not (name in quick and cls is not FaIE),
            )
            for cls in (PLST, CPLST, FaIE)
            for name in published_data(cls.__name__)
        )
    )


@pytest.mark.parametrize(("model", "name"), approximations())
def test_the_approximation_is_reproduced(model, name, shared_data, paper_tables, record_property):
    """Within .01 (.006 measured for PLST on CAL500, at most .004 elsewhere).

    PLST's macro-F1 on CAL500 is printed as 1.000 ± .003, which no five folds can have: a spread of
    .003 needs a mean below .999. It is .994 ± .003 here.
    """
    paper = paper_means(paper_tables, name, model, "approximation")
    found = approximated(model, name, shared_data)
    record_property("found", found.round(4).tolist())
    np.testing.assert_allclose(found, paper, atol=0.01)
