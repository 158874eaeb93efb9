# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""The band around a predicted step: a base and terms for what a run uses, added as independent
errors, so that 80% of the errors of left-out groups lie inside. As simulator/uncertainty.cpp."""
import numpy as np
from scipy.optimize import minimize

SHARE = 0.82  # terms chosen on other groups hold two points less
# NCCL's exchange on HGX Blackwell has a term of its own: four releases ran it up to twice as slow
# as the ones before and after, for reasons that no row states.
TERMS = ("base", "experts", "nccl_exchange", "nccl_exchange_hgx", "sharded")
HGX_BLACKWELL = ("b200", "b300")
DENSE = ("llama", "gpt3", "nemotron4")


def terms_of(row):
    """Which of TERMS apply. What a row leaves open is taken as the simulator's default."""
    plan = row["plan"]
    experts = not str(row["model"]).startswith(DENSE)
    own_kernel = plan.get("dispatcher") in ("deepep", "hybridep", "flex")
    sharding = plan.get("sharding") or ""
    sharded = "fsdp" in sharding or "optim_grads" in sharding or (plan.get("fsdp_group") or 0) > 1
    nccl, hgx = experts and not own_kernel, row["cluster"] in HGX_BLACKWELL
    return np.array([True, experts, nccl and not hgx, nccl and hgx, sharded], dtype=float)


def half_widths(features, terms):
    return np.sqrt(features @ terms ** 2)


def _fit(features, errors):
    """Terms that minimise the pinball loss: the share of rows inside is then SHARE."""
    def loss(z):
        gap = errors - half_widths(features, np.exp(z))
        # The squares keep terms small that no row speaks of.
        return np.sum(np.exp(2 * z)) / 2 + np.sum(np.where(gap > 0, SHARE * gap, (SHARE - 1) * gap))

    best = min((minimize(loss, np.log([0.05, second, 0.05, 0.2, 0.05]), method="Nelder-Mead",
                         options={"maxiter": 4000, "xatol": 1e-3, "fatol": 1e-7})
                for second in (0.02, 0.06, 0.12)), key=lambda r: r.fun)
    return np.exp(best.x)


def _arrays(samples):
    return (np.array([terms_of(row) for row, _, _ in samples]),
            np.abs([error for _, _, error in samples]))


def fit_band(samples):
    """`samples`: (row, group, error of the row left out). {term: value}, thousandths."""
    terms = _fit(*_arrays(samples))
    return {name: round(float(t), 3) if t > 2e-3 else 0.0 for name, t in zip(TERMS, terms)}


def coverage(samples, folds=5):
    """{kind of run: (share inside, rows, mean half-width)} with terms from other groups only."""
    groups = sorted({group for _, group, _ in samples}, key=str)
    features, errors = _arrays(samples)
    inside, widths = np.zeros(len(errors), dtype=bool), np.zeros(len(errors))
    for k in range(folds):
        out = np.array([group in set(groups[k::folds]) for _, group, _ in samples])
        widths[out] = half_widths(features[out], _fit(features[~out], errors[~out]))
    inside = errors <= widths
    kinds = {"all": lambda f, n: True, "dense": lambda f, n: not f[1],
             "own kernels": lambda f, n: f[1] and not f[2] and not f[3],
             "nccl exchange": lambda f, n: f[2], "the same, HGX": lambda f, n: f[3],
             "sharded": lambda f, n: f[4], "to 72 GPUs": lambda f, n: n <= 72,
             "to 1,024 GPUs": lambda f, n: 72 < n <= 1024, "larger": lambda f, n: n > 1024}
    result = {}
    for name, belongs in kinds.items():
        these = np.array([bool(belongs(f, row["gpus"])) for f, (row, _, _) in zip(features, samples)])
        if these.any():
            result[name] = (inside[these].mean(), int(these.sum()), widths[these].mean())
    return result
