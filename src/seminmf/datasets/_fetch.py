"""Find a data set on this computer, or download it."""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ._formats import content_sha256, read_stream, unpack
from ._registry import DatasetInfo, Source, dataset_info

ENVIRONMENT_VARIABLE = "SEMINMF_DATA"
RETRIES = 2  # further attempts per address, after the first
TIMEOUT = (10, 60)  # seconds to connect, and between two pieces of the answer
CHUNK = 2**16  # bytes per piece
PathLike = str | os.PathLike[str]


def locate(name: str, data_home: PathLike | None = None) -> Path | None:
    """Return the file of a data set on this computer, or None.

    Parameters
    ----------
    name : str
        One of `seminmf.datasets.available()`.
    data_home : path, optional
        A folder to look in before all others.

    Returns
    -------
    path : Path or None
        The first file found in `data_home`, in the folder named by the environment variable
        ``SEMINMF_DATA``, and in the user's cache.
    """
    info = dataset_info(name)
    for folder in _folders(data_home):
        for file in info.files:
            if (folder / file).is_file():
                return folder / file
    return None


def fetch(name: str, data_home: PathLike | None = None) -> Path:
    """Return the file of a data set, downloading it if it is not on this computer.

    Parameters
    ----------
    name : str
        One of `seminmf.datasets.available()`.
    data_home : path, optional
        A folder to look in before all others, and to write a download to. It is created if
        needed. By default downloads go to the user's cache (see `cache_folder`).

    Returns
    -------
    path : Path
        A file that the loaders can read.

    Raises
    ------
    FileNotFoundError
        If the data set is not here and cannot be downloaded. The message says why, and where to
        put a file that was obtained in another way.
    """
    found = locate(name, data_home)
    return _download(dataset_info(name), data_home) if found is None else found


def cache_folder() -> Path:
    """Return the user's cache folder of this package, the same as ``pooch.os_cache("seminmf")``.

    It is worked out here so that files found in it do not need pooch.
    """
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(local) / "seminmf" / "seminmf" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "seminmf"
    base = os.environ.get("XDG_CACHE_HOME", "").strip()
    return (Path(base).expanduser() if base else Path.home() / ".cache") / "seminmf"


def _folders(data_home: PathLike | None) -> Iterator[Path]:
    """Yield the folders to search, in order."""
    if data_home is not None:
        yield Path(data_home).expanduser()
    named = os.environ.get(ENVIRONMENT_VARIABLE, "").strip()
    if named:
        yield Path(named).expanduser()
    yield cache_folder()


def _download(info: DatasetInfo, data_home: PathLike | None) -> Path:
    """Download a data set from the first of its addresses that works."""
    try:
        import pooch  # only here: the package is an optional extra
    except ImportError as error:
        reason = 'downloading needs pooch (pip install "seminmf[data]")'
        raise FileNotFoundError(_help(info, data_home, [reason])) from error
    folder = cache_folder() if data_home is None else Path(data_home).expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    failures: list[str] = []
    for source in info.sources:
        try:
            # The download and what is unpacked from it appear in the folder only when complete.
            with tempfile.TemporaryDirectory(dir=folder, prefix=".download-") as scratch:
                return _download_from(pooch, info, source, Path(scratch), folder)
        except (ValueError, OSError) as error:  # wrong checksum; errors of requests are OSErrors
            failures.append(f"{source.url}: {error}")
    raise FileNotFoundError(_help(info, data_home, failures))


def _download_from(
    pooch: Any, info: DatasetInfo, source: Source, scratch: Path, folder: Path
) -> Path:
    """Download one address to `scratch`, check it, and move the data to `folder`."""
    archive = source.url.rpartition("/")[2]
    http = pooch.HTTPDownloader(progressbar=_show_progress(), chunk_size=CHUNK, timeout=TIMEOUT)

    def download(url: str, output_file: str, pup: Any) -> None:
        http(url, output_file, pup)
        if source.known_hash is None:  # else pooch compares the checksum of the file
            _check_content(info, archive, Path(output_file))

    pup = pooch.create(
        path=scratch,
        base_url="",
        registry={archive: source.known_hash},
        urls={archive: source.url},
        retry_if_failed=RETRIES,
    )
    path = Path(pup.fetch(archive, downloader=download))
    with path.open("rb") as stream:
        content = unpack(archive, stream, info.original) if source.unpack else stream.read()
    # Written anew because pooch makes files that nobody but their owner may read.
    complete = scratch / "complete"
    complete.write_bytes(content)
    return complete.replace(folder / source.filename)


def _check_content(info: DatasetInfo, name: str, path: Path) -> None:
    """Check the numbers in a download whose own checksum is not published.

    Raises ValueError, upon which pooch tries again.
    """
    with path.open("rb") as stream:
        digest = content_sha256(*read_stream(info, name, stream))
    if digest != info.content_sha256:
        raise ValueError(
            f"the SHA-256 checksum of its numbers is {digest}, expected {info.content_sha256}"
        )


def _show_progress() -> bool:
    """Show a progress bar only to somebody who is looking at a terminal."""
    return sys.stderr.isatty() and importlib.util.find_spec("tqdm") is not None


def _help(info: DatasetInfo, data_home: PathLike | None, failures: list[str]) -> str:
    """Say what was tried, and what to do without a download."""
    searched = "\n".join(
        f"  {folder}{'' if folder.is_dir() else '  (does not exist)'}"
        for folder in _folders(data_home)
    )
    reasons = "\n".join(f"  {failure}" for failure in failures)
    return (
        f"The data set {info.name!r} is not on this computer and could not be downloaded:\n"
        f"{reasons}\n"
        f"Searched for {', '.join(info.files)} in:\n"
        f"{searched}\n"
        f"To use it offline, get {' or '.join(info.urls)}\n"
        f"on another computer and put the file, as it is, into one of these folders, into a folder "
        f"named by the environment variable {ENVIRONMENT_VARIABLE}, or into one that you pass as "
        f"data_home."
    )
