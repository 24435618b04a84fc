"""Numbers that no float holds, in model files: one clear line wherever they stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from orpipe.errors import ParseError
from orpipe.model_files import read_model, read_text

PLACES = {
    "cost": "min\n obj: 1e400 x\nst\n c: x >= 1\nend\n",
    "entry": "min\n obj: x\nst\n c: 1e400 x >= 1\nend\n",
    "side": "min\n obj: x\nst\n c: x >= 1e400\nend\n",
    "bound": "min\n obj: x\nst\n c: x >= 1\nbounds\n x <= 1e400\nend\n",
    "mps": "NAME R\nROWS\n N o\n G c\nCOLUMNS\n x o 1e400 c 1\nRHS\n r c 5\nENDATA\n",
}


@pytest.mark.parametrize("place", ["cost", "entry", "mps"])
def test_a_number_beyond_floats_is_refused_in_one_line(place: str, tmp_path: Path) -> None:
    path = tmp_path / ("m.mps" if place == "mps" else "m.lp")
    path.write_text(PLACES[place], encoding="utf-8")
    for read in (lambda: read_model(path), lambda: read_text(PLACES[place])):
        with pytest.raises(ParseError) as told:
            read()
        assert "\n" not in str(told.value)


@pytest.mark.parametrize("place", ["side", "bound"])
def test_a_side_or_bound_beyond_floats_is_infinite_or_refused(place: str) -> None:
    try:
        problem = read_text(PLACES[place])
    except ParseError as told:
        assert "\n" not in str(told)
    else:
        assert problem.n_vars == 1 and problem.cost.tolist() == [1.0]
