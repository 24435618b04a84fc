"""The dataset card: configs for `load_dataset`, what the data are, how they were proved."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from orpipe.build.schema import CONFIGS, SPLITS
from orpipe.config import Recipe
from orpipe.families import families
from orpipe.render.nl import environment


def card(recipe: Recipe, manifest: Mapping[str, Any]) -> str:
    """README.md of a dataset folder.  Splits and configs without a row are not listed: `load_dataset` refuses to load them.
    Each config says which data it has: `datasets` caches a local folder by its name and this list, and would else go on giving the
    rows of an earlier run."""
    counts = manifest["counts"]
    total = sum(counts["sft"].values())
    configs = []
    for config in CONFIGS:
        files = {name: digest for name, digest in manifest["sha256"].items() if name.startswith(f"{config}/")}
        data = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()[:16]
        configs.append({"name": config, "data": data, "splits": [s for s in SPLITS if counts[config].get(s)], "counts": counts[config],
                        "default": config == "sft"})
    caught = {which: f"{100 * share:.1f}%" for which, share in manifest["discrimination"].items()}
    return environment().get_template("card.j2").render(
        caught=caught,
        recipe=recipe, manifest=manifest, configs=configs, total=total, families=[families[f] for f in recipe.families],
        columns={name: [f.name for f in schema] for name, schema in CONFIGS.items()},
        size="n<1K" if total < 1000 else "1K<n<10K" if total < 10_000 else "10K<n<100K" if total < 100_000 else "100K<n<1M",
    ) + "\n"
