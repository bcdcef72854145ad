"""How Sphinx builds the site: ``make docs``.

What is generated from the code (pages of the catalogue, of the API and of the gallery) is written to
``docs/generated``, which git ignores, as it does ``docs/_build``.
"""

import os
import sys
from pathlib import Path

import matplotlib as mpl

import heavytail as ht

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
mpl.use("agg")

project, author, copyright = "heavytail", "The heavytail developers", "the heavytail developers"  # noqa: A001
version = release = ht.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.intersphinx",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "docstring_markup",
    "signatures",
    "generated_pages",
]
exclude_patterns = ["_build", "_ext", "generated/gallery/*.ipynb", "generated/gallery/*.py"]
suppress_warnings = [
    "config.cache",  # the gallery's configuration holds functions, which are not pickled
]

html_theme = "furo"
html_title = f"heavytail {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#a63603", "color-brand-content": "#a63603"},
    "dark_css_variables": {"color-brand-primary": "#fd8d3c", "color-brand-content": "#fd8d3c"},
    "navigation_with_keys": True,
}

myst_enable_extensions = ["colon_fence", "deflist", "attrs_block"]
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_type_aliases = {"DeepLearner": "heavytail.deep.DeepLearner"}  # at run time it may not be imported
default_role = "literal"
highlight_language = "none"  # a block that names no language is output, or a command
smartquotes = False  # quotes in plain text are those of Python
napoleon_custom_sections = ["States", "Actions", "Transitions", "Rewards", "Start", "Optimum", "Source"]
napoleon_use_rtype = False
python_maximum_signature_line_length = 88

# Nothing is fetched: the few names of others that signatures have are listed beside this file, with the pages
# on which they are explained.
intersphinx_mapping = {
    "python": ("https://docs.python.org/3/", "inventories/python.inv"),
    "numpy": ("https://numpy.org/doc/stable/", "inventories/numpy.inv"),
    "pandas": ("https://pandas.pydata.org/docs/", "inventories/pandas.inv"),
    "matplotlib": ("https://matplotlib.org/stable/", "inventories/matplotlib.inv"),
    "gymnasium": ("https://gymnasium.farama.org/", "inventories/gymnasium.inv"),
}

# `EXAMPLES=router make docs` runs one example, `EXAMPLES=none` none: for work on the words.
# (One starts processes that import it, which they cannot there; its picture is that of a run as a script.)
chosen = os.environ.get("EXAMPLES", "(?!many_workers|stable_baselines3)")
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "generated/gallery",
    "filename_pattern": rf"/{chosen}\w*\.py$",
    "default_thumb_file": str(HERE / "_static" / "many_workers.png"),  # of those that are not run
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1,
    "plot_gallery": True,
    "abort_on_example_error": True,
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "write_computation_times": False,
}
