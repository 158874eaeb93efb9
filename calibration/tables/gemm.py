# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Fits the law of a matrix product and its table of corrections to measured latencies.

    t(m, n, k) = (t0 + (tc^4 + tm^4)^(1/4)) * exp(c(m, n, k)) [+ overhead, of the measurement only]
    tc = min over tiles (a, b) of waves * 2 a b (k + K0) (largest / (a b))^alpha / (P / SMs)
    waves = beta * ceil(w) + (1 - beta) * max(1, w),  w = ceil(m / a) ceil(n / b) / SMs
    tm = bytes / BW
c is trilinear in ln m, ln n, ln k between the nodes of a grid, plus an offset of the measured m x n
results, which holds for these alone (within 2%): the library picks its tiling by the result, and
what is left of the error after the grid is the same along k (correlation 0.55 to 0.65 between
neighbours) and unrelated between neighbours in m or n. The grid minimises the robust error over the
training points plus a smoothness term, so that noise of single points does not enter; an offset is
the median over k, shrunk by the number of points.
The measured narrow products contain the quantisation of A and an extra launch:
overhead = fixed + q m k / bandwidth; the law and the table are those of the bare product.

Points: one file a GPU with columns gemm_dtype, m, n, k, latency (ms). One point in five (by a hash
of its shape) is left out of every fit and only judged."""
import csv
import gzip
import zlib

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from scipy.optimize import minimize

HOPPER_TILES = [(128, 256), (256, 128), (128, 128), (64, 256), (128, 64), (64, 128), (64, 64)]
BLACKWELL_TILES = [(256, 256), (256, 128), (128, 256), (256, 192), (128, 192), (128, 128),
                   (256, 64), (128, 64), (64, 64)]
M_NODES = [1, 4, 16, 32, 64, 128, 256, 512, 768, 1024, 1536, 2048, 3072, 4096, 8192, 16384, 32768]
N_NODES = [32, 64, 128, 256, 512, 768, 1024, 1536, 2048, 3072, 4096, 5120, 6144, 8192, 12288,
           16384, 65536]
# Bytes of an element of the operands, as core/dtype.hpp; the result is bf16.
OPERAND_BYTES = {"bf16": 2.0, "fp8": 1.0, "fp8_block": 1.0, "mxfp8": 1.0, "nvfp4": 0.5625}
# Bytes an element of A that the quantisation inside the measurement moves.
QUANTISED_BYTES = {"bf16": 0.0, "fp8": 5.0, "fp8_block": 3.1, "mxfp8": 3.1, "nvfp4": 2.6}
BARE_FIXED = 2.5e-6  # a launch of the bare product
SMOOTHNESS = 0.4
SHAPE_REACH = 0.02  # as kShapeReach of core/spec/kernel_tables.hpp
SHRINK = 1.0  # points of zero offset added to the median


def read_points(path, label):
    """Median latency (s) by shape: columns m, n, k, t."""
    times = {}
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file):
            if row["gemm_dtype"] == label:
                shape = (int(row["m"]), int(row["n"]), int(row["k"]))
                times.setdefault(shape, []).append(float(row["latency"]) * 1e-3)
    return np.array([(*shape, float(np.median(t))) for shape, t in sorted(times.items())])


def left_out(points):
    """One in five, by the shape alone."""
    shapes = points[:, :3].astype(int)
    return np.array([zlib.crc32(b"%d,%d,%d" % tuple(shape)) % 5 == 0 for shape in shapes])


def is_large(points):
    return (points[:, 0] >= 512) & (points[:, 1] >= 256) & (points[:, 2] >= 256)


def law_time(law, m, n, k):
    largest = law["tiles"][0][0] * law["tiles"][0][1]
    best = np.full(np.shape(m), np.inf)
    for a, b in law["tiles"]:
        w = np.ceil(m / a) * np.ceil(n / b) / law["sms"]
        waves = law["wave"] * np.ceil(w) + (1 - law["wave"]) * np.maximum(1, w)
        best = np.minimum(best, waves * 2 * a * b * (k + law["depth"]) *
                          (largest / (a * b)) ** law["tile_exponent"])
    tc = best / (law["rate"] / law["sms"])
    tm = (law["element"] * (m * k + n * k) + 2 * m * n) / law["bandwidth"]
    return law["fixed"] + (tc ** 4 + tm ** 4) ** 0.25


def overhead(law, m, k):
    return law["extra_fixed"] + law["extra_per_element"] * m * k


def fit_law(points, dtype, sms, tiles, peak):
    """Over the training points of some size; robust in ln(t)."""
    big = points[(points[:, :3] >= 256).all(axis=1)]
    big = big[:: max(1, len(big) // 5000)]
    m, n, k, t = big.T

    def law_of(z):
        narrow = QUANTISED_BYTES[dtype] > 0
        return {"rate": np.exp(z[0]), "depth": z[1] ** 2, "bandwidth": np.exp(z[2]),
                "tile_exponent": z[3] ** 2, "wave": 1 / (1 + np.exp(-z[4])),
                "fixed": BARE_FIXED if narrow else np.exp(z[5]),
                "extra_fixed": np.exp(z[5]) if narrow else 0.0,
                "extra_per_element": QUANTISED_BYTES[dtype] / np.exp(z[6]) if narrow else 0.0,
                "element": OPERAND_BYTES[dtype], "sms": sms, "tiles": tiles}

    def objective(z):
        law = law_of(z)
        e = np.log((law_time(law, m, n, k) + overhead(law, m, k)) / t)
        return np.mean(np.sqrt(e * e + 1e-4))

    start = [np.log(0.75 * peak), 10.0, np.log(3e12), 0.1, -1.0, np.log(3e-6), np.log(3e12)]
    best = minimize(objective, start, method="Nelder-Mead",
                    options={"maxiter": 2500, "maxfev": 2500, "xatol": 1e-3, "fatol": 1e-6})
    return law_of(best.x)


def hats(m, n, k):
    """Rows of trilinear weights on the grid."""
    index, weight = [], []
    for nodes, values in zip((M_NODES, N_NODES, N_NODES), (m, n, k)):
        a = np.log(nodes)
        v = np.clip(np.log(values), a[0], a[-1])
        i = np.clip(np.searchsorted(a, v, side="right") - 1, 0, len(a) - 2)
        index.append(i)
        weight.append((v - a[i]) / (a[i + 1] - a[i]))
    size = (len(M_NODES), len(N_NODES), len(N_NODES))
    rows, columns, data = [], [], []
    for corner in range(8):
        column, w = 0, 1.0
        for axis in range(3):
            up = corner >> axis & 1
            column = column * size[axis] + index[axis] + up
            w = w * (weight[axis] if up else 1 - weight[axis])
        rows.append(np.arange(len(m)))
        columns.append(column)
        data.append(w)
    return sp.csr_matrix((np.concatenate(data), (np.concatenate(rows), np.concatenate(columns))),
                         shape=(len(m), size[0] * size[1] * size[2]))


def differences(strength):
    size = (len(M_NODES), len(N_NODES), len(N_NODES))
    index = np.arange(size[0] * size[1] * size[2]).reshape(size)
    parts = []
    for axis in range(3):
        a = np.take(index, range(size[axis] - 1), axis).ravel()
        b = np.take(index, range(1, size[axis]), axis).ravel()
        row = np.arange(len(a))
        parts.append(sp.csr_matrix((np.r_[np.full(len(a), strength), np.full(len(a), -strength)],
                                    (np.r_[row, row], np.r_[a, b])), shape=(len(a), index.size)))
    return sp.vstack(parts)


def fit_table(points, law):
    """Values of c on the grid, thousandths, by iteratively reweighted least squares."""
    m, n, k, t = points.T
    bare = law_time(law, m, n, k)
    share = np.clip(1 - overhead(law, m, k) / t, 0.05, 1.0)  # of the measured time that is bare
    target = np.log(np.clip((t - overhead(law, m, k)) / bare, 0.4, 2.5))
    a = sp.diags(share) @ hats(m, n, k)
    y = share * target
    smooth = differences(SMOOTHNESS)
    w = np.ones(len(y))
    for _ in range(6):
        left = (a.T @ sp.diags(w) @ a + smooth.T @ smooth + 1e-6 * sp.eye(a.shape[1])).tocsc()
        c = sla.spsolve(left, a.T @ (w * y))
        e = y - a @ c
        w = 0.05 / np.sqrt(e * e + 1e-4)
    grid = np.rint(1000 * c).astype(int)
    residual = target - hats(m, n, k) @ grid / 1000
    by_shape = {}
    for i in range(len(m)):
        if share[i] > 0.3:  # else the overhead hides the product
            by_shape.setdefault((int(m[i]), int(n[i])), []).append(residual[i])
    offsets = {shape: round(1000 * float(np.median(r)) * len(r) / (len(r) + SHRINK))
               for shape, r in by_shape.items()}
    return {"grid": grid, "m": sorted({int(v) for v in m}), "n": sorted({int(v) for v in n}),
            "offsets": offsets}


def offsets_at(table, m, n):
    """Of points on measured shapes."""
    return np.array([table["offsets"].get((int(a), int(b)), 0) for a, b in zip(m, n)])


def errors(points, law, table=None, shapes=True):
    m, n, k, t = points.T
    correction = 1.0
    if table is not None:
        thousandths = hats(m, n, k) @ table["grid"]
        if shapes:
            thousandths = thousandths + offsets_at(table, m, n)
        correction = np.exp(thousandths / 1000)
    return np.abs((law_time(law, m, n, k) * correction + overhead(law, m, k)) / t - 1)


def judge(points, law, table):
    """Medians in per cent by law, by its grid of corrections, and with the offsets of shapes."""
    large = is_large(points)
    result = {}
    for name, e in (("law", errors(points, law)), ("grid", errors(points, law, table, False)),
                    ("table", errors(points, law, table))):
        result[name] = {"all": 100 * float(np.median(e)), "large": 100 * float(np.median(e[large])),
                        "large_p90": 100 * float(np.quantile(e[large], 0.9))}
    return result


def fit(path, label, dtype, sms, tiles, peak):
    """(law, table, judgement on the points left out, those points)."""
    points = read_points(path, label)
    out = left_out(points)
    law = fit_law(points[~out], dtype, sms, tiles, peak)
    table = fit_table(points[~out], law)
    return law, table, judge(points[out], law, table), points[out]


def write_table(path, law, table, title):
    """The format that core/spec/kernel_tables.cpp reads."""
    lines = [f"# {title}", "# ln(measured / law) in thousandths: first a grid of m, n and k,",
             "# then offsets of m x n results. extra: seconds, and seconds times m k, that the",
             "# measurement contains besides the product.",
             f"extra,{law['extra_fixed']:.6g},{law['extra_per_element']:.6g}",
             "m,n," + ",".join(map(str, N_NODES))]
    values = iter(table["grid"])
    for m in M_NODES:
        for n in N_NODES:
            lines.append(f"{m},{n}," + ",".join(str(next(values)) for _ in N_NODES))
    lines.append("shape," + ",".join(map(str, table["n"])))
    for m in table["m"]:
        lines.append(f"{m}," + ",".join(str(table["offsets"].get((m, n), 0)) for n in table["n"]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
