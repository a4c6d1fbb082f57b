from __future__ import annotations

import csv
import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

from grople.datasets import Bundle, Entry, _download, fetch, find, load, locate, names, read, write
from grople.datasets._catalogue import RemoteFile
from grople.datasets._download import git_blob_id
from grople.datasets._places import cache_dir
from grople.errors import DataError

ARFF = b"@relation tiny\n@attribute a numeric\n@attribute y {0,1}\n@data\n1.5,1\n0,0\n2,1\n"
XML = (
    b'<?xml version="1.0"?>\n<labels xmlns="http://mulan.sourceforge.net/labels">\n'
    b'<label name="y"></label>\n</labels>\n'
)
FILES = {"tiny.arff": ARFF, "tiny.xml": XML}


def blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """An empty cache, and nothing else."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("GROPLE_CACHE", str(folder))
    monkeypatch.delenv("GROPLE_DATA", raising=False)
    monkeypatch.delenv("GROPLE_MIRROR", raising=False)
    return folder


@pytest.fixture
def tiny(web, cache) -> Entry:
    """A data set of two files on the local server."""
    for name, content in FILES.items():
        web.put(f"/{name}", web.send(content))
    files = tuple(
        RemoteFile(name, f"{web.url}/{name}", blob(content)) for name, content in FILES.items()
    )
    return Entry("tiny", instances=3, features=1, labels=1, cardinality=2 / 3, files=files)


def assert_tiny(bundle) -> None:
    assert bundle.name == "tiny"
    X = bundle.X if isinstance(bundle.X, np.ndarray) else bundle.X.toarray()
    assert X.tolist() == [[1.5], [0.0], [2.0]]
    assert bundle.Y.toarray().tolist() == [[1], [0], [1]]
    assert bundle.label_names == ("y",)
    assert not bundle.notes


# Names


@pytest.mark.parametrize("spelling", ["CAL500", "cal500", " Cal500 "])
def test_names_are_forgiving(spelling):
    assert find(spelling).name == "CAL500"
    assert find("RCV1subset1_Repaired").name == "rcv1subset1-repaired"


def test_misspelt_name_gets_a_suggestion():
    with pytest.raises(DataError, match="did you mean 'delicious'"):
        load("delicous")
    with pytest.raises(DataError, match="the names are debtags-mini, genbase"):
        load("zzz")


def test_file_in_place_of_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.arff").write_bytes(ARFF)
    with pytest.raises(DataError, match=r"read\('mine.arff'\)"):
        load("mine.arff")


def test_every_downloadable_entry_is_pinned():
    entries = [find(name) for name in names()]
    downloadable = [entry for entry in entries if entry.files]
    assert len(downloadable) == 12
    for file in (file for entry in downloadable for file in entry.files):
        assert file.url.startswith("https://")
        assert file.url.endswith("/" + file.name)
        assert len(bytes.fromhex(file.blob_id)) == 20
    # A mirror and the cache tell files by their names alone.
    all_names = [file.name for entry in entries for file in entry.files]
    assert len(set(all_names)) == len(all_names)


# The embedded data set


def test_embedded_data_need_nothing(cache, monkeypatch):
    monkeypatch.setenv("GROPLE_DATA", "/does/not/exist")
    bundle = load("debtags-mini", download=False)
    entry = find("debtags-mini")
    assert (bundle.n_rows, bundle.n_features, bundle.n_labels) == (
        entry.instances,
        entry.features,
        entry.labels,
    )
    assert bundle.cardinality == pytest.approx(entry.cardinality, abs=5e-4)  # as printed
    assert bundle.X.dtype == np.float64
    assert bundle.X.format == "csr"
    assert (bundle.X.data == np.round(bundle.X.data)).all()
    assert bundle.Y.sum(axis=0).min() >= 15
    assert np.diff(bundle.Y.indptr).min() >= 1
    assert len(set(bundle.row_names)) == bundle.n_rows
    assert {"role::program", "devel::library"} <= set(bundle.label_names)
    assert not bundle.notes


# Places


def test_download_then_cache(web, cache, tiny):
    seen = []
    assert locate(tiny) is None
    assert_tiny(load(tiny, progress=lambda *step: seen.append(step)))
    assert sorted(path.name for path in cache.iterdir()) == sorted(FILES)
    assert {step[0] for step in seen} == set(FILES)
    assert "cache" in locate(tiny).place
    assert_tiny(load(tiny, download=False))
    assert web.requests["/tiny.arff"] == 1


def test_damaged_cache_is_not_believed(web, cache, tiny):
    load(tiny)
    (cache / "tiny.arff").write_bytes(ARFF[:-3])
    assert locate(tiny) is None
    assert_tiny(load(tiny))
    assert (web.requests["/tiny.arff"], web.requests["/tiny.xml"]) == (2, 1)


def test_data_folder_comes_before_the_cache(web, cache, tiny, tmp_path, monkeypatch):
    load(tiny)
    folder = tmp_path / "data"
    (folder / "mulan").mkdir(parents=True)
    monkeypatch.setenv("GROPLE_DATA", str(folder))
    (folder / "mulan" / "tiny.arff").write_bytes(ARFF.replace(b"1.5", b"7.5"))
    assert "cache" in locate(tiny).place  # the label header is missing in the folder
    (folder / "mulan" / "tiny.xml").write_bytes(XML)
    assert "$GROPLE_DATA" in locate(tiny).place
    X = load(tiny).X
    assert X[0, 0] == 7.5


def test_archive_comes_before_the_original(cache, tiny, tmp_path, monkeypatch):
    folder = tmp_path / "data"
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    write(Bundle(np.array([[9.0], [0.0]]), np.array([[1], [0]])), folder / "tiny.npz")
    monkeypatch.setenv("GROPLE_DATA", str(folder))
    bundle = load(tiny)
    assert bundle.X[0, 0] == 9
    assert "this copy has 2 rows" in bundle.notes[-1]


def test_mirror(web, cache, tiny, monkeypatch):
    for name, content in FILES.items():
        web.put(f"/mirror/{name}", web.send(content))
    monkeypatch.setenv("GROPLE_MIRROR", f"{web.url}/mirror/")
    load(tiny)
    assert web.requests["/mirror/tiny.arff"] == 1
    assert web.requests["/tiny.arff"] == 0


# Failures


def test_missing_data_folder(cache, tiny, monkeypatch):
    monkeypatch.setenv("GROPLE_DATA", "/does/not/exist")
    with pytest.raises(DataError, match="GROPLE_DATA is set to '/does/not/exist'"):
        load(tiny)


def test_offline_says_where_it_looked_and_what_to_do(cache, tiny):
    with pytest.raises(DataError) as caught:
        load(tiny, download=False)
    message = str(caught.value)
    for part in (
        "$GROPLE_DATA (not set)",
        str(cache),
        "tiny.npz or tiny.arff with tiny.xml",
        "grople data fetch tiny",
    ):
        assert part in message


def test_bad_download_never_reaches_the_cache(web, cache, tiny, monkeypatch):
    monkeypatch.setattr(_download, "ATTEMPTS", 1)
    monkeypatch.setattr(_download, "STALL_S", 0.3)
    web.put("/tiny.xml", web.send(XML + b" "))
    with pytest.raises(DataError, match=r"tiny is not on this machine.*tiny\.xml.*Searched"):
        fetch(tiny)
    assert [path.name for path in cache.iterdir()] == ["tiny.arff"]
    assert locate(tiny) is None
    web.put("/tiny.xml", web.send(XML))
    assert_tiny(load(tiny))


def test_not_for_download(cache):
    with pytest.raises(DataError, match=r"not for download.*mediamill-reduced\.npz into a folder"):
        load("mediamill-reduced")


@pytest.mark.skipif(os.name == "nt", reason="folders are writable there")
def test_cache_that_cannot_be_written(cache, tiny, tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("GROPLE_CACHE", str(blocked / "cache"))
    with pytest.raises(DataError, match="set GROPLE_CACHE"):
        load(tiny)


# The cache's place


def test_cache_dir_by_platform(monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    places = {
        ("linux", ""): "/home/me/.cache/grople",
        ("linux", "XDG_CACHE_HOME=/x"): "/x/grople",
        ("linux", "XDG_CACHE_HOME=relative"): "/home/me/.cache/grople",
        ("linux", "GROPLE_CACHE=/mine"): "/mine",
        ("darwin", ""): "/home/me/Library/Caches/grople",
        ("win32", "LOCALAPPDATA=/L"): "/L/grople/Cache",
    }
    for (platform, setting), expected in places.items():
        environ = dict([setting.split("=")]) if setting else {}
        assert cache_dir(environ, platform).as_posix() == expected


# The real files


@pytest.mark.data
def test_pinned_contents_are_those_of_the_real_files(shared_data):
    with open(shared_data / "sources.csv", newline="") as table:
        pinned = {(row["dataset"], row["file"]): row for row in csv.DictReader(table)}
    ours = {(entry.name, file.name): file for entry in map(find, names()) for file in entry.files}
    assert ours.keys() == pinned.keys()
    checked = 0
    for key, file in ours.items():
        assert (file.url, file.blob_id) == (pinned[key]["url"], pinned[key]["git_blob_sha1"])
        for folder in ("mulan", "mat"):
            path = shared_data / folder / file.name
            if path.exists():
                assert git_blob_id(path) == file.blob_id
                checked += 1
    assert checked >= 15


@pytest.mark.data
def test_real_data_sets_have_the_shapes_of_the_catalogue(shared_data, cache, monkeypatch):
    monkeypatch.setenv("GROPLE_DATA", str(shared_data))
    here = [find(name) for name in names() if locate(name)]
    assert len(here) == 16
    for entry in here:
        bundle = load(entry)
        assert not any("this copy" in note for note in bundle.notes), entry.name
        assert bundle.cardinality == pytest.approx(entry.cardinality, abs=5.1e-4), entry.name


@pytest.mark.data
@pytest.mark.parametrize("name", ["medical", "rcv1subset2"])
def test_original_files_serve_as_well_as_archives(name, shared_data, cache, tmp_path, monkeypatch):
    archived = read(shared_data / "npz" / f"{name}.npz")
    folder = tmp_path / "data"
    folder.mkdir()
    for kind in ("mulan", "mat"):
        (folder / kind).symlink_to(shared_data / kind)
    monkeypatch.setenv("GROPLE_DATA", str(folder))
    original = load(name)
    assert original.name == name
    assert (original.Y != archived.Y).nnz == 0
    # The archives hold float32.
    assert abs(original.X.astype(np.float32) - archived.X.astype(np.float32)).max() == 0


def test_catalogue_is_read_once():
    assert find("medical") is find("medical")
