"""Columns and fields by their names: as written, else whatever their case; or by ``prefix*``."""

from __future__ import annotations

from collections.abc import Sequence

from grople.errors import DataError

__all__ = [
    "TAGS",
    "TEXT",
    "feature_places",
    "find_name",
    "known_name",
    "listed",
    "matching_names",
    "refuse_repeated",
]

#: Where a text and its tags are, unless the person says otherwise.
TEXT = ("text",)
TAGS = ("tags", "labels", "categories")
#: So many names are listed where one is not found.
_SHOWN = 12


def find_name(there: Sequence[str], wanted: Sequence[str]) -> str | None:
    """Return the first of the wanted names that is there, in this case or another."""
    cases = {name.casefold(): name for name in reversed(there)}
    for name in wanted:
        if name in there:
            return name
        if name.casefold() in cases:
            return cases[name.casefold()]
    return None


def known_name(
    there: Sequence[str],
    wanted: str | None,
    usual: Sequence[str],
    what: str,
    *,
    option: str = "",
    file: str,
    kind: str = "column",
    line: int | None = None,
) -> str:
    """Return the wanted name, or the usual one; where it is not there, list what is."""
    found = find_name(there, usual if wanted is None else (wanted,))
    if found is not None:
        return found
    missing = wanted if wanted is not None else usual[0]
    raise DataError(
        f"no {kind} {missing!r} for {what}; {listed(there)}",
        file=file,
        line=line,
        hint=f"name yours with {{{option}}}" if option else "",
        options={option: None} if option else None,
    )


def listed(there: Sequence[str]) -> str:
    """Return the names there are, as the end of a sentence."""
    more = f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else ""
    return f"there are {', '.join(map(repr, there[:_SHOWN])) or 'none'}{more}"


def matching_names(offered: Sequence[str], wanted: Sequence[str], file: str) -> list[str]:
    """Return the names that are wanted, by name or by ``prefix*``, in the order of the file."""
    found: set[str] = set()
    for want in wanted:
        if want.endswith("*"):
            hits = {name for name in offered if name.startswith(want[:-1])}
        else:
            hits = {want} & set(offered)
        if not hits:
            raise DataError(f"no column {want!r} for features; {listed(offered)}", file=file)
        found |= hits
    return [name for name in offered if name in found]


def feature_places(offered: Sequence[str], names: Sequence[str], file: str) -> list[int]:
    """Return where a model's features stand, or say which is not there."""
    place = {name: index for index, name in enumerate(offered)}
    if len(place) < len(offered):
        refuse_repeated([name for name in offered if name in set(names)], file)
    missing = [name for name in names if name not in place]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise DataError(f"no feature {missing[0]!r}{more}, which the model needs", file=file)
    return [place[name] for name in names]


def refuse_repeated(names: Sequence[str], file: str) -> None:
    """Refuse two columns of one name: nobody could say which of them is meant."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataError(f"two columns are called {name!r}", file=file)
        seen.add(name)
