"""Settings of the manual; `make docs` builds it."""

import os
import sys
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
# Docstrings are read from imported modules, none of which may open a window.
os.environ["MPLBACKEND"] = "Agg"

project = "dapdag"
author = "the dapdag developers"
copyright = author
release = metadata.version("dapdag")
version = release

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "plain_docstrings",
    "cli_help",
]
exclude_patterns = ["_build", "_ext", "results/runs"]
nitpicky = True

myst_enable_extensions = ["colon_fence", "deflist", "smartquotes"]
myst_heading_anchors = 3

# A single backtick in a docstring is code, as it is in Markdown.
default_role = "code"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 80  # longer ones have a parameter per line
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
# A docstring that breaks one of these rules is a warning, and fails the build. That types and
# defaults are those of the signature is tested without Sphinx: tests/test_api_reference.py.
numpydoc_validation_exclude = {r"\.[A-Z_]+$"}  # constants have a comment, no docstring
numpydoc_validation_checks = {
    *("GL06", "GL07", "SS01"),  # sections that numpydoc knows, in its order, after a summary
    *("PR02", "PR03", "PR04", "PR07", "PR08", "PR09", "PR10"),  # parameters
    *("RT01", "RT03", "RT04", "RT05"),  # what is returned
}

html_theme = "pydata_sphinx_theme"
html_title = "dapdag"
html_static_path = ["_static"]
html_css_files = ["manual.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 5,
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
# Only the API reference needs a list of its pages at the side.
html_sidebars = {"*": [], "results/*": []}
copybutton_prompt_text = "$ "
# What a block prints is not for copying.
copybutton_selector = "div:not(.highlight-output) > div.highlight > pre"
html_context = {"default_mode": "auto"}
