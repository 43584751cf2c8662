"""
In a pipeline, with a grid search
=================================

The factorizations are scikit-learn transformers: the codes can be the input of a classifier, and
the number of parts can be chosen by cross-validation. `transform` gives the codes of samples that
were not in the fit.
"""

import warnings

from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from seminmf import L21SemiNMF

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=800, random_state=0)

pipeline = make_pipeline(
    StandardScaler(), L21SemiNMF(random_state=0), MinMaxScaler(), LogisticRegression(C=10)
)
search = GridSearchCV(pipeline, {"l21seminmf__n_components": [2, 5, 10, 20, 30]}, cv=3)
with warnings.catch_warnings():
    # Neither the factorization nor the classifier has to be at its end for a first look.
    warnings.simplefilter("ignore", ConvergenceWarning)
    search.fit(X_train, y_train)

print(f"best number of parts: {search.best_params_['l21seminmf__n_components']}")
print(f"accuracy in cross-validation: {search.best_score_:.3f}")
print(f"accuracy on samples not seen: {search.score(X_test, y_test):.3f}")

# %%

results = search.cv_results_
fig, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
axis.errorbar(
    results["param_l21seminmf__n_components"].astype(int),
    results["mean_test_score"],
    results["std_test_score"],
    marker="o",
    capsize=3,
)
axis.set(xlabel="n_components", ylabel="accuracy (3 folds)")
plt.show()
