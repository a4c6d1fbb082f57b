"""From a file of things and tags to a tagger and back."""

from grople.tagging._changing import Change, change_tagger
from grople.tagging._drawing import PICTURES, check_picture, draw_comparison, plot_comparison
from grople.tagging._examples import Examples, load_embeddings, with_embeddings
from grople.tagging._explaining import Explainer, Explanation
from grople.tagging._features import (
    FeatureSettings,
    check_embeddings,
    learn_features,
    rows_of,
)
from grople.tagging._fitting import (
    TAIL,
    DataFacts,
    Tagger,
    fit_tagger,
    load_tagger,
    named_labels,
)
from grople.tagging._large import fit_tagger_in_blocks, is_large, open_blocks
from grople.tagging._predicting import (
    Selection,
    Tag,
    TaggedRow,
    open_tagger_records,
    select_labels,
    tag_records,
)
from grople.tagging._quality import (
    Evaluation,
    check_folds,
    compare_on,
    evaluate_tagger,
    tagger_quality,
)
from grople.tagging._writing import FORMATS, output, write_tags

__all__ = [
    "FORMATS",
    "PICTURES",
    "TAIL",
    "Change",
    "DataFacts",
    "Evaluation",
    "Examples",
    "Explainer",
    "Explanation",
    "FeatureSettings",
    "Selection",
    "Tag",
    "TaggedRow",
    "Tagger",
    "change_tagger",
    "check_embeddings",
    "check_folds",
    "check_picture",
    "compare_on",
    "draw_comparison",
    "evaluate_tagger",
    "fit_tagger",
    "fit_tagger_in_blocks",
    "is_large",
    "learn_features",
    "load_embeddings",
    "load_tagger",
    "named_labels",
    "open_blocks",
    "open_tagger_records",
    "output",
    "plot_comparison",
    "rows_of",
    "select_labels",
    "tag_records",
    "tagger_quality",
    "with_embeddings",
    "write_tags",
]
