"""`orpipe serve`: the judge as an HTTP service."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from orpipe.console import say

EPILOG = "Examples: `orpipe serve` · `orpipe serve --host 0.0.0.0 --token-file token.txt --workers 16`"


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on; any but this machine's loopback needs --token-file.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port (0: a free one).")] = 8000,
    workers: Annotated[int, typer.Option(min=1, help="Programs run at a time.")] = os.cpu_count() or 1,
    token_file: Annotated[Path | None, typer.Option(help="File with the token that every request must send as Authorization: Bearer.")] = None,
    queue: Annotated[int, typer.Option(min=1, help="Answers held at a time, waiting or judged; beyond that requests get 429.")] = 256,
    timeout: Annotated[float, typer.Option(help="Seconds (wall clock) that a program may run.")] = 20.0,
    tolerance: Annotated[float, typer.Option(help="Relative tolerance of the optimum.")] = 1e-6,
    strict: Annotated[bool, typer.Option("--strict", help="As of orpipe verify.")] = False,
    budget: Annotated[float, typer.Option(help="Seconds of one comparison with a reference model.")] = 5.0,
    dataset: Annotated[Path | None, typer.Option(help="Dataset of ours whose instances are the reference models of answers to it.")] = None,
    require_isolation: Annotated[Literal["full", "best"], typer.Option(help="full: refuse to run with less than every layer.")] = "best",
) -> None:
    """Judge answers over HTTP, for trainers on other machines: POST /judge, POST /reward, GET /health.

    SIGTERM or Ctrl-C finishes what it holds and takes nothing new; a second one ends at once. The traffic is not encrypted."""
    import asyncio

    from orpipe.errors import UsageError
    from orpipe.serve import Bounds, LastPool, Service, read_token
    from orpipe.verify.judge import Judge
    from orpipe.verify.own import Instances

    instances = Instances.of(dataset)
    if dataset is not None and instances is None:
        raise UsageError(f"--dataset '{dataset}' is no folder written by 'orpipe generate'")
    token = read_token(token_file) if token_file is not None else ""
    with (
        LastPool(workers) as pool,
        Judge(workers, timeout=timeout, tolerance=tolerance, strict=strict, isolation=require_isolation, pool=pool, budget=budget) as judge,
    ):
        service = Service(judge, token=token, bounds=Bounds(queue=queue, grace=timeout + 10.0), instances=instances)

        def ready(url: str) -> None:
            say(f"orpipe: serving on {url} with {workers} worker{'s' * (workers != 1)}, isolation {service.isolation}; Ctrl-C stops")

        asyncio.run(service.run(host, port, ready))
    say("orpipe: stopped")
