"""The words of a text in any script, and the runs of words or characters that are terms."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

__all__ = ["character_terms", "letter_words", "word_terms"]

#: Scripts that put no space between words: Thai to Burmese, Khmer, kana, Chinese characters.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
#: Signs within words that Python's ``\w`` leaves out: accents, vowels of Hebrew, Arabic, Indic.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0dff"
_PICTURES = "\U0001f000-\U0001faff\u2600-\u27bf\u2b50\u2b55"
#: One emoji: a flag, or pictures with their colours, joined as for families and professions.
_EMOJI = (
    "[\U0001f1e6-\U0001f1ff]{2}"
    f"|[{_PICTURES}][\ufe0f\U0001f3fb-\U0001f3ff]*"
    f"(?:\u200d[{_PICTURES}][\ufe0f\U0001f3fb-\U0001f3ff]*)*"
)
_SPECIAL = re.compile(f"[{_UNSPACED}{_MARKS}{_PICTURES}]")
_PARTS = re.compile(
    f"(?P<unspaced>[{_UNSPACED}]+)|(?P<emoji>{_EMOJI})|(?P<word>(?:(?![{_UNSPACED}])[\\w{_MARKS}])+)"
)
_WORD = re.compile(r"\w+")
#: Longest run of characters that is a term where words cannot be told apart.
LONGEST_UNSPACED = 3


def word_terms(text: str, ngrams: tuple[int, int]) -> list[str]:
    """Return the terms of a text: runs of words, and of characters in scripts without spaces.

    A word has two letters or more; an emoji is one.

    Examples
    --------
    >>> word_terms("A chess game ♟", (1, 2))
    ['chess', 'game', '♟', 'chess game', 'game ♟']
    >>> word_terms("囲碁 Go", (1, 1))
    ['go', '囲', '碁', '囲碁']
    """
    words, unspaced = _split(text)
    words = [word for word in words if len(word) > 1 or not _WORD.match(word)]
    shortest, longest = ngrams
    terms = words if shortest == 1 else []
    for length in range(max(shortest, 2), longest + 1):
        starts = range(len(words) - length + 1)
        terms = [*terms, *(" ".join(words[i : i + length]) for i in starts)]
    return [*terms, *_characters(unspaced)]


def letter_words(text: str) -> list[str]:
    """Return the words of scripts with spaces, those of one letter too, but no emoji.

    Examples
    --------
    >>> letter_words("C for the 囲碁 player ♟")
    ['c', 'for', 'the', 'player']
    """
    return [word for word in _split(text)[0] if _WORD.match(word)]


def _split(text: str) -> tuple[list[str], list[str]]:
    """Return the words and emoji of a text, and its runs of characters without spaces."""
    text = text.lower()
    if text.isascii():
        return _WORD.findall(text), []
    # One spelling: full-width letters, half-width kana and accents of their own are others'.
    text = unicodedata.normalize("NFKC", text)
    if _SPECIAL.search(text) is None:
        return _WORD.findall(text), []
    words: list[str] = []
    unspaced: list[str] = []
    for part in _PARTS.finditer(text):
        (unspaced if part.lastgroup == "unspaced" else words).append(part[0])
    return words, unspaced


def _characters(runs: Iterable[str]) -> Iterator[str]:
    for run in runs:
        for length in range(1, LONGEST_UNSPACED + 1):
            yield from (run[i : i + length] for i in range(len(run) - length + 1))


def character_terms(word: str, ngrams: tuple[int, int]) -> list[str]:
    """Return the runs of characters of a word and the spaces around it.

    Examples
    --------
    >>> character_terms("go", (3, 5))
    [' go', 'go ', ' go ']
    """
    padded = f" {word} "
    shortest, longest = ngrams
    return [
        padded[start : start + length]
        for length in range(shortest, min(longest, len(padded)) + 1)
        for start in range(len(padded) - length + 1)
    ]
