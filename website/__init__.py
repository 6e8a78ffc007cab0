"""The documentation as a site: `tox -e docs`, or `python -m website.build`.

- `build`: collects the sources and calls Sphinx; the order of the pages
- `conf`: the configuration of Sphinx
- `reference`: pages of settings, commands and request codes, made of the declarations; pure
- `links`: the links of a page and their targets; pure

See docs/decisions/0046-documentation-site.md.
"""
