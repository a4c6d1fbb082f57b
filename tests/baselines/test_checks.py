"""scikit-learn's checks on the published variants, which the common contract does not cover."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from grople.baselines import CPLST, LEML, LLSF, PLST, FaIE, Ridge

PENALISED = {"fit_intercept": "penalised", "decision": "sign"}
#: Scores decide alone; a calibrated probability of ½ need not lie at a score of zero.
EXPECTED = {
    "check_classifier_multioutput": "probabilities are calibrated, scores are not",
}


@pytest.mark.filterwarnings("ignore:The published correlation term")
@parametrize_with_checks(
    [
        PLST(0.5, 1.0, **PENALISED),
        CPLST(0.5, 1.0, **PENALISED),
        FaIE(0.5, 1.0, 10.0, **PENALISED),
        LEML(0.5, 1.0, init="published", random_state=0, **PENALISED),
        LLSF(0.1, 0.1, 0.1, correlation="published", fit_intercept=False, decision="sign"),
        Ridge(1.0, **PENALISED),
    ],
    expected_failed_checks=lambda _: EXPECTED,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
