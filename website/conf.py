"""Configuration of Sphinx for the site that `website.build` builds."""

project = "mqgateway"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "mqgateway"
html_show_sphinx = html_show_copyright = False
html_copy_source = html_show_sourcelink = False
myst_heading_anchors = 6
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["myst.header", "misc.highlighting_failure"]  # examples may be cut short
