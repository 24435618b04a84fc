"""What a stranger gets from the hub: loads every config of a dataset at one commit, prints counts and columns as JSON.

A program of its own, started by hub.py: endpoint, token and cache folders are read from the environment when `datasets`
is imported, and only a process with an empty cache shows what the hub really serves.  Imports nothing of orpipe.
"""

from __future__ import annotations

import json
import sys


def main(repo_id: str, commit: str) -> None:
    """Prints [{"config", "split", "rows", "columns"}, ...] on stdout."""
    from datasets import get_dataset_config_names, load_dataset
    from datasets.utils.logging import disable_progress_bar

    disable_progress_bar()
    found = []
    for config in get_dataset_config_names(repo_id, revision=commit):
        for split, data in load_dataset(repo_id, config, revision=commit).items():
            found.append({"config": config, "split": str(split), "rows": data.num_rows, "columns": data.column_names})
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
