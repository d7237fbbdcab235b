"""Memory over many ticks: the same samples again and again, their time going on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...estimation.estimator import Estimator
from ...model.prior import perturbed, prior_from_config
from .cases import Case
from .measure import PRIOR_WRONG_BY, SEED, prepare
from .memory import resident_mb

CHECKS = 10


def memory_over(
    ticks: int,
    progress: Callable[[float], None] = lambda share: None,
    lap: int = 2500,
    case: Case = Case("endurance"),
) -> list[tuple[int, float]]:
    """[(ticks done, resident memory [MB])] at ten instants of `ticks` updates, by default in
    the acceptance setting."""
    config, robot, samples = prepare(case, lap)
    estimator, found = (
        Estimator(config, perturbed(prior_from_config(config, robot), PRIOR_WRONG_BY, SEED), robot),
        [],
    )
    length = samples[-1].t - samples[0].t + config.filter.period
    every = max(1, ticks // CHECKS)
    for k in range(ticks):
        turn, place = divmod(k, len(samples))
        estimator.step(replace(samples[place], t=samples[place].t + turn * length))
        if (k + 1) % every == 0:
            found.append((k + 1, resident_mb()))
            progress((k + 1) / ticks)
    return found
