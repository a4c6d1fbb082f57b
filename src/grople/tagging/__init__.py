"""From a file of things and tags to a tagger, and back to tags: the work behind the command line.

| module | what it holds |
|---|---|
| ``reading`` | files with labels, and how to read files to come |
| ``records``, ``record_formats`` | records to tag, in blocks |
| ``drawing`` | pictures of a comparison |
| ``fitting``, ``changing`` | a tagger: fit, store, add and remove rows |
| ``predicting``, ``explaining``, ``writing`` | tags, why, and to which file |
| ``evaluating`` | measures on rows that a tagger has not seen |
"""
