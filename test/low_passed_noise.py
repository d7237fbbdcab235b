"""AR(1) noise behind the rows' low-pass, for the tests of the uncertainty room."""
import numpy as np

from uvms_adaptive_dynamics.config import Filter
from uvms_adaptive_dynamics.model.kernel import gaussian_kernel

PERIOD, KERNEL = .02, gaussian_kernel(Filter())


def noise(rng, count, colour, draws=1):
    """(draws, count) AR(1) noise of unit variance behind the low-pass."""
    e = rng.normal(size=(draws, count + 400)) * np.sqrt(1 - colour ** 2)
    for k in range(1, e.shape[1]):
        e[:, k] += colour * e[:, k - 1]
    low = np.array([np.convolve(row, KERNEL, "same") for row in e])[:, 200:200 + count]
    return low / np.std(low)
