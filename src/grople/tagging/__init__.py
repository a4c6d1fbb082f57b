"""From a file of things and tags to a tagger, and back to tags: the work behind the command line.

``read_examples`` reads a file, ``fit_tagger`` learns from it, ``tag_records`` tags records to come;
``evaluate_tagger``, ``tagger_quality`` and ``compare_on`` say how well.
"""

from grople.tagging.changing import change_tagger
from grople.tagging.comparing import Comparison, compare_methods
from grople.tagging.evaluating import evaluate_tagger
from grople.tagging.explaining import Explainer, Explanation
from grople.tagging.fitting import (
    Tagger,
    compare_on,
    fit_tagger,
    load_tagger,
    tagger_quality,
)
from grople.tagging.predicting import Selection, tag_records
from grople.tagging.reading import Reading, read_examples
from grople.tagging.records import Records, open_records
from grople.tagging.writing import write_tags

__all__ = [
    "Comparison",
    "Explainer",
    "Explanation",
    "Reading",
    "Records",
    "Selection",
    "Tagger",
    "change_tagger",
    "compare_methods",
    "compare_on",
    "evaluate_tagger",
    "fit_tagger",
    "load_tagger",
    "open_records",
    "read_examples",
    "tag_records",
    "tagger_quality",
    "write_tags",
]
