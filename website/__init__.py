"""The documentation as a site: `tox -e docs`, or `mkdocs build -f website/mkdocs.yml`.

- `mkdocs.yml`: what MkDocs is told: theme, order of the pages, checks
- `hooks`: what MkDocs calls: the home page, pages that are no files, links that lead out of `docs`
- `reference`: pages of settings, commands and request codes, made of the declarations; pure
- `links`: where the links of a page lead; pure

See docs/decisions/0046-documentation-site.md.
"""
