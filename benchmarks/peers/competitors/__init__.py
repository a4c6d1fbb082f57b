"""One file a competitor.

Each has ``fit(X, Y, **options)``, which returns a model, and ``scores(model, X, k)``, which returns
a dense array of scores or a sparse matrix of at least the k best labels of each row. A competitor
that reads files has ``prepare(X, Y)``, which writes them and returns the arguments of its ``fit``.
One with a decision of its own has ``fit_decided``, ``predict`` and ``ranking``, but no ``scores``.
"""
