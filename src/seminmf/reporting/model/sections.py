"""The sections of a report, each from the findings alone."""

from __future__ import annotations

import numpy as np

from ..._types import FloatArray, IntArray
from ...experiments.environment import environment
from .again import recipe, value_text
from .chart_map import COLOURS, map_figure
from .drawing import bar, histogram, line, profile
from .findings import Cluster, Findings
from .markup import count, factor, number, own, percent, scrolling, short, table, text
from .pictures import Scale, shrunk

__all__ = ["Section", "sections"]

# What is shown of large models: parts, features of a part, clusters, rows of the confusion table.
_MOST_PARTS, _MOST_FEATURES, _MOST_CLUSTERS, _MOST_LABELS = 60, 12, 60, 40
# Unnamed features are drawn as a signal from this number on; fewer are bars.
_SIGNAL = 8
_PART_SIDE, _SAMPLE_SIDE = 96, 40
_VERSIONS = ("python", "seminmf", "numpy", "scipy", "scikit-learn", "numba", "system")
_FORMULAS = {
    "NMF": "‖X − V Uᵀ‖² over U ≥ 0 and V ≥ 0",
    "SemiNMF": "‖X − V Uᵀ‖² over U and V ≥ 0",
    "GraphSemiNMF": "‖X − V Uᵀ‖² + α Σ w_ij ‖v_i − v_j‖² + β Σ ‖u_j‖ over U and V ≥ 0",
    "L21SemiNMF": "Σ ‖x_i − U v_i‖ + α Σ w_ij ‖v_i − v_j‖ + β Σ ‖u_j‖ over U and V ≥ 0",
}

Section = tuple[str, str, str]
"""Name, title and HTML."""


def sections(found: Findings) -> list[Section]:
    """All sections that these findings have, in order."""
    made = [
        ("objective", "The fall of the objective", _objective(found)),
        ("samples-map", "A map of the samples", _map(found)),
        ("parts", "The parts", _parts(found)),
        ("typical", "Typical samples", _typical(found)),
        ("outliers", "Outliers", _outliers(found)),
    ]
    if found.agreement is not None:
        made.append(("labels", "Clusters and labels", _agreement(found)))
    made.append(("again", "How it was made", _again(found)))
    return made


def _lead(words: str) -> str:
    return f'<p class="lead">{words}</p>\n'


def _objective(found: Findings) -> str:
    fitted = found.subject.factorizer
    history = np.asarray(fitted.objective_history_, dtype=np.float64)
    formula = _FORMULAS.get(type(fitted).__name__)
    words = f"The fit minimises {text(formula)}. " if formula else ""
    words += f"It went from {number(history[0], 4)} to {number(history[-1], 4)}"
    if len(history) > 1 and history[-2] != 0:
        change = 1 - history[-1] / history[-2]
        words += f"; the last iteration lowered it by {number(100 * change, 2)} %"
    words += "." if fitted.converged_ else ", and the limit of iterations ended it."
    return _lead(words) + f'<figure class="card">{line(history)}</figure>\n'


def _map(found: Findings) -> str:
    words = (
        "Each point is a sample, placed by its codes: neighbours are made of the same parts in "
        "similar amounts. Point at one, touch it, or use the arrow keys to see what it is."
    )
    return _lead(words) + map_figure(found)


def _parts(found: Findings) -> str:
    about = found.subject
    parts = np.asarray(about.factorizer.components_, dtype=np.float64)
    largest = float(np.abs(parts).max(initial=0.0))
    signed = bool((parts < 0).any())
    words = (
        f"Every sample is a sum, with weights that are never negative, of these {count(len(parts))} "
        f"parts, numbered as in <code>components_</code>. "
    )
    if signed:
        words += '<span class="key pos"></span>above and <span class="key neg"></span>below zero, '
        words += "all on one scale. "
    m = parts.shape[1]
    as_signal = about.image_shape is None and not about.named and m >= _SIGNAL
    if as_signal:
        words += f"Each is drawn over the {count(m)} features in their order."
    elif about.image_shape is None and m > _MOST_FEATURES:
        words += f"Of {count(m)} features the {_MOST_FEATURES} largest of each part are shown."
    order = np.arange(len(parts))
    if len(parts) > _MOST_PARTS:
        order = np.sort(np.argsort(-found.usage, kind="stable")[:_MOST_PARTS])
        words += f" Shown are the {_MOST_PARTS} parts that the samples use most."
    cards = []
    for j in order:
        title = f'Part {j} <span class="aside">{percent(found.usage[j])} of the weight</span>'
        if about.image_shape is not None:
            body = _part_image(parts[j], about.image_shape, largest, signed, int(j))
        elif as_signal:
            top = ", ".join(about.feature_names[i] for i in _top(parts[j], 3))
            label = f"Part {j} over the features; largest in size at {top}."
            body = profile(parts[j], largest, label)
        else:
            body = _part_bars(parts[j], about.feature_names, largest, signed, int(j))
        cards.append(f'<li class="card part"><h3>{title}</h3>{body}</li>')
    kind = "parts images" if about.image_shape is not None else "parts"
    return _lead(words) + f'<ul class="{kind}">{"".join(cards)}</ul>\n'


def _top(part: FloatArray, wanted: int) -> IntArray:
    return np.argsort(-np.abs(part), kind="stable")[:wanted]


def _part_image(
    part: FloatArray, shape: tuple[int, int], largest: float, signed: bool, number_: int
) -> str:
    scale = Scale(largest, signed)
    address = scale.image(shrunk(part.reshape(shape), _PART_SIDE))
    return f'<img class="pixels" src="{address}" alt="Part {number_} as an image">'


def _part_bars(
    part: FloatArray, names: tuple[str, ...], largest: float, signed: bool, number_: int
) -> str:
    rows = "".join(
        f'<tr><th scope="row">{own(names[i], 40)}</th>'
        f"<td>{bar(part[i], largest, signed)}</td><td>{number(part[i])}</td></tr>"
        for i in _top(part, _MOST_FEATURES)
    )
    return (
        f'<table class="bars"><caption class="hidden">Part {number_}: its largest features'
        '</caption><thead class="hidden"><tr><th scope="col">feature</th><th scope="col">bar</th>'
        f'<th scope="col">value</th></tr></thead><tbody>{rows}</tbody></table>'
    )


def _sample_images(found: Findings, samples: IntArray, rebuilt: bool = False) -> list[str]:
    """Addresses of images of samples, or of what the model makes of them."""
    about = found.subject
    assert about.image_shape is not None
    fitted = about.factorizer
    some = about.rows(found.plane.drawn[:500])
    rows = about.rows(samples)
    if rebuilt:
        rows = np.asarray(fitted.codes_[samples] @ fitted.components_, dtype=np.float64)
    scale = Scale.of(some)
    return [scale.image(shrunk(row.reshape(about.image_shape), _SAMPLE_SIDE)) for row in rows]


def _typical(found: Findings) -> str:
    words = (
        "Nearest to and farthest from the centre of each cluster, by the distance of their codes "
        "(in brackets). Clusters are numbered as on the map."
    )
    if found.outliers.count:
        words += " Outliers, which have a table of their own, are left out."
    shown = found.clusters
    if len(shown) > _MOST_CLUSTERS:
        largest = sorted(shown, key=lambda c: -c.size)[:_MOST_CLUSTERS]
        shown = tuple(sorted(largest, key=lambda c: c.number))
        words += f" Shown are the {_MOST_CLUSTERS} largest of {count(len(found.clusters))}."
    cards = "".join(_cluster(found, cluster) for cluster in shown)
    return _lead(words) + f'<ul class="clusters">{cards}</ul>\n'


def _cluster(found: Findings, cluster: Cluster) -> str:
    size = f"{count(cluster.size)} sample{'s' if cluster.size != 1 else ''}"
    if cluster.outliers:
        size += f", {count(cluster.outliers)} of them outliers"
    made = ""
    if len(cluster.parts):
        names = ", ".join(str(j) for j in cluster.parts)
        made = f'<p class="made">mostly part{"s" if len(cluster.parts) > 1 else ""} {names}</p>'
    body = _samples(found, "Most typical", cluster.most)
    body += _samples(found, "Least typical", cluster.least)
    return (
        f'<li class="card"><h3><span class="swatch k{cluster.number % COLOURS}"></span>'
        f'Cluster {cluster.number} <span class="aside">{size}</span></h3>{made}{body}</li>'
    )


def _samples(found: Findings, title: str, samples: IntArray) -> str:
    if not len(samples):
        return ""
    about = found.subject
    images = _sample_images(found, samples) if about.image_shape is not None else None
    items = []
    for place, sample in enumerate(samples):
        name = own(about.name(sample), 32)
        picture = ""
        if images is not None:
            alt = f"Sample {short(about.name(sample))} as an image"
            picture = f'<img class="pixels" src="{images[place]}" alt="{text(alt)}">'
        label = ""
        if about.labels is not None:
            label = f' <span class="tag">{own(about.labels.names[about.labels.codes[sample]], 20)}</span>'
        items.append(
            f'<li>{picture}<span class="id">{name}</span>{label} '
            f'<span class="size">({number(found.distances[sample])})</span></li>'
        )
    kind = "strip" if images is not None else "list"
    return f'<h4>{title}</h4><ol class="{kind}">{"".join(items)}</ol>'


def _outliers(found: Findings) -> str:
    outliers, about = found.outliers, found.subject
    n = len(outliers.residuals)
    words = (
        "The residual of a sample is its distance from what the parts can make. "
        f"Beyond {number(outliers.fence)}, the third quartile plus three times the distance "
        "between the quartiles, a sample counts as an outlier and has no say in the clusters: "
    )
    share = percent(outliers.count / n, 1)
    words += f"{count(outliers.count)} of {count(n)} ({share})." if outliers.count else "none here."
    header = ["Rank", "Sample", "Residual", "× median", "Cluster", "Outlier"]
    if about.labels is not None:
        header.insert(5, "Label")
    images: list[str] = []
    if about.image_shape is not None:
        header += ["Image", "Rebuilt"]
        pairs = zip(
            _sample_images(found, outliers.ranked),
            _sample_images(found, outliers.ranked, rebuilt=True),
            strict=True,
        )
        images = [
            f'<img class="pixels" src="{image}" alt="The sample">'
            f'</td><td><img class="pixels" src="{rebuilt}" alt="What the parts make of it">'
            for image, rebuilt in pairs
        ]
    rows = []
    for rank, sample in enumerate(outliers.ranked):
        flag = '<span class="flag">outlier</span>' if outliers.flagged[sample] else "no"
        row = [
            str(rank + 1),
            own(about.name(sample)),
            number(outliers.residuals[sample], 4),
            factor(outliers.ratio(sample)),
            f'<span class="swatch k{found.cluster_of[sample] % COLOURS}"></span>'
            f"{found.cluster_of[sample]}",
            flag,
        ]
        if about.labels is not None:
            row.insert(5, own(about.labels.names[about.labels.codes[sample]], 32))
        rows.append(row + images[rank : rank + 1])
    caption = f"The {len(rows)} samples with the largest residuals"
    return (
        _lead(words)
        + f'<figure class="card">{histogram(outliers.residuals, outliers.fence)}</figure>\n'
        + table(caption, header, rows, kind="ranking", head=1)
    )


def _agreement(found: Findings) -> str:
    agreement, labels = found.agreement, found.subject.labels
    assert agreement is not None
    assert labels is not None
    words = (
        f"If every cluster takes its commonest label, {percent(agreement.accuracy, 1)} of the "
        f"samples get their own; the normalised mutual information with the labels is "
        f"{percent(agreement.nmi, 1)}."
    )
    if found.outliers.count:
        words += (
            f" Without the outliers: {percent(agreement.accuracy_inside, 1)} and "
            f"{percent(agreement.nmi_inside, 1)}."
        )
    words += " The labels took no part in the fit."
    counts = agreement.counts
    order = np.arange(len(counts))
    if len(order) > _MOST_LABELS:
        order = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:_MOST_LABELS])
        words += f" The table has the {_MOST_LABELS} commonest of {count(len(counts))} labels."
    columns = [c.number for c in found.clusters]
    best = counts.argmax(axis=0)
    share = counts / np.maximum(counts.sum(axis=0), 1)
    header = ["Label", *(f'<span class="swatch k{j % COLOURS}"></span>{j}' for j in columns), "All"]
    body = []
    for i in order:
        cells = [f'<th scope="row">{own(labels.names[i], 32)}</th>']
        for j in columns:
            heat = min(5, int(np.ceil(5 * share[i, j]))) if counts[i, j] else 0
            shown = count(counts[i, j]) if counts[i, j] else "·"
            strong = f"<strong>{shown}</strong>" if best[j] == i else shown
            cells.append(f'<td class="h{heat}">{strong}</td>')
        cells.append(f"<td>{count(counts[i].sum())}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    heads = "".join(f'<th scope="col">{name}</th>' for name in header)
    caption = "Samples of each label in each cluster; a cluster's commonest label in bold"
    inner = (
        f'<table class="confusion"><caption>{caption}</caption><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table>"
    )
    return _lead(words) + scrolling(inner, caption)


def _again(found: Findings) -> str:
    about = found.subject
    fitted = about.factorizer
    rows = [
        (f"<code>{text(name)}</code>", f"<code>{text(short(value_text(value), 80))}</code>")
        for name, value in fitted.get_params(deep=False).items()
    ]
    if about.model is not fitted:
        for name in ("n_clusters", "random_state"):
            value = value_text(getattr(about.model, name))
            rows.append(
                (f"FactorKMeans <code>{name}</code>", f"<code>{text(short(value, 80))}</code>")
            )
    outcome = [
        ("objective", number(fitted.objective_, 6)),
        ("iterations", count(fitted.n_iter_)),
        ("converged", "yes" if fitted.converged_ else "no"),
        ("distance from optimality (KKT)", number(fitted.kkt_residual_)),
        ("α used", number(fitted.alpha_)),
        ("β used", number(fitted.beta_)),
    ]
    here = environment()
    versions = [(text(name), text(here[name])) for name in _VERSIONS if name in here]
    seed = ""
    if found.cluster_seed is not None:
        seed = (
            " The model has no clusters of its own: those shown are k-means on its codes, as in "
            f"<code>FactorKMeans</code>, with seed {found.cluster_seed}."
        )
    unseeded = getattr(about.model, "random_state", None) is None
    if unseeded and getattr(fitted, "random_state", None) is None:
        seed += " No seed was given; with one the numbers come back exactly."
    words = "With the same data and versions this program makes the same model again." + seed
    return (
        _lead(words)
        + '<pre class="code" tabindex="0" role="region" aria-label="Python program" id="recipe">'
        + f"<code>{text(recipe(found))}</code></pre>\n"
        + '<div class="columns">'
        + table(f"Parameters of {type(fitted).__name__}", ["Name", "Value"], rows, kind="facts")
        + table("Outcome", ["Name", "Value"], outcome, kind="facts")
        + table("Versions", ["Name", "Version"], versions, kind="facts")
        + "</div>\n"
    )
