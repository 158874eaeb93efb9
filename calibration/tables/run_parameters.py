# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Which constants of a run are fitted together, within which bounds, and where they stand in a
profile. Used by fit_run_constants.py."""
LATE = "nemo-25.09"   # the performance recipes of Megatron-Bridge begin here
EARLY = "nemo-24.05"  # the oldest release among the runs; named era of the profiles
PLATFORMS = {"h100-sxm": ("hopper", "x86"), "b200": ("blackwell", "x86"),
             "b300": ("blackwell", "x86"), "gb200-nvl72": ("blackwell", "grace"),
             "gb300-nvl72": ("blackwell", "grace")}
MODES = ("none", "router", "partial", "full_iteration")
MEMORY_BOUND = ("memory_bound", "norm", "activation", "optimizer")


def is_late(era):
    return era.startswith(("nemo-25.09", "nemo-25.11", "nemo-26", "main", "Megatron Core MoE (2603"))


def parameters(early):
    """Name -> start, lowest, highest. Clocks are shares of what bursts reach; host times in ms."""
    p = {}
    if early:  # what depends on the release; the rest stays as fitted to later ones
        for name in ("h100-sxm", "gb200-nvl72"):
            p |= {f"bf16.{name}": (0.92, 0.5, 1.0), f"fp8.{name}": (0.9, 0.5, 1.0)}
        p["fp8.b200"] = (0.9, 0.5, 1.0)  # no bf16 run
        for host in ("x86", "grace"):
            p |= {f"moe.{host}.none": (1.5, 0.0, 8.0), f"dense.{host}": (0.3, 0.0, 3.0)}
        return p | {"tp_exposed": (0.5, 0.05, 1.0), "overlap_nccl": (0.8, 0.1, 1.0)}
    for name in PLATFORMS:
        p |= {f"bf16.{name}": (0.92, 0.6, 1.0), f"fp8.{name}": (0.9, 0.6, 1.0)}
    p |= {f"fp4.{name}": (0.95, 0.6, 1.0) for name in ("gb200-nvl72", "gb300-nvl72")}
    for family, duty, memory, quantize in (("hopper", 0.15, 0.8, 0.5), ("blackwell", 0.05, 0.6, 0.8)):
        p |= {f"duty.{family}": (duty, 0.0, 0.8), f"memory.{family}": (memory, 0.4, 1.0),
              f"quantize.{family}": (quantize, 0.2, 1.0), f"permute.{family}": (0.6, 0.2, 1.0)}
    for host in ("x86", "grace"):
        p |= {f"moe.{host}.{mode}": (1.0, 0.0, 4.0) for mode in MODES}
        p[f"dense.{host}"] = (0.3, 0.0, 1.5)
    return p | {"overlap": (0.8, 0.1, 1.0), "overlap_nccl": (0.8, 0.1, 1.0),
                "tp_exposed": (0.4, 0.05, 1.0), "row_kb": (3.0, 0.0, 10.0),
                "exchange": (0.9, 0.3, 1.5), "exchange_nccl": (0.9, 0.3, 1.5)}


def _clock(clock, v, name):
    clock["gemm_bf16"] = v.get(f"bf16.{name}", clock["gemm_bf16"])
    clock["gemm_fp8"] = v.get(f"fp8.{name}", clock["gemm_fp8"])
    clock["gemm_fp4"] = v.get(f"fp4.{name}", clock["gemm_fp8"])
    clock["attention"] = clock["gemm_bf16"]
    return clock


def _milliseconds(value):
    return f"{value if value > 1e-3 else 0:.4g} ms"


def apply(profile, name, v):
    """The profile with the values put in: its own constants, or those of its early era."""
    family, host = PLATFORMS[name]
    if f"moe.{host}.partial" not in v:
        if f"fp8.{name}" not in v:
            return profile
        era = {"sustained_clock": _clock(dict(profile["sustained_clock"]), v, name),
               "tp_overlap_exposed": v["tp_exposed"], "overlap_efficiency_nccl": v["overlap_nccl"],
               "host_per_moe_layer": {m: _milliseconds(v[f"moe.{host}.none"]) for m in MODES},
               "host_per_dense_layer": {m: _milliseconds(v[f"dense.{host}"]) for m in MODES}}
        profile["eras"] = {EARLY: era, LATE: {}}
        return profile
    clock = _clock(profile["sustained_clock"], v, name)
    clock |= {"duty_slope": v[f"duty.{family}"], "duty_free": 0.2, "floor": 0.6}
    dense = v[f"dense.{host}"]
    profile |= {"overlap_efficiency": v["overlap"], "overlap_efficiency_nccl": v["overlap_nccl"],
                "tp_overlap_exposed": v["tp_exposed"], "exchange_rate": v["exchange"],
                "exchange_rate_nccl": v["exchange_nccl"],
                "exchange_row_overhead": f"{v['row_kb']:.4g} kB",
                "host_per_moe_layer": {m: _milliseconds(v[f"moe.{host}.{m}"]) for m in MODES},
                # Dense layers launch a fixed few kernels; a graph leaves 0.4 of their gaps.
                "host_per_dense_layer": {m: _milliseconds(dense * (0.4 if m == "full_iteration" else 1))
                                         for m in MODES}}
    for kernel in MEMORY_BOUND:
        profile["kernels"][kernel]["memory_efficiency"] = v[f"memory.{family}"]
    profile["kernels"]["quantize"]["memory_efficiency"] = v[f"quantize.{family}"]
    profile["kernels"]["permute"]["memory_efficiency"] = v[f"permute.{family}"]
    return profile
