"""Quantiles of the standard normal distribution: the one source of what a claim of so many per cent
takes."""
from __future__ import annotations

Z95 = 1.959963984540054         # two-sided 95 %: half width of an interval in standard deviations
Z999 = 3.2905267314919255       # two-sided 99.9 %: standard errors of a claim that is made unasked
Z999_ABOVE = 3.090232306167813  # one-sided 99.9 %: of a claim that a figure is above a bound
