"""The transcription of the paper's tables."""

from __future__ import annotations

import pandas as pd
import pytest

from grople.study import METRICS, printed_ranks, printed_table


@pytest.mark.parametrize(("table", "cells"), [("comparison", 12 * 4 * 8), ("approximation", 176)])
def test_every_cell_is_there(table, cells):
    assert len(printed_table(table)) == cells
    assert printed_table(table).index.is_unique


@pytest.mark.parametrize("metric", METRICS)
def test_the_ranks_are_those_of_the_printed_means(metric):
    """Ranks follow from the means up to ties that rounding made or hid: at most one place."""
    means = printed_table("comparison")["mean"].xs(metric, level="metric").unstack()
    for dataset, ranks in printed_ranks(metric, corrected=True).iterrows():
        for method, rank in ranks.items():
            above = (means.loc[dataset] > means.loc[dataset, method]).sum()
            tied = (means.loc[dataset] == means.loc[dataset, method]).sum()
            assert above + 0.5 <= rank <= above + tied + 0.5


@pytest.mark.data
@pytest.mark.parametrize("table", ["comparison", "approximation"])
def test_the_transcription_is_right(table, paper_tables):
    expected = pd.read_csv(paper_tables / f"table_{table}.csv").replace({"FAiE": "FaIE"})
    expected = expected.set_index(["dataset", "metric", "method"])
    pd.testing.assert_frame_equal(printed_table(table), expected)


def test_unknown_names_are_said():
    with pytest.raises(ValueError, match="approximation"):
        printed_table("comparision")
    with pytest.raises(ValueError, match="micro_f1"):
        printed_ranks("auc")
