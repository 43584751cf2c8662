"""Samples one by one: the typical ones, the outliers, and clusters against labels."""

from __future__ import annotations

import numpy as np

from ..._types import IntArray
from ..._words import counted, plural
from .chart_map import swatch
from .drawing import histogram
from .findings import Cluster, Findings
from .markup import (
    count,
    factor,
    lead,
    number,
    own,
    percent,
    reading,
    short,
    table,
    text,
)
from .pictures import shrunk

# What is shown of large models: clusters, and rows of the table of labels.
_MOST_CLUSTERS, _MOST_LABELS = 60, 40
_LONGEST_SIDE = 40


def _sample_images(found: Findings, samples: IntArray, rebuilt: bool = False) -> list[str]:
    """Addresses of images of samples, or of what the model makes of them."""
    about = found.subject
    assert about.image_shape is not None
    fitted = about.factorizer
    rows = about.rows(samples)
    if rebuilt:
        rows = np.asarray(fitted.codes_[samples] @ fitted.components_, dtype=np.float64)
    return [
        found.picture_scale.image(shrunk(row.reshape(about.image_shape), _LONGEST_SIDE))
        for row in rows
    ]


def typical_section(found: Findings) -> str:
    words = (
        "Nearest to and farthest from the centre of each cluster, with the distance of their "
        "reconstructions from it. Clusters are numbered as on the map."
    )
    if found.outliers.count:
        words += " Outliers, which have a table of their own, are left out."
    shown = found.clusters
    if len(shown) > _MOST_CLUSTERS:
        largest = sorted(shown, key=lambda c: -c.size)[:_MOST_CLUSTERS]
        shown = tuple(sorted(largest, key=lambda c: c.number))
        words += f" Shown are the {_MOST_CLUSTERS} largest of {count(len(found.clusters))}."
    cards = "".join(_cluster(found, cluster) for cluster in shown)
    return lead(words) + f'<ul class="clusters">{cards}</ul>\n'


def _cluster(found: Findings, cluster: Cluster) -> str:
    size = counted(cluster.size, "sample")
    if cluster.outliers:
        size += f", {counted(cluster.outliers, 'outlier')}"
    made = ""
    if len(cluster.parts):
        names = ", ".join(str(j) for j in cluster.parts)
        made = f'<p class="made">mostly {plural(len(cluster.parts), "part")} {names}</p>'
    body = _samples(found, "Most typical", cluster.most)
    body += _samples(found, "Least typical", cluster.least)
    return (
        f'<li class="card"><h3>{swatch("k", cluster.number)}'
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
            label = f' <span class="tag">{own(about.label(sample), 20)}</span>'
        items.append(
            f'<li>{picture}<span class="id">{name}</span>{label} '
            f'<span class="size">{number(found.distances[sample], 2)}</span></li>'
        )
    kind = "strip" if images is not None else "list"
    return f'<h4>{title}</h4><ol class="{kind}">{"".join(items)}</ol>'


def outliers_section(found: Findings) -> str:
    outliers, about = found.outliers, found.subject
    n = len(outliers.scores)
    words = (
        "The outlier score of a sample is its distance from what the other samples say of it: by "
        "parts that were found without it, or by its neighbours. The threshold follows from how "
        "the usual scores are spread; where there are no outliers, about two samples in a hundred "
        "lie beyond it."
    )
    facts = [
        ("median score", number(outliers.median)),
        ("threshold", number(outliers.threshold)),
        ("largest", number(outliers.scores.max())),
        ("outliers", f"{count(outliers.count)} of {count(n)}"),
    ]
    header = ["Rank", "Sample", "Score", "Ratio to median", "Cluster", "Outlier"]
    if about.labels is not None:
        header.insert(5, "Label")
    images: list[list[str]] = [[] for _ in outliers.ranked]
    if about.image_shape is not None:
        header += ["Image", "Rebuilt"]
        for rebuilt, alt in ((False, "The sample"), (True, "What the parts make of it")):
            sources = _sample_images(found, outliers.ranked, rebuilt)
            for shown, source in zip(images, sources, strict=True):
                shown.append(f'<img class="pixels" src="{source}" alt="{alt}">')
    rows = []
    for rank, sample in enumerate(outliers.ranked):
        flag = '<span class="flag">outlier</span>' if outliers.flagged[sample] else "no"
        row = [
            str(rank + 1),
            own(about.name(sample)),
            number(outliers.scores[sample], 4),
            factor(outliers.ratio(sample)),
            swatch("k", found.cluster_of[sample]) + str(found.cluster_of[sample]),
            flag,
        ]
        if about.labels is not None:
            row.insert(5, own(about.label(sample), 32))
        rows.append(row + images[rank])
    caption = f"The {counted(len(rows), 'sample')} with the largest outlier scores"
    return (
        lead(words)
        + reading(histogram(outliers.scores, outliers.threshold), facts)
        + table(caption, header, rows, kind="ranking", head=1)
    )


def agreement_section(found: Findings) -> str:
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
    header = ["Label", *(swatch("k", j) + str(j) for j in columns), "All"]
    rows = []
    for i in order:
        row: list[str | tuple[str, str]] = [own(labels.names[i], 32)]
        for j in columns:
            heat = min(5, int(np.ceil(5 * share[i, j]))) if counts[i, j] else 0
            shown = count(counts[i, j]) if counts[i, j] else "·"
            row.append((f"<strong>{shown}</strong>" if best[j] == i else shown, f"h{heat}"))
        rows.append([*row, count(counts[i].sum())])
    caption = "Samples of each label in each cluster; a cluster's commonest label in bold"
    return lead(words) + table(caption, header, rows, kind="confusion")
