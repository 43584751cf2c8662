"""Settings of the documentation: ``make docs`` builds it into docs/_build, without a network."""

import warnings
from pathlib import Path

from seminmf import __version__

HERE = Path(__file__).parent

project = "seminmf"
author = "the seminmf developers"
release = version = __version__
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
default_role = "code"
myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]
# The generated pages link to rows and scripts outside of the documentation.
suppress_warnings = ["myst.header", "config.cache"]

autosummary_generate = True
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"seminmf {version}"
html_static_path = ["_static"]
html_css_files = ["seminmf.css"]
html_copy_source = False
html_show_copyright = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072B2", "color-brand-content": "#0072B2"},
    "dark_css_variables": {"color-brand-primary": "#56B4E9", "color-brand-content": "#56B4E9"},
}

# The figures of a script are drawn without a window, which plt.show() would warn about.
warnings.filterwarnings("ignore", message=".*non-interactive.*", category=UserWarning)
sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "capture_repr": (),
    "thumbnail_size": (400, 300),
    "show_memory": False,
    "min_reported_time": 3600,
    "write_computation_times": False,
    "only_warn_on_example_error": False,
    "remove_config_comments": True,
    "reference_url": {"seminmf": None},
    "doc_module": "seminmf",
    "backreferences_dir": None,
}
