"""Units leave a store as lines and come back the same, and nothing else comes in."""

from __future__ import annotations

import gzip
import json

import pytest

from grople.study.sharing import export_units, import_units, read_units
from grople.study.store import Store, StoreError
from grople.study.units import Batch

SETTINGS = ({"ridge": 1.0}, {"ridge": 2.0})
BATCH = Batch("nested", "tiny", "PLST", 3, "mark", SETTINGS, seed=7)
MEASURES = {"accuracy": 0.5, "example_f1": 0.6, "macro_f1": 0.1, "micro_f1": 0.5}
RESULT = MEASURES | {"gap": float("nan"), "rows": {"true": [1, 2]}}


@pytest.fixture
def filled(tmp_path):
    with Store(tmp_path / "filled") as store:
        for setting in SETTINGS:
            store.add(BATCH, setting, RESULT, 0.25, made_by={"numpy": "0.0", "code": "elsewhere"})
        store.remember("grople study run comparison --store DIR")
        yield store


def _same(one, other):
    # NaN is not equal to itself, its text is.
    return [str(row) for row in one.rows()] == [str(row) for row in other.rows()]


@pytest.mark.parametrize("name", ["units.jsonl", "units.jsonl.gz"])
def test_there_and_back(filled, tmp_path, name):
    assert export_units(filled, tmp_path / name) == 2
    with Store(tmp_path / "other") as other:
        assert import_units(other, read_units(tmp_path / name)) == 2
        assert import_units(other, read_units(tmp_path / name)) == 0
        assert _same(filled, other)
        assert other.missing(BATCH) == []
        assert other.rows()[0].environment == {"numpy": "0.0", "code": "elsewhere"}
        assert other.commands() == filled.commands()


def test_what_is_there_stays(filled, tmp_path):
    export_units(filled, tmp_path / "units.jsonl")
    with Store(tmp_path / "other") as other:
        other.add(BATCH, SETTINGS[0], {"accuracy": 0.9}, 1.0)
        assert import_units(other, read_units(tmp_path / "units.jsonl")) == 1
        assert [row.result["accuracy"] for row in other.rows()] == [0.9, 0.5]


def test_rows_may_stay_behind(filled, tmp_path):
    export_units(filled, tmp_path / "units.jsonl", rows=False)
    with Store(tmp_path / "other") as other:
        import_units(other, read_units(tmp_path / "units.jsonl"))
        assert [set(row.result) for row in other.rows()] == [{*MEASURES, "gap"}] * 2
    assert all("rows" in row.result for row in filled.rows())


def test_rows_come_after(tmp_path):
    with Store(tmp_path / "whole") as whole, Store(tmp_path / "other") as other:
        result = MEASURES | {"rows": {"true": [1]}}
        whole.add(BATCH, SETTINGS[0], result, 0.25)
        export_units(whole, tmp_path / "few.jsonl", rows=False)
        export_units(whole, tmp_path / "all.jsonl")
        for name, new in (("few.jsonl", 1), ("all.jsonl", 1), ("all.jsonl", 0), ("few.jsonl", 0)):
            assert import_units(other, read_units(tmp_path / name)) == new
        assert [row.result for row in other.rows()] == [result]


HEAD = {"kind": "grople study", "layout": 1, "commands": []}
UNIT = {
    "task": "nested", "dataset": "tiny", "method": "PLST", "fold": 0, "setting": {}, "seed": 0,
    "fingerprint": "mark", "result": MEASURES, "seconds": 1.0, "environment": {},
}  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "not a file of `grople study export`"),
        ([{"kind": "another"}], "not a file of `grople study export`"),
        ([[1]], "not a file of `grople study export`"),
        ([HEAD | {"layout": 2}], "newer version"),
        ([HEAD | {"commands": [1]}], "line 1: commands must be a list of texts"),
        ([HEAD, UNIT, 5], "line 3: not a unit"),
        ([HEAD, UNIT | {"fold": "0"}], "line 2: fold is missing or of the wrong kind"),
        ([HEAD, UNIT | {"seed": True}], "line 2: seed is missing or of the wrong kind"),
        ([HEAD, {k: v for k, v in UNIT.items() if k != "result"}], "line 2: result is missing"),
        (
            [HEAD, UNIT | {"result": {"accuracy": 0.5}}],
            "line 2: the result lacks example_f1, macro",
        ),
        ([HEAD, UNIT | {"result": MEASURES | {"chosen": 1}}], "line 2: what was chosen must name"),
        (
            [HEAD, UNIT | {"result": MEASURES | {"chosen": {key: {"C": 1} for key in MEASURES}}}],
            "line 2: what was chosen must name",
        ),
        ([HEAD, UNIT | {"fold": 10**23}], "line 2: fold is too large"),
        ([HEAD, UNIT, UNIT | {"setting": {"a": float("nan")}}], "line 3: not a unit"),
        ([HEAD, UNIT | {"method": "\ud800"}], "line 2: not a unit"),
    ],
)
def test_other_files_are_refused_whole(tmp_path, lines, message):
    path = tmp_path / "units.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(StoreError, match=message):
        read_units(path)


def test_a_file_that_was_cut_off_is_refused_whole(filled, tmp_path):
    whole, cut = tmp_path / "units.jsonl.gz", tmp_path / "cut.jsonl.gz"
    export_units(filled, whole)
    cut.write_bytes(whole.read_bytes()[:-12])
    with pytest.raises(StoreError, match="cannot be read"):
        read_units(cut)
    assert gzip.decompress(whole.read_bytes()).count(b"\n") == 3
