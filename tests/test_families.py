"""Every family, by the conformance suite that ships for authors (orpipe.testing.family_suite)."""

import pytest
from jinja2 import nodes as jn

from orpipe.families import families
from orpipe.render.dialects import dialects
from orpipe.render.nl import environment
from orpipe.resources import templates
from orpipe.testing import family_suite as suite
from orpipe.verify.replay import replay_many
from orpipe.verify.sandbox import Pool

NAMES = families.names()
each_family = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module")
def pool():
    with Pool(workers=1) as found:
        yield found


def test_fifteen_families():
    assert len(NAMES) >= 15


@each_family
def test_declaration(name):
    suite.check_declaration(families[name])


@each_family
def test_golden(name):
    suite.check_golden(families[name])


@each_family
def test_levels(name):
    suite.check_levels(families[name])


@each_family
def test_formulations_agree(name):
    suite.check_formulations(families[name])


@each_family
@pytest.mark.parametrize("level", (1, 3))
def test_texts(name, level):
    suite.check_texts(families[name], level)


@each_family
@pytest.mark.parametrize("level", (1, 3))
def test_answer(name, level):
    suite.check_answer(families[name], level)


@each_family
def test_algebra_round_trip(name):
    suite.check_algebra(families[name])


@each_family
def test_rows_matter(name):
    suite.check_rows_matter(families[name])


@each_family
def test_decimals(name):
    suite.check_decimals(families[name])


@each_family
@pytest.mark.parametrize("dialect", sorted(dialects()))
def test_programs_build_the_problem(name, dialect, pool):
    scripts = suite.scripts(families[name], dialect, 2)
    for script, played in zip(scripts, replay_many(pool, scripts), strict=True):
        assert played.passed, f"{played.stage}: {played.reason}\n{script.program}"


@pytest.mark.parametrize("path", sorted(str(p.relative_to(templates())) for p in templates().rglob("*.j2")))
def test_templates_hold_no_arithmetic(path):
    env = environment()
    tree = env.parse(env.loader.get_source(env, path)[0])
    found = [n.lineno for kind in (jn.Add, jn.Sub, jn.Mul, jn.Div, jn.FloorDiv, jn.Mod, jn.Pow) for n in tree.find_all(kind)]
    assert not found, f"arithmetic in lines {found}"
