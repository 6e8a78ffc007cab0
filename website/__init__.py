"""The documentation as a site: `tox -e docs`, or `python -m website.build`.

- `build`: puts the sources together and calls Sphinx; the order of the pages
- `conf`: what Sphinx is told
- `reference`: pages of settings, commands and request codes, made of the declarations; pure
- `links`: where the links of a page lead; pure

See docs/decisions/0046-documentation-site.md.
"""
