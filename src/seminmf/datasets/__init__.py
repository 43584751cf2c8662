"""Data sets: those of the paper's experiments, made ones, and ways to spoil them.

Loaders look for a file in their `data_home` argument, in the folder named by the environment
variable ``SEMINMF_DATA``, in the user's cache, and then download it from the data set's public
home. Downloads are checked and need the optional package pooch.

>>> from seminmf.datasets import available, dataset_info
>>> for name in available():
...     print(name, *dataset_info(name).shape)
ionosphere 351 34
waveform 5000 21
uspst 2007 256
uspst_zip 2007 256
cifar10_test 10000 3072
"""

from ._corruption import add_gaussian_noise, add_outliers
from ._fetch import cache_folder, fetch, locate
from ._generators import make_waveform
from ._loaders import load_cifar10_test, load_ionosphere, load_uspst, load_waveform
from ._registry import DatasetInfo, Source, available, dataset_info

__all__ = [
    "DatasetInfo",
    "Source",
    "add_gaussian_noise",
    "add_outliers",
    "available",
    "cache_folder",
    "dataset_info",
    "fetch",
    "load_cifar10_test",
    "load_ionosphere",
    "load_uspst",
    "load_waveform",
    "locate",
    "make_waveform",
]
