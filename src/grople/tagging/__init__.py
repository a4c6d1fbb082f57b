"""From a file of things and tags to a tagger, and back to tags: the work behind the command line.

| module | what it holds |
|---|---|
| ``drawing`` | pictures of a comparison |
| ``large`` | taggers from files that need not fit into memory |
| ``fitting``, ``changing`` | a tagger: fit, store, add and remove rows |
| ``predicting``, ``explaining``, ``writing`` | tags, why, and to which file |
| ``evaluating`` | measures on rows that a tagger has not seen |
"""
