"""What is known of each data set: shape, classes, file names, homes, checksums, licence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Format = Literal["delimited", "digits", "libsvm", "cifar"]


@dataclass(frozen=True)
class Source:
    """One public address of a data set.

    Attributes
    ----------
    url : str
        Address of the download.
    filename : str
        Name under which the data are kept after the download.
    known_hash : str or None
        Published checksum of the download, as ``"algorithm:hex"``. None where no checksum of the
        archive is published: then the numbers inside are checked against
        `DatasetInfo.content_sha256`.
    unpack : bool
        Whether to keep only the data file of the archive, uncompressed.
    """

    url: str
    filename: str
    known_hash: str | None = None
    unpack: bool = False


@dataclass(frozen=True)
class DatasetInfo:
    """Facts about one data set.

    Attributes
    ----------
    name : str
        The name used by `seminmf.datasets.fetch`.
    description : str
        What the data are, in a few sentences.
    n_samples, n_features : int
        Shape of the data matrix.
    class_names, class_counts : tuple
        Names of the classes 0, 1, ... and their numbers of samples.
    dtype : {"float64", "uint8"}
        Type of the entries as they are stored.
    format : str
        Which reader understands the original file.
    files : tuple of str
        Accepted files, in the order in which each folder is searched for them.
    sources : tuple of Source
        Where the data can be downloaded, in the order in which they are tried.
    original, sha256 : str
        Name of the original data file (inside the archive, if there is one) and its checksum.
    content_sha256 : str
        Checksum of the numbers themselves, the same for every file format.
    licence, homepage : str
        Terms of use as far as they are stated, and where to read more.
    """

    name: str
    description: str
    n_samples: int
    n_features: int
    class_names: tuple[str, ...]
    class_counts: tuple[int, ...]
    format: Format
    files: tuple[str, ...]
    sources: tuple[Source, ...]
    original: str
    sha256: str
    content_sha256: str
    licence: str
    homepage: str
    dtype: Literal["float64", "uint8"] = "float64"

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the data matrix, samples as rows."""
        return self.n_samples, self.n_features

    @property
    def urls(self) -> tuple[str, ...]:
        """Public addresses of the data."""
        return tuple(source.url for source in self.sources)


def available() -> tuple[str, ...]:
    """Return the names of all data sets."""
    return tuple(DATASETS)


def dataset_info(name: str) -> DatasetInfo:
    """Return the facts about the data set called `name`.

    Parameters
    ----------
    name : str
        One of `available()`.

    Returns
    -------
    info : DatasetInfo
    """
    try:
        return DATASETS[name]
    except KeyError:
        known = ", ".join(DATASETS)
        raise ValueError(f"name={name!r} is not a known data set; use one of: {known}.") from None


_CIFAR10_CLASSES = (
    *("airplane", "automobile", "bird", "cat", "deer"),
    *("dog", "frog", "horse", "ship", "truck"),
)
_ESL = "https://hastie.su.domains/ElemStatLearn"
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
_UCI = "https://archive.ics.uci.edu"
_UCI_OLD = f"{_UCI}/ml/machine-learning-databases"
_DIGITS = tuple("0123456789")
_USPST_COUNTS = (359, 264, 198, 166, 200, 160, 170, 147, 166, 177)
_USPST_TEXT = (
    "The 2007 test images of the US Postal Service handwritten digits (Hull 1994; LeCun et al. "
    "1990), 16 x 16 grey values in [-1, 1], row by row. "
)

DATASETS: dict[str, DatasetInfo] = {
    "ionosphere": DatasetInfo(
        name="ionosphere",
        description=(
            "Radar returns from the ionosphere (Sigillito, Wing, Hutton, Baker 1989): the real and "
            "imaginary parts of 17 complex values of an autocorrelation function, each in "
            "[-1, 1]; class g if the return shows structure in the ionosphere, b if not. "
            "The second column is zero throughout."
        ),
        n_samples=351,
        n_features=34,
        class_names=("b", "g"),
        class_counts=(126, 225),
        format="delimited",
        files=("ionosphere.npz", "ionosphere.data", "ionosphere.zip"),
        sources=(
            Source(f"{_UCI}/static/public/52/ionosphere.zip", "ionosphere.data", unpack=True),
            Source(
                f"{_UCI_OLD}/ionosphere/ionosphere.data",
                "ionosphere.data",
                "sha256:46d52186b84e20be52918adb93e8fb9926b34795ff7504c24350ae0616a04bbd",
            ),
        ),
        original="ionosphere.data",
        sha256="46d52186b84e20be52918adb93e8fb9926b34795ff7504c24350ae0616a04bbd",
        content_sha256="125d63088635dcac1f60359346624f85570da4cbebf3ce686d5983efe039b382",
        licence="CC BY 4.0",
        homepage="https://doi.org/10.24432/C5W01B",
    ),
    "waveform": DatasetInfo(
        name="waveform",
        description=(
            "Waveform Database Generator, version 1 (Breiman et al. 1984): 21 points of a random "
            "mixture of two of three triangular waves plus unit noise, two decimals; the class is "
            "the pair of waves. seminmf.datasets.make_waveform draws more of the same."
        ),
        n_samples=5000,
        n_features=21,
        class_names=("0", "1", "2"),
        class_counts=(1657, 1647, 1696),
        format="delimited",
        files=(
            "waveform.npz",
            "waveform.data",
            "waveform.data.Z",
            "waveform+database+generator+version+1.zip",
        ),
        sources=(
            Source(
                f"{_UCI}/static/public/107/waveform+database+generator+version+1.zip",
                "waveform.data",
                unpack=True,
            ),
            Source(f"{_UCI_OLD}/waveform/waveform.data.Z", "waveform.data", unpack=True),
        ),
        original="waveform.data",
        sha256="da332f3121943f586826f5d1b2cdd354548c59f71ddbf28c4d0c2eb623d7bfc3",
        content_sha256="6b307b22d39b5417fec7973e5199668bbbb8c4ff11f6f7e9438355b344fddc28",
        licence="CC BY 4.0",
        homepage="https://doi.org/10.24432/C5CS3C",
    ),
    "uspst": DatasetInfo(
        name="uspst",
        description=_USPST_TEXT + "As prepared for the LIBSVM collection (usps.t).",
        n_samples=2007,
        n_features=256,
        class_names=_DIGITS,
        class_counts=_USPST_COUNTS,
        format="libsvm",
        files=("uspst.npz", "usps.t.bz2", "usps.t"),
        sources=(
            Source(
                f"{_LIBSVM}/multiclass/usps.t.bz2",
                "usps.t.bz2",
                "sha256:a9c0164e797d60142a50604917f0baa604f326e9a689698763793fa5d12ffc4e",
            ),
        ),
        original="usps.t.bz2",
        sha256="a9c0164e797d60142a50604917f0baa604f326e9a689698763793fa5d12ffc4e",
        content_sha256="fd548e5610767e6b0c25cd23285ee4524d5557d272368d9a801187a960d64f32",
        licence="not stated",
        homepage=f"{_LIBSVM}/multiclass.html#usps",
    ),
    "uspst_zip": DatasetInfo(
        name="uspst_zip",
        description=_USPST_TEXT
        + "As prepared for The Elements of Statistical Learning (zip.test): the images of uspst "
        "in the same order, but with other grey values.",
        n_samples=2007,
        n_features=256,
        class_names=_DIGITS,
        class_counts=_USPST_COUNTS,
        format="digits",
        files=("uspst_zip.npz", "zip.test.gz", "zip.test"),
        sources=(Source(f"{_ESL}/datasets/zip.test.gz", "zip.test.gz"),),
        original="zip.test",
        sha256="6bde17b4f1cd68e0630cd2751d6495b5795d9165ab2dc4a0be8b7002b732f4cc",
        content_sha256="8a7f90386d4ee6c4fb411c833aaf52240cc397512a0868e6a35d20251f09f511",
        licence="not stated",
        homepage=f"{_ESL}/data.html",
    ),
    "cifar10_test": DatasetInfo(
        name="cifar10_test",
        description=(
            "The 10000 test images of CIFAR-10 (Krizhevsky 2009), 32 x 32 pixels: 1024 red, 1024 "
            "green and 1024 blue values per row, each plane row by row."
        ),
        n_samples=10_000,
        n_features=3072,
        class_names=_CIFAR10_CLASSES,
        class_counts=(1000,) * 10,
        dtype="uint8",
        format="cifar",
        files=(
            "cifar10_test.npz",
            "test_batch.bin",
            "cifar-10-batches-bin/test_batch.bin",
            "cifar-10-binary.tar.gz",
        ),
        sources=(
            Source(
                "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                "test_batch.bin",
                "sha256:c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
                unpack=True,
            ),
        ),
        original="test_batch.bin",
        sha256="8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
        content_sha256="2c33b053d1cd726af8d86e174a96dd89d7000ba1412add026d68142375b89d51",
        licence="not stated",
        homepage="https://www.cs.toronto.edu/~kriz/cifar.html",
    ),
}
