"""Loads the plugin with which tests run pytest."""

pytest_plugins = ["pytester"]
