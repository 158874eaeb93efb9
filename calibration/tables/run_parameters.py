# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Which constants of a run are fitted together, within which bounds, and where they stand in a
profile. Used by fit_run_constants.py."""
from band import HGX_BLACKWELL

LATE = "nemo-25.09"   # the performance recipes of Megatron-Bridge begin here
NEWER = "nemo-26.04"
EARLY = "nemo-24.05"  # the oldest release among the runs; named era of the profiles
# What the slowest of many hosts costs (slowest_host.py), beyond the hosts that most of the runs had:
# what so many wait is in the other constants.
SLOWEST = {"slowest_host": 0.0087, "slowest_host_from": 64}
# MLPerf's rounds run a stack of their own, tuned for one model: the speed of their kernels over that
# of the release. Rounds with two or more rows of a platform that the fit explains.
ROUNDS = {"v3.1": ("h100-sxm",), "v4.0": ("h100-sxm",), "v4.1": ("h100-sxm",),
          "v5.0": ("h100-sxm", "gb200-nvl72")}
PLATFORMS = {"h100-sxm": ("hopper", "x86"), "b200": ("blackwell", "x86"),
             "b300": ("blackwell", "x86"), "gb200-nvl72": ("blackwell", "grace"),
             "gb300-nvl72": ("blackwell", "grace")}
ALIKE = {"h200-sxm": "h100-sxm", "h800-sxm": "h100-sxm"}  # take the constants of another
MODES = ("none", "router", "partial", "full_iteration")
MEMORY_BOUND = ("memory_bound", "norm", "activation", "optimizer")


def is_late(era):
    return era.startswith(("nemo-25.09", "nemo-25.11", "nemo-26", "main", "Megatron Core MoE (2603",
                           "Megatron-FSDP"))


def parameters(early):
    """Name -> start, lowest, highest. Clocks are shares of what bursts reach; host times in ms."""
    p = {}
    if early:  # what depends on the release; the rest stays as fitted to later ones
        for name in ("h100-sxm", "gb200-nvl72"):
            p |= {f"bf16.{name}": (0.92, 0.5, 1.0), f"fp8.{name}": (0.9, 0.5, 1.0)}
        p["fp8.b200"] = (0.9, 0.5, 1.0)  # no bf16 run
        for host in ("x86", "grace"):
            p |= {f"moe.{host}.none": (1.5, 0.0, 8.0), f"dense.{host}": (0.3, 0.0, 3.0)}
        p |= {f"round.{r}.{name}": (1.0, 0.85, 1.15) for r, names in ROUNDS.items() for name in names}
        return p | {"tp_exposed": (0.5, 0.05, 1.0), "overlap_nccl": (0.8, 0.1, 1.0),
                    "dp_pipeline": (0.6, 0.0, 1.0)}  # of all releases; the largest runs are early
    for name in PLATFORMS:
        p |= {f"bf16.{name}": (0.92, 0.6, 1.0), f"fp8.{name}": (0.9, 0.6, 1.0)}
    p |= {f"fp4.{name}": (0.95, 0.6, 1.0) for name in ("gb200-nvl72", "gb300-nvl72")}
    for family, duty, memory, quantize in (("hopper", 0.15, 0.8, 0.5), ("blackwell", 0.05, 0.6, 0.8)):
        p |= {f"duty.{family}": (duty, 0.0, 0.8), f"memory.{family}": (memory, 0.4, 1.0),
              f"quantize.{family}": (quantize, 0.2, 1.0), f"permute.{family}": (0.6, 0.2, 1.0)}
    for host in ("x86", "grace"):
        p |= {f"moe.{host}.{mode}": (1.0, 0.0, 4.0) for mode in MODES}
        p[f"dense.{host}"] = (0.3, 0.0, 1.5)
    p["older.blackwell"] = (0.97, 0.8, 1.0)
    return p | {"overlap": (0.8, 0.1, 1.0), "overlap_nccl": (0.8, 0.1, 1.0),
                "tp_exposed": (0.4, 0.05, 1.0), "dp_beside": (0.2, 0.0, 1.0),
                "sharded": (0.1, 0.0, 0.5), "row_kb": (3.0, 0.0, 10.0),
                "exchange": (0.9, 0.3, 1.5), "exchange_nccl": (0.9, 0.3, 1.5)}


def _clock(clock, v, name):
    clock["gemm_bf16"] = v.get(f"bf16.{name}", clock["gemm_bf16"])
    clock["gemm_fp8"] = v.get(f"fp8.{name}", clock["gemm_fp8"])
    clock["gemm_fp4"] = v.get(f"fp4.{name}", clock["gemm_fp8"])
    clock["attention"] = clock["gemm_bf16"]
    return clock


def _scaled(clock, factor):
    products = ("gemm_bf16", "gemm_fp8", "gemm_fp4", "attention")
    return clock | {name: round(min(1.0, clock[name] * factor), 4) for name in products}


def _milliseconds(value):
    return f"{value if value > 1e-3 else 0:.4g} ms"


def _with_eras(profile, changed):
    """Releases first, in the order of time."""
    eras = profile.get("eras", {}) | changed
    order = sorted(eras, key=lambda era: (not era.startswith("nemo"), era))
    return profile | {"eras": {era: eras[era] for era in order}}


def apply(profile, name, v):
    """The profile with the values put in: its own constants, or those of its early era."""
    family, host = PLATFORMS[name]
    if f"moe.{host}.partial" not in v:
        profile = profile | {"dp_beside_pipeline": v["dp_pipeline"]}
        if f"fp8.{name}" not in v:
            return profile
        era = {"sustained_clock": _clock(dict(profile["sustained_clock"]), v, name),
               "tp_overlap_exposed": v["tp_exposed"], "overlap_efficiency_nccl": v["overlap_nccl"],
               "host_per_moe_layer": {m: _milliseconds(v[f"moe.{host}.none"]) for m in MODES},
               "host_per_dense_layer": {m: _milliseconds(v[f"dense.{host}"]) for m in MODES}}
        terms = profile.get("eras", {}).get(EARLY, {}).get("band_terms")
        era |= {"band_terms": terms} if terms else {}
        rounds = {f"mlperf-{r}": era | {"sustained_clock": _scaled(era["sustained_clock"],
                                                                   v[f"round.{r}.{name}"])}
                  for r, names in ROUNDS.items() if name in names}
        return _with_eras(profile, {EARLY: era} | rounds)
    clock = _clock(profile["sustained_clock"], v, name)
    clock |= {"duty_slope": v[f"duty.{family}"], "duty_free": 0.2, "floor": 0.6}
    dense = v[f"dense.{host}"]
    profile |= {"overlap_efficiency": v["overlap"], "overlap_efficiency_nccl": v["overlap_nccl"],
                "tp_overlap_exposed": v["tp_exposed"], "dp_beside_compute": v["dp_beside"],
                **SLOWEST,
                "host_per_sharded_weight": _milliseconds(v["sharded"]),
                "exchange_rate": v["exchange"], "exchange_rate_nccl": v["exchange_nccl"],
                "exchange_row_overhead": f"{v['row_kb']:.4g} kB",
                "host_per_moe_layer": {m: _milliseconds(v[f"moe.{host}.{m}"]) for m in MODES},
                # Dense layers launch a fixed few kernels; a graph leaves 0.4 of their gaps.
                "host_per_dense_layer": {m: _milliseconds(dense * (0.4 if m == "full_iteration" else 1))
                                         for m in MODES}}
    older = {}
    if family == "blackwell":  # young: matrix products still gained between these releases
        older = {"sustained_clock": _scaled(clock, v["older.blackwell"])}
    profile = _with_eras(profile, {LATE: older, NEWER: {}})
    for kernel in MEMORY_BOUND:
        profile["kernels"][kernel]["memory_efficiency"] = v[f"memory.{family}"]
    profile["kernels"]["quantize"]["memory_efficiency"] = v[f"quantize.{family}"]
    profile["kernels"]["permute"]["memory_efficiency"] = v[f"permute.{family}"]
    return profile


def prior_residuals(v, start):
    """What is known beside the runs, as residuals of the fit. Platforms share what physics shares:
    a constant leaves its family only as far as runs pull it. The weights were chosen with left-out
    errors in view."""
    # A round's few rows have little weight beside the other runs of their group, so its prior has less.
    result = [(0.05 if n.startswith("round.") else 0.15) * (v[n] - start[n]) / max(0.05, abs(start[n]))
              for n in v]
    for host in ("x86", "grace"):  # capturing the router lies between nothing and attention too
        if f"moe.{host}.router" in v:
            middle = (v[f"moe.{host}.none"] + v[f"moe.{host}.partial"]) / 2
            result.append(0.4 * (v[f"moe.{host}.router"] - middle))
    for kind in ("bf16", "fp8"):  # GPUs of one family clock alike
        alike = [v[f"{kind}.{n}"] for n, (family, _) in PLATFORMS.items()
                 if family == "blackwell" and f"{kind}.{n}" in v]
        result += [0.6 * (clock - sum(alike) / len(alike)) for clock in alike]
    for mode in ("none", "router", "partial"):  # host processors work alike
        if f"moe.x86.{mode}" in v and f"moe.grace.{mode}" in v:
            result.append(0.2 * (v[f"moe.x86.{mode}"] - v[f"moe.grace.{mode}"]))
    if "overlap" in v:  # one mechanism; kernels differ by 0.06 (cuDNN's norms: 0.86 and 0.80)
        result.append(v["overlap"] - v["overlap_nccl"])
        result.append(v["memory.hopper"] - v["memory.blackwell"] - 0.06)
    return result


# Of a step beyond the largest run: docs/MODEL.md section 8.
DOUBLING = 0.04


def set_largest_run(profile, rows):
    """GPUs of the largest run of the platform, or of the one whose constants it takes."""
    platform = ALIKE.get(profile["cluster"], profile["cluster"])
    largest = max((row["gpus"] for row in rows if row["cluster"] == platform), default=0)
    for constants in (profile, *profile.get("eras", {}).values()):
        if "band_terms" in constants:
            constants["band_terms"] |= {"doubling": DOUBLING, "largest_run": largest}
    return profile


def set_band(profile, terms, early):
    """Of the late releases; early ones differ from them in their era's terms."""
    rest = {name: term for name, term in terms.items() if name not in ("base", "nccl_exchange_hgx")}
    if profile["cluster"] in HGX_BLACKWELL:
        rest["nccl_exchange"] = terms["nccl_exchange_hgx"]
    if not early:
        return profile | {"relative_band": terms["base"],
                          "band_terms": profile.get("band_terms", {}) | rest}
    if EARLY in profile.get("eras", {}):
        more = max(0.0, terms["base"] ** 2 - profile["relative_band"] ** 2) ** 0.5
        early_terms = rest | {"era": round(more, 3)}
        profile["eras"][EARLY]["band_terms"] = profile.get("band_terms", {}) | early_terms
    return profile
