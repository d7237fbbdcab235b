"""Thrust of a Blue Robotics T200 against PWM and voltage, and its inverse (DESIGN sections 5 and 11)."""
from __future__ import annotations

from pathlib import Path

import numpy as np

from ...errors import ConfigError

NEUTRAL_PWM_US = 1500.0

# Knots of our own fit of a polyline to Blue Robotics' published T200 bollard test (September 2019), at most 0.05 N
# away from it anywhere: {voltage [V]: {PWM [us]: thrust [0.01 N]}}. The dead band's ends are exact, and so
# are the ends of the curve, where the published figures are not monotone at 12, 14 and 18 V.
_T200_KNOTS = {
    10: {
        1100: -2269, 1112: -2241, 1116: -2184, 1120: -2144, 1132: -2068, 1136: -2019, 1140: -2006, 1144: -1949,
        1156: -1859, 1160: -1798, 1168: -1753, 1188: -1584, 1204: -1476, 1216: -1379, 1224: -1299, 1228: -1295,
        1244: -1166, 1252: -1120, 1256: -1076, 1264: -1032, 1268: -992, 1276: -948, 1280: -912, 1320: -661,
        1332: -598, 1340: -541, 1396: -246, 1436: -81, 1456: -35, 1460: 0, 1540: 0, 1544: 36, 1568: 121, 1604:
        303, 1652: 623, 1656: 671, 1664: 708, 1668: 750, 1696: 959, 1700: 948, 1704: 1024, 1712: 1086, 1716:
        1140, 1724: 1182, 1736: 1282, 1744: 1379, 1748: 1405, 1756: 1495, 1760: 1516, 1800: 1880, 1804: 1949,
        1808: 1953, 1812: 2015, 1824: 2122, 1832: 2225, 1836: 2264, 1848: 2410, 1852: 2429, 1856: 2502, 1868:
        2595, 1884: 2763, 1888: 2824, 1900: 2873,
    },
    12: {
        1100: -2852, 1104: -2864, 1108: -2834, 1116: -2727, 1120: -2713, 1128: -2624, 1132: -2553, 1136: -2548,
        1140: -2509, 1148: -2389, 1152: -2381, 1168: -2215, 1172: -2180, 1184: -2059, 1188: -2032, 1192: -1975,
        1200: -1912, 1204: -1847, 1220: -1703, 1224: -1636, 1228: -1623, 1236: -1531, 1264: -1311, 1268: -1272,
        1272: -1258, 1276: -1201, 1296: -1027, 1320: -855, 1328: -782, 1352: -623, 1360: -558, 1412: -238, 1436:
        -118, 1460: -32, 1464: 0, 1536: 0, 1540: 36, 1568: 169, 1588: 298, 1620: 541, 1628: 614, 1636: 668,
        1676: 1021, 1684: 1112, 1692: 1170, 1716: 1410, 1728: 1539, 1732: 1602, 1740: 1681, 1748: 1788, 1752:
        1806, 1756: 1864, 1760: 1882, 1764: 1922, 1768: 1993, 1784: 2189, 1788: 2228, 1800: 2411, 1812: 2563,
        1816: 2598, 1828: 2785, 1832: 2812, 1836: 2870, 1840: 2945, 1848: 3025, 1856: 3167, 1860: 3194, 1868:
        3310, 1872: 3332, 1880: 3430, 1892: 3638, 1896: 3617, 1900: 3638,
    },
    14: {
        1100: -3445, 1108: -3424, 1116: -3340, 1136: -3074, 1144: -3002, 1156: -2825, 1160: -2797, 1164: -2731,
        1168: -2713, 1172: -2642, 1180: -2545, 1184: -2482, 1196: -2366, 1200: -2308, 1204: -2295, 1208: -2219,
        1212: -2166, 1216: -2136, 1224: -2019, 1232: -1952, 1236: -1877, 1240: -1859, 1244: -1780, 1260: -1601,
        1264: -1552, 1268: -1531, 1292: -1301, 1304: -1173, 1348: -794, 1352: -750, 1368: -636, 1396: -418,
        1432: -178, 1464: -27, 1468: 0, 1532: 0, 1536: 44, 1552: 116, 1572: 254, 1604: 520, 1612: 610, 1616:
        636, 1628: 752, 1632: 806, 1636: 830, 1652: 983, 1664: 1121, 1668: 1175, 1672: 1214, 1688: 1379, 1716:
        1722, 1720: 1775, 1724: 1819, 1732: 1926, 1736: 1962, 1740: 2042, 1748: 2113, 1752: 2198, 1756: 2224,
        1768: 2451, 1776: 2580, 1780: 2603, 1784: 2701, 1788: 2723, 1792: 2821, 1804: 2993, 1808: 3073, 1816:
        3176, 1820: 3257, 1824: 3292, 1840: 3558, 1844: 3616, 1856: 3844, 1860: 3902, 1864: 3946, 1868: 4026,
        1876: 4132, 1884: 4301, 1888: 4333, 1892: 4418, 1896: 4435, 1900: 4432,
    },
    16: {
        1100: -3995, 1108: -3949, 1116: -3829, 1124: -3754, 1128: -3732, 1132: -3683, 1136: -3647, 1152: -3389,
        1156: -3336, 1160: -3243, 1168: -3136, 1172: -3051, 1176: -2984, 1184: -2886, 1188: -2811, 1192: -2771,
        1204: -2603, 1208: -2535, 1216: -2464, 1220: -2410, 1224: -2339, 1228: -2313, 1232: -2237, 1240: -2149,
        1244: -2081, 1248: -2046, 1252: -1980, 1260: -1900, 1264: -1828, 1272: -1731, 1276: -1672, 1280: -1636,
        1288: -1522, 1296: -1456, 1324: -1138, 1328: -1103, 1332: -1085, 1336: -1036, 1356: -850, 1360: -801,
        1396: -500, 1428: -258, 1448: -121, 1468: -32, 1472: 0, 1528: 0, 1532: 36, 1552: 147, 1576: 347, 1612:
        708, 1624: 852, 1640: 1012, 1644: 1080, 1652: 1161, 1684: 1553, 1688: 1615, 1692: 1663, 1700: 1789,
        1716: 2005, 1720: 2081, 1732: 2229, 1736: 2331, 1740: 2380, 1744: 2465, 1748: 2530, 1756: 2674, 1760:
        2701, 1764: 2781, 1768: 2838, 1776: 2998, 1788: 3158, 1796: 3313, 1800: 3354, 1808: 3532, 1812: 3608,
        1816: 3661, 1820: 3741, 1828: 3883, 1836: 4070, 1840: 4168, 1844: 4217, 1848: 4293, 1852: 4418, 1856:
        4435, 1860: 4555, 1868: 4689, 1872: 4746, 1880: 4918, 1888: 5040, 1896: 5116, 1900: 5140,
    },
    18: {
        1100: -4506, 1104: -4461, 1108: -4448, 1120: -4270, 1124: -4265, 1128: -4092, 1132: -4097, 1140: -3955,
        1144: -3918, 1148: -3839, 1156: -3732, 1160: -3647, 1164: -3616, 1168: -3491, 1172: -3478, 1176: -3362,
        1180: -3296, 1184: -3207, 1188: -3136, 1192: -3038, 1204: -2829, 1208: -2793, 1216: -2651, 1220: -2611,
        1224: -2535, 1252: -2162, 1260: -2072, 1264: -2006, 1272: -1908, 1280: -1779, 1308: -1437, 1316: -1356,
        1328: -1197, 1340: -1067, 1372: -759, 1400: -516, 1444: -174, 1460: -76, 1468: -40, 1472: 0, 1528: 0,
        1532: 48, 1540: 85, 1568: 309, 1608: 688, 1612: 743, 1632: 943, 1644: 1108, 1660: 1298, 1664: 1353,
        1668: 1401, 1680: 1566, 1684: 1650, 1696: 1810, 1700: 1886, 1712: 2046, 1716: 2127, 1720: 2171, 1724:
        2241, 1740: 2532, 1744: 2589, 1748: 2687, 1752: 2744, 1760: 2872, 1768: 3039, 1772: 3091, 1780: 3199,
        1784: 3323, 1788: 3386, 1800: 3648, 1804: 3715, 1808: 3844, 1812: 3937, 1816: 4057, 1820: 4132, 1828:
        4328, 1836: 4573, 1840: 4600, 1844: 4764, 1848: 4821, 1856: 5018, 1868: 5280, 1876: 5493, 1880: 5552,
        1884: 5654, 1888: 5708, 1896: 5863, 1900: 5896,
    },
    20: {
        1100: -4942, 1104: -4866, 1108: -4830, 1112: -4755, 1120: -4649, 1124: -4594, 1132: -4380, 1140: -4262,
        1144: -4150, 1148: -4083, 1152: -4043, 1156: -3945, 1168: -3740, 1172: -3643, 1176: -3594, 1180: -3491,
        1184: -3416, 1188: -3296, 1192: -3229, 1196: -3104, 1200: -3069, 1204: -2949, 1212: -2820, 1216: -2726,
        1220: -2686, 1228: -2554, 1240: -2393, 1244: -2362, 1248: -2273, 1260: -2104, 1264: -2069, 1272: -1934,
        1292: -1640, 1296: -1603, 1312: -1387, 1316: -1349, 1332: -1144, 1336: -1081, 1364: -816, 1368: -768,
        1400: -521, 1460: -87, 1472: -37, 1476: 0, 1528: 0, 1532: 60, 1540: 109, 1600: 629, 1604: 647, 1624:
        841, 1628: 871, 1644: 1045, 1660: 1250, 1664: 1290, 1672: 1414, 1676: 1499, 1684: 1606, 1688: 1708,
        1696: 1814, 1704: 1948, 1708: 2024, 1712: 2073, 1716: 2153, 1720: 2202, 1724: 2278, 1728: 2392, 1736:
        2554, 1740: 2607, 1744: 2705, 1748: 2771, 1756: 2932, 1760: 2994, 1768: 3154, 1772: 3212, 1780: 3372,
        1784: 3483, 1792: 3656, 1800: 3888, 1804: 4017, 1812: 4240, 1816: 4333, 1824: 4604, 1828: 4724, 1832:
        4831, 1836: 4920, 1840: 5040, 1844: 5098, 1848: 5285, 1852: 5413, 1864: 5699, 1868: 5810, 1872: 5939,
        1876: 6014, 1884: 6245, 1892: 6424, 1896: 6490, 1900: 6588,
    },
}


class ThrustCurve:
    """Static thrust map of one thruster: a table over PWM and voltage, linear between its figures.

    `pwm_us` (p,) PWM [us], `voltages` (k,) battery voltage [V], `thrust_n` (p, k) thrust [N], positive forward.
    The dead band is kept as the table has it; beyond the table's ends the end values hold.
    Raises ConfigError for a table that is not finite, not increasing in PWM and voltage, or without thrust 0 at neutral.
    """

    def __init__(self, pwm_us, voltages, thrust_n):
        self.pwm_us = np.array(pwm_us, dtype=float)
        self.voltages = np.array(voltages, dtype=float)
        self.thrust_n = np.array(thrust_n, dtype=float)
        self._check()
        for table in (self.pwm_us, self.voltages, self.thrust_n):
            table.setflags(write=False)

    def _check(self) -> None:
        shape = (self.pwm_us.size, self.voltages.size)
        if self.thrust_n.shape != shape or shape[0] < 3 or shape[1] < 1:
            raise ConfigError(f"thrust table: got shape {self.thrust_n.shape}, expected {shape} (PWM values, voltages) with "
                              "at least 3 PWM values and 1 voltage; give one row per PWM value and one column per voltage")
        for name, axis in (("PWM", self.pwm_us), ("voltage", self.voltages)):
            if not np.all(np.isfinite(axis)) or np.any(np.diff(axis) <= 0):
                raise ConfigError(f"thrust table: {name} values {axis[:6]}.. must be finite and increasing; sort the table")
        if not np.all(np.isfinite(self.thrust_n)):
            raise ConfigError("thrust table: some thrust is not finite; fill or remove the row")
        if not self.pwm_us[0] < NEUTRAL_PWM_US < self.pwm_us[-1]:
            raise ConfigError(f"thrust table: PWM runs from {self.pwm_us[0]} to {self.pwm_us[-1]} us, expected to enclose "
                              f"neutral {NEUTRAL_PWM_US} us")
        neutral = self.thrust(NEUTRAL_PWM_US, self.voltages)
        if np.any(np.abs(neutral) > 1e-9):
            raise ConfigError(f"thrust table: thrust at {NEUTRAL_PWM_US} us is {neutral} N, expected 0 at every voltage; "
                              "shift the PWM column so that 1500 us is neutral")

    @classmethod
    def t200(cls) -> "ThrustCurve":
        """The Blue Robotics T200 at 10, 12, 14, 16, 18 and 20 V, 1100-1900 us."""
        pwm = np.arange(1100.0, 1900.5, 4.0)
        columns = [np.interp(pwm, list(k), np.array(list(k.values())) / 100.0) for k in _T200_KNOTS.values()]
        return cls(pwm, list(_T200_KNOTS), np.column_stack(columns))

    @classmethod
    def from_csv(cls, path: str | Path) -> "ThrustCurve":
        """Read a table with header `pwm_us,thrust_10V_N,thrust_12V_N,...`: PWM [us], one thrust column [N] per voltage.

        Raises ConfigError when the file is absent or its header or figures are not of that form.
        """
        path = Path(path)
        try:
            header, *rows = path.read_text(encoding="utf-8-sig").split()
        except (OSError, ValueError) as error:
            raise ConfigError(f"thrust table {path}: cannot be read ({error}); give the path of a CSV file") from error
        first, *names = header.split(",")
        try:
            if first != "pwm_us" or not all(n.startswith("thrust_") and n.endswith("V_N") for n in names):
                raise ValueError(f"header {header!r}")
            table = np.array([[float(x) for x in row.split(",")] for row in rows])
            return cls(table[:, 0], [float(n[len("thrust_"):-len("V_N")]) for n in names], table[:, 1:])
        except (ValueError, IndexError) as error:
            raise ConfigError(f"thrust table {path}: got {error}, expected a header pwm_us,thrust_10V_N,.. and as many "
                              "numbers in every row") from error

    def thrust(self, pwm_us, voltage):
        """Thrust [N] at PWM [us] and voltage [V]; both broadcast against each other. Not-a-number stays so."""
        pwm, volt = np.broadcast_arrays(np.asarray(pwm_us, float), np.asarray(voltage, float))
        row, right = self._cell(self.pwm_us, pwm)
        column, high = self._cell(self.voltages, volt)
        beside = np.minimum(column + 1, self.voltages.size - 1)
        low_v = (1 - right) * self.thrust_n[row, column] + right * self.thrust_n[row + 1, column]
        high_v = (1 - right) * self.thrust_n[row, beside] + right * self.thrust_n[row + 1, beside]
        return ((1 - high) * low_v + high * high_v)[()]

    @staticmethod
    def _cell(axis: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Index of the table cell that holds `value`, and the place within it, 0 to 1."""
        if axis.size == 1:
            return np.zeros(value.shape, dtype=int), 0.0 * value
        inside = np.clip(value, axis[0], axis[-1])
        index = np.clip(np.searchsorted(axis, inside, side="right") - 1, 0, axis.size - 2)
        return index, (inside - axis[index]) / (axis[index + 1] - axis[index])

    def command(self, thrust_n, voltage):
        """PWM [us] nearest to neutral that gives thrust [N] at voltage [V]; both broadcast.

        Zero thrust gives neutral. More thrust than there is gives the command of the largest there is.
        """
        wanted, volt = np.broadcast_arrays(np.asarray(thrust_n, float), np.asarray(voltage, float))
        result = np.where(np.isnan(wanted) | np.isnan(volt), np.nan, NEUTRAL_PWM_US)
        for v in np.unique(volt[~np.isnan(volt)]):
            column = self.thrust(self.pwm_us, v)
            up, down = self.pwm_us > NEUTRAL_PWM_US, self.pwm_us < NEUTRAL_PWM_US
            forward, backward = (volt == v) & (wanted > 0), (volt == v) & (wanted < 0)
            result[forward] = self._first_reached(wanted[forward], self.pwm_us[up], column[up])
            result[backward] = self._first_reached(-wanted[backward], self.pwm_us[down][::-1], -column[down][::-1])
        return result[()]

    @staticmethod
    def _first_reached(wanted: np.ndarray, pwm: np.ndarray, thrust: np.ndarray) -> np.ndarray:
        """Where the curve, followed outward from neutral, first reaches `wanted` > 0.

        The running maximum makes the search valid on a curve that falls somewhere: the first figure whose running
        maximum reaches `wanted` is itself that maximum, and the figure before it is still below `wanted`.
        """
        pwm, thrust = np.r_[NEUTRAL_PWM_US, pwm], np.r_[0.0, thrust]
        peak = np.maximum.accumulate(thrust)
        wanted = np.minimum(wanted, peak[-1])
        right = np.maximum(np.searchsorted(peak, wanted, side="left"), 1)
        if not peak[-1] > 0.0:
            return np.full(wanted.shape, NEUTRAL_PWM_US)
        part = (wanted - thrust[right - 1]) / (thrust[right] - thrust[right - 1])
        return pwm[right - 1] + part * (pwm[right] - pwm[right - 1])

    def limits(self, voltage: float) -> tuple[float, float]:
        """Largest backward (negative) and forward thrust [N] at a voltage [V]."""
        column = self.thrust(self.pwm_us, float(voltage))
        return float(column.min()), float(column.max())
