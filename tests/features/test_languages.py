"""Texts in any script become features that tell them apart."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from grople.errors import DataError
from grople.features import fit_text


def terms(*texts, **settings):
    return set(fit_text(texts, min_df=1, **settings)[0].names)


@pytest.mark.parametrize(
    ("language", "games", "tools", "unseen"),
    [
        ("Japanese", ["囲碁ゲームです", "将棋ゲーム"], ["文書を編集", "文書エディタ"], "新ゲーム"),
        ("Chinese", ["一个国际象棋游戏", "围棋游戏"], ["文本编辑器", "编辑器工具"], "象棋游戏"),
        ("Thai", ["เกมหมากรุก", "เล่นเกมสนุก"], ["โปรแกรมแก้ไขข้อความ", "แก้ไขเอกสาร"], "เกมใหม่"),
        ("Arabic", ["لعبة شطرنج", "لعبة جديدة"], ["محرر نصوص", "محرر صور"], "هذه لعبة"),
    ],
)  # fmt: skip
def test_a_new_text_is_nearest_to_those_of_its_kind(language, games, tools, unseen):
    features, rows = fit_text([*games, *tools], min_df=1)
    nearness = (rows @ features.transform([unseen]).T).toarray().ravel()
    assert nearness[:2].min() > nearness[2:].max()


def test_characters_without_spaces_are_runs_of_one_to_three():
    assert terms("囲碁盤だ") == {"囲", "碁", "盤", "だ", "囲碁", "碁盤", "盤だ", "囲碁盤", "碁盤だ"}
    assert terms("GNU囲碁") == {"gnu", "囲", "碁", "囲碁"}


def test_characters_find_the_parts_of_german_compounds():
    texts = ["Textverarbeitung", "Schachspiel"]
    features, rows = fit_text(texts, min_df=1, unit="characters")
    near = (rows @ features.transform(["Bildverarbeitung"]).T).toarray().ravel()
    assert near[0] > 0.5 > near[1]
    words, _ = fit_text(texts, min_df=1)
    assert words.transform(["Bildverarbeitung"]).nnz == 0


def test_emoji_are_words():
    family, flag, thumb = "👩‍👩‍👧", "🇯🇵", "👍🏽"
    found = terms(f"great{thumb} {family} {flag}{flag} ♟", ngrams=(1, 2))
    assert {"great", thumb, family, flag, "♟", f"great {thumb}", f"{flag} {flag}"} <= found


def test_one_spelling_of_a_word():
    decomposed = unicodedata.normalize("NFD", "Größe")
    assert terms(decomposed, "GRÖSSE Größe", "Ｇröße") == {"größe", "grösse"}
    assert terms("ﾊﾛｰ") == terms("ハロー")


def test_words_with_signs_stay_whole():
    assert terms("हिन्दी भाषा") == {"हिन्दी", "भाषा"}
    assert terms("مُحَمَّد") == {"مُحَمَّد"}


def test_characters_are_those_within_words_and_the_spaces_around_them():
    texts = ["chess clock", "a clock, c code"]
    features, rows = fit_text(texts, min_df=1, unit="characters")
    theirs = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
    expected = theirs.fit_transform([text.replace(",", " ") for text in texts]).toarray()
    assert features.names.tolist() == [f'"{t}"' for t in theirs.get_feature_names_out()]
    np.testing.assert_allclose(rows.toarray(), expected, rtol=1e-13)


@given(st.lists(st.text(max_size=30), max_size=6), st.sampled_from(["words", "characters"]))
def test_whatever_a_text_holds_it_gets_its_row(texts, unit):
    texts.append("word")
    features, rows = fit_text(texts, min_df=1, unit=unit, ngrams=(1, 2))
    alone = [features.transform([text]).toarray()[0] for text in texts]
    np.testing.assert_array_equal(rows.toarray(), alone)


@pytest.mark.parametrize("unit", ["words", "characters"])
@pytest.mark.parametrize("texts", [[], [""], ["!", "…"]])
def test_texts_without_anything_to_read_are_refused_in_words(texts, unit):
    with pytest.raises(DataError, match=f"no features .none of their {unit}"):
        fit_text(texts, min_df=1, unit=unit)


def test_what_is_no_text_is_refused_by_its_place():
    with pytest.raises(TypeError, match=r"text 1 is no text but a float: nan"):
        fit_text(["chess", float("nan")])


def test_of_very_many_texts_the_vocabulary_is_that_of_some_whatever_their_order():
    texts = [f"word{i} common" for i in range(50_100)]
    features, _ = fit_text(texts, min_df=1)
    assert len(features) == 50_001
    assert fit_text(texts[::-1], min_df=1)[0].names.tolist() == features.names.tolist()
