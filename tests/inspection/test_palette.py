"""Every reader can tell the colours and shapes of groups apart."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from grople.inspection import ACCENT, FAINT, MARKS, PALETTE

#: What is left of a linear RGB colour for readers without one kind of cone (Machado et al. 2009).
VISION = {
    "full": np.eye(3),
    "protan": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deutan": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritan": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
TO_XYZ = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]


def linear(colour):
    part = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    x, y, z = np.cbrt(np.maximum(TO_XYZ @ np.clip(rgb, 0, 1) / [0.9505, 1, 1.089], 0.008856))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("vision", VISION)
def test_colours_differ_for_every_kind_of_colour_vision(vision):
    seen = [lab(np.asarray(VISION[vision]) @ linear(colour)) for colour in PALETTE]
    # A difference of two can just be seen side by side.
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 15


@pytest.mark.parametrize("paper", ["#fdfdfb", "#14171a"])
def test_colours_stand_out_from_light_and_dark_paper(paper):
    luminance = {c: float(linear(c) @ TO_XYZ[1]) for c in (*PALETTE, ACCENT, FAINT, paper)}
    for colour, light in luminance.items():
        if colour != paper:
            high, low = max(light, luminance[paper]), min(light, luminance[paper])
            assert (high + 0.05) / (low + 0.05) > 2


def test_there_are_enough_pairs_of_colour_and_shape():
    assert len(set(itertools.product(PALETTE, MARKS))) >= 36
