"""The plugin that runs pytest in tests of the plugin."""

pytest_plugins = ["pytester"]
