"""The sections of a report, each from the findings alone."""

from __future__ import annotations

import re

import numpy as np

from ...experiments.environment import environment
from .again import goes_on, parameters, recipe, seed_known, value_text
from .chart_map import map_figure
from .drawing import line
from .findings import Findings
from .markup import count, lead, number, percent, reading, short, table, text
from .overview import overview_section
from .part_cards import parts_section, uses_section
from .sample_tables import agreement_section, outliers_section, typical_section

_VERSIONS = ("python", "seminmf", "numpy", "scipy", "scikit-learn", "numba", "system")
_FORMULAS = {
    "NMF": "‖X − V Uᵀ‖²   over U ≥ 0, V ≥ 0",
    "SemiNMF": "‖X − V Uᵀ‖²   over U, V ≥ 0",
    "GraphSemiNMF": "‖X − V Uᵀ‖² + α Σ w_ij ‖v_i − v_j‖² + β Σ ‖u_j‖   over U, V ≥ 0",
    "L21SemiNMF": "Σ ‖x_i − U v_i‖ + α Σ w_ij ‖v_i − v_j‖ + β Σ ‖u_j‖   over U, V ≥ 0",
    "RobustSemiNMF": "Σ ρ(‖x_i − U v_i‖) + α Σ w_ij ‖v_i − v_j‖ + β Σ ‖u_j‖   over U, V ≥ 0",
}

Section = tuple[str, str, str]
"""Name, title and HTML."""


def sections(found: Findings) -> list[Section]:
    """All sections that these findings have, in order."""
    made = [
        ("samples-map", "A map of the samples", _map(found)),
        ("parts", "The parts", parts_section(found)),
        ("uses", "Who uses which part", uses_section(found)),
        ("typical", "Typical samples", typical_section(found)),
        ("outliers", "Outliers", outliers_section(found)),
    ]
    if found.agreement is not None:
        made.append(("labels", "Clusters and labels", agreement_section(found)))
    made.append(("data", "The data", overview_section(found.subject, found.overview)))
    made.append(("objective", "The fall of the objective", _objective(found)))
    made.append(("again", "How it was made", _again(found)))
    return made


def _objective(found: Findings) -> str:
    fitted = found.subject.factorizer
    history = np.asarray(fitted.objective_history_, dtype=np.float64)
    words = "What the fit minimises, after each of its iterations"
    words += "." if fitted.converged_ else "; it was ended by their limit, not by convergence."
    formula = _FORMULAS.get(type(fitted).__name__)
    if formula:
        if getattr(fitted, "l1_", 0.0) > 0:
            formula = formula.replace("   over", " + μ Σ π(v_iq)   over")
        written = re.sub(r"_(\w+)", r"<sub>\1</sub>", text(formula))
        words += f'</p><p class="formula lead">{written}'
    last = "–"
    if len(history) > 1 and history[-2] != 0:
        last = percent(1 - history[-1] / history[-2], 4)
    facts = [
        ("first", number(history[0], 4)),
        ("last", number(history[-1], 4)),
        ("fall in the last iteration", last),
        ("distance from optimality", number(fitted.kkt_residual_, 2)),
    ]
    return lead(words) + reading(line(history), facts)


def _map(found: Findings) -> str:
    words = (
        "Each point is a sample. By codes, samples that are made of the same parts in similar "
        "amounts are near each other; by neighbours, those that are alike in the data. Point at "
        "one, touch it, or use the arrow keys to see what it is; drag and pinch, or + and −, to "
        "look closer."
    )
    return lead(words) + map_figure(found)


def _again(found: Findings) -> str:
    about = found.subject
    fitted = about.factorizer
    around = [] if about.clusters is None else [("FactorKMeans ", about.clusters)]
    rows = [
        (f"{whose}<code>{text(name)}</code>", f"<code>{text(short(value_text(value), 80))}</code>")
        for whose, estimator in (("", fitted), *around)
        for name, value in parameters(estimator).items()
        if name != "factorizer"
    ]
    outcome = [
        ("objective", number(fitted.objective_, 6)),
        ("parts in use", f"{count(fitted.n_active_)} of {count(len(fitted.components_))}"),
        ("iterations", count(fitted.n_iter_)),
        ("converged", "yes" if fitted.converged_ else "no"),
        ("distance from optimality (KKT)", number(fitted.kkt_residual_)),
        ("α used", number(fitted.alpha_)),
        ("β used", number(fitted.beta_)),
    ]
    if getattr(fitted, "l1_", 0.0) > 0:
        outcome.append(("μ used", number(fitted.l1_)))
    if hasattr(fitted, "loss_") and fitted.loss_.get_params():
        outcome.append(("ρ used", f"<code>{text(str(fitted.loss_))}</code>"))
    here = environment()
    versions = [(text(name), text(here[name])) for name in _VERSIONS if name in here]
    words = "With the same data and versions this program makes the same model again."
    if goes_on(found):
        words = "The fit went on from an earlier one, which this program does not make."
    elif not seed_known(found):
        words += " The seed of the fit is not known; with another one numbers may differ."
    if found.cluster_seed is not None:
        words += (
            " The model has no clusters of its own: those shown are what "
            f"<code>FactorKMeans</code> finds with seed {found.cluster_seed}."
        )
    return (
        lead(words)
        + '<pre class="code" tabindex="0" role="region" aria-label="Python program" id="recipe">'
        + f"<code>{text(recipe(found))}</code></pre>\n"
        + '<div class="columns">'
        + table(f"Parameters of {type(fitted).__name__}", ["Name", "Value"], rows, kind="facts")
        + table("Outcome", ["Name", "Value"], outcome, kind="facts")
        + table("Versions", ["Name", "Version"], versions, kind="facts")
        + "</div>\n"
    )
