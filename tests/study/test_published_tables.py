"""The transcription of the paper's tables."""

from __future__ import annotations

import csv
import math

import pytest

from grople.study.published import METHODS, METRICS, published_ranks, published_table


@pytest.mark.parametrize(("table", "datasets"), [("comparison", 12), ("approximation", 11)])
def test_every_cell_is_there(table, datasets):
    assert len(published_table(table)) == datasets * len(METRICS) * len(METHODS[table])


def test_the_ranks_are_those_of_the_printed_means():
    """Ranks follow from the means up to ties that rounding made or hid: at most one place."""
    cells = published_table("comparison")
    for metric in METRICS:
        datasets, methods, ranks = published_ranks(metric)
        for dataset, row in zip(datasets, ranks, strict=True):
            means = [cells[dataset, metric, method].mean for method in methods]
            for i, first in enumerate(means):
                above = sum(other > first for other in means)
                tied = sum(other == first for other in means)
                assert above + 0.5 <= row[i] <= above + tied + 0.5


@pytest.mark.data
@pytest.mark.parametrize("table", ["comparison", "approximation"])
def test_the_transcription_is_right(table, paper_tables):
    cells = published_table(table)
    with (paper_tables / f"table_{table}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(cells)
    for row in rows:
        cell = cells[row["dataset"], row["metric"], row["method"]]
        for name in ("mean", "std", "rank"):
            value = getattr(cell, name)
            assert (math.isnan(value) and not row[name]) or value == float(row[name])


def test_unknown_names_are_said():
    with pytest.raises(ValueError, match="approximation"):
        published_table("comparision")
    with pytest.raises(ValueError, match="micro_f1"):
        published_ranks("auc")
