"""The benchmark that takes rules of Heavy-PSRL away, one at a time."""

import bench_ablation
from heavytail.agents import _certainty, _drawn_mdp, _drawn_means, heavy_psrl

MODULES = (_certainty, _drawn_mdp, _drawn_means, heavy_psrl)


def test_every_rule_changes_one_thing_that_the_agent_has() -> None:
    before = [dict(vars(module)) for module in MODULES]
    changed = []
    try:
        for rule, take_away in bench_ablation.RULES.items():
            take_away()
            now = [
                (module.__name__, name)
                for module, old in zip(MODULES, before, strict=True)
                for name, value in vars(module).items()
                if name not in old or value is not old[name]
            ]
            assert len(now) == 1, (rule, now)
            assert now[0][1] in before[[module.__name__ for module in MODULES].index(now[0][0])]
            changed += now
            for module, old in zip(MODULES, before, strict=True):
                vars(module).update(old)
    finally:
        for module, old in zip(MODULES, before, strict=True):
            vars(module).update(old)
    assert len({*changed}) == len(bench_ablation.RULES)
