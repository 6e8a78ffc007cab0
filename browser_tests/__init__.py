"""The console in a real browser: Debian's Chromium, driven by Playwright (`tox -e browser`)."""
