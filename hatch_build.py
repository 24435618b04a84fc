"""Copies templates/ and data/reference/ into the wheel; editable installs read them in place (orpipe/resources.py)."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Shares(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "standard":
            build_data["force_include"].update(
                {"templates": "orpipe/_share/templates", "data/reference": "orpipe/_share/data/reference"}
            )
