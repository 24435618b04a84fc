"""What a Judge starts: threads and solving processes, of one process of ours."""

from __future__ import annotations

import hashlib
import os
import threading

from orpipe.verify.crew import Crew, Promise
from orpipe.verify.sandbox import Job, Pool, Run
from orpipe.verify.solving import Solvers
from orpipe.verify.truth import Truth


class Machine:
    """What a judge needs of one process: threads that wait, processes that solve.  Holds no reference to its Judge."""

    def __init__(self, workers: int, solve_timeout: float) -> None:
        self.pid = os.getpid()
        self.closed, self.gate = False, threading.Lock()
        self.references: dict[bytes, Truth] = {}
        self.solvers = Solvers(workers, solve_timeout)
        self.crew = Crew(workers + 2)  # two more than run: they extract and read

    def submit(self, pool: Pool, job: Job) -> Promise[Run] | None:
        """None once closed: a pool that was closed with its judge is not opened again by an answer under way."""
        with self.gate:
            return None if self.closed else pool.submit(job)

    def warm(self) -> None:
        """Raises OSError if a solving process cannot be started.  In the crew: the caller's thread may be interrupted."""
        promise: Promise[Exception | None] = Promise()

        def task() -> None:
            error: Exception | None = None
            try:
                self.solvers.warm()
            except Exception as caught:
                error = caught
            promise.give(error)

        if self.crew.give(task) and (found := promise.result()) is not None:
            raise found

    def close(self) -> None:
        """May be interrupted and called again.  What waits in the crew ends as undecided."""
        if self.pid == os.getpid():
            with self.gate:
                self.closed = True
            self.crew.close()
            self.solvers.close()

    def reference(self, text: str, most: float | None = None) -> Truth:
        """most: seconds in all; what they do not suffice for is asked anew the next time."""
        key = hashlib.sha256(text.encode(errors="surrogatepass")).digest()
        found = self.references.get(key)
        if found is None:
            found = self.solvers.reference(text, most)
            if most is None or not found.absent:
                self.references[key] = found
        return found
