"""Settings of the documentation: ``make docs`` builds it into docs/_build."""

from seminmf import __version__

project = "seminmf"
author = "the seminmf developers"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
exclude_patterns = ["_build"]
html_theme = "alabaster"
html_theme_options = {"description": "Robust semi-non-negative matrix factorization"}
numpydoc_show_class_members = False
autodoc_member_order = "bysource"
# The generated pages link to rows and scripts outside of the documentation.
suppress_warnings = ["myst.xref_missing", "myst.header"]
