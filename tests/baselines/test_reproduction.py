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
#: LEML started at random, and its random numbers and the tolerance of its conjugate gradients are
#: not known (.010 measured on medical, .001 to .006 elsewhere). On medical, where D > N, ten rounds
#: end far from the minimum, so the cell depends on both; the minimum itself scores higher
#: (accuracy .72 instead of .69).
CLOSE_TO_LEML = 0.015
#: A better point of the published grid than the one that was reported: what it reaches.
BETTER = {("LLSF", "corel5k"): (0.146, 0.228, 0.050, 0.240)}
#: What takes no more than a few seconds; all else is marked as slow.
QUICK_COMPARISON = {
    *((PLST, name) for name in ("genbase", "medical", "CAL500", "corel5k", "rcv1subset1")),
    (CPLST, "rcv1subset1"), (FaIE, "CAL500"), (LLSF, "CAL500"), (LEML, "CAL500"),
}  # fmt: skip
QUICK_APPROXIMATION = {(cls, name) for cls in (PLST, CPLST) for name in ("genbase", "CAL500")}


def cases(methods, quick):
    """Every published setting of some methods."""
    return [
        pytest.param(cls, name, id=f"{cls.__name__}-{name}",
                     marks=[] if (cls, name) in quick else pytest.mark.slow)
        for cls in methods
        for name in published_data(cls.__name__)
    ]  # fmt: skip


def paper_means(tables, name, cls, table="comparison"):
    """Four means of a published table, which spells one method otherwise."""
    method = "FAiE" if cls is FaIE else cls.__name__
    return published_cell(tables, name, method, table)[0]


def file_of(name):
    """The data set as the authors had it."""
    return "genbase-authors" if name == "genbase" else name


@pytest.mark.parametrize(("cls", "name"), cases((PLST, CPLST, FaIE, LLSF, LEML), QUICK_COMPARISON))
def test_the_comparison_is_reproduced(cls, name, shared_data, paper_tables, record_property):
    seed = {"random_state": 0} if cls is LEML else {}
    found = measured_folds(shared_data, file_of(name), cls.published(name, **seed))
    record_property("found", found.round(4).tolist())
    paper = paper_means(paper_tables, name, cls)
    if (cls.__name__, name) in BETTER:
        assert np.all(found > paper + 0.01)
        paper = BETTER[cls.__name__, name]
    np.testing.assert_allclose(found, paper, atol=CLOSE_TO_LEML if cls is LEML else CLOSE)


@pytest.mark.parametrize(("cls", "name"), cases((PLST, CPLST, FaIE), QUICK_APPROXIMATION))
def test_the_approximation_is_reproduced(cls, name, shared_data, paper_tables, record_property):
    """What a code keeps of the training labels, within .01.

    (.006 measured for PLST on CAL500, at most .004 elsewhere.) PLST's macro-F1 on CAL500 is printed
    as 1.000 ± .003, which no five folds can have: a spread of .003 needs a mean below .999. It is
    .994 ± .003 here.
    """
    model = cls.published(name, **approximation_setting(cls.__name__, name))
    cells = []
    for X, Y, *_ in splits(shared_data, file_of(name)):
        model.fit(X, Y)
        blocks = np.array_split(np.arange(Y.shape[0]), 8)
        kept = [sp.csr_array(model.approximate(X[rows], Y[rows]) > 0) for rows in blocks]
        counts = metrics.counts(Y, sp.vstack(kept, format="csr").astype(int))
        cells.append([getattr(counts, measure)(0.0) for measure in MEASURES])
    found = np.mean(cells, axis=0)
    record_property("found", found.round(4).tolist())
    paper = paper_means(paper_tables, name, cls, "approximation")
    np.testing.assert_allclose(found, paper, atol=0.01)
