# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the shipped Megatron profiles and their tables from published measurements.

    python3 calibration/tables/make_profiles.py RAW CONFIGS

RAW: a folder with the files named in PLATFORMS (GEMM, NCCL and DeepEP tables of
ai-dynamo/aiconfigurator, attention benchmarks of NVIDIA/cudnn-frontend), which are not part of this
repository. CONFIGS: the configs folder. Needs numpy and scipy. Prints, for every law, the error on
the points that were left out. Constants of whole runs (clocks, overlap, host times, eras, band) of
a profile that is there already are kept: they are fitted elsewhere."""
import json
import pathlib
import sys

import attention
import collectives
import exchange
import gemm

CREATED = "2026-11-21"
RUN_KEYS = ("host_per_op", "host_per_launch", "step_overhead", "sustained_clock", "overlap_efficiency",
            "overlap_efficiency_nccl", "tp_overlap_exposed", "comm_slowdown",
            "comm_slowdown_of_compute", "grouped_launches", "nccl_sms", "deepep_sms",
            "hybridep_sms", "host_per_moe_layer", "host_per_dense_layer", "sharing_penalty",
            "relative_band", "eras", "exchange_rate", "exchange_rate_nccl",
            "exchange_row_overhead", "dp_beside_compute", "dp_beside_pipeline", "slowest_host", "unbound_host",
            "host_per_sharded_weight",
            "host_busy_per_layer", "tp_skew", "host_per_head", "token_mixing_rate", "band_terms",
            "kernels")
AIC = "ai-dynamo/aiconfigurator (Apache-2.0)"
GQA, MLA = "gqa", "mla"
HOPPER_ATTENTION = [("cudnn_h200_919_only_cudnn_llama3.1_20260227_034703.csv", GQA),
                    ("cudnn_h200_919_only_cudnn_dsv3_20260227_034744.csv", MLA)]
GB200_ATTENTION = [("cudnn_llama3.1_gb200_llama3.1_20260424_100750.csv", GQA),
                   ("cudnn_dsv3_gb200_dsv3_20260424_101009.csv", MLA)]
GB300_ATTENTION = [("cudnn_llama3.1_gb300_llama3.1_20260424_100757.csv", GQA),
                   ("cudnn_dsv3_gb300_dsv3_20260424_101002.csv", MLA)]
HOPPER_GEMM = [("bfloat16", "bf16"), ("fp8", "fp8"), ("fp8_block", "fp8_block")]
# On Blackwell the table's fp8_block is DeepGEMM with UE8M0 scales: the public proxy for MXFP8.
BLACKWELL_GEMM = [("bfloat16", "bf16"), ("fp8", "fp8"), ("fp8_block", "mxfp8"), ("nvfp4", "nvfp4")]

# peak: dense bf16, FLOP/s. like: whose gemm law, scaled by `gemm_scale`.
PLATFORMS = {
    "a100-sxm": dict(sms=108, peak=312e12, nvlink=300e9, nic=25e9, memory=2.039e12, arch="ampere"),
    "h100-sxm": dict(sms=132, peak=989e12, nvlink=450e9, nic=50e9, memory=3.35e12, arch="hopper",
                     gemm="gemm_h100_sxm.csv.gz", nccl="nccl_h100_sxm.csv.gz",
                     attention=(HOPPER_ATTENTION, "measured", 1.0),
                     deepep=("deepep_h100_sxm.csv.gz", 8)),
    "h200-sxm": dict(sms=132, peak=989e12, nvlink=450e9, nic=50e9, memory=4.8e12, arch="hopper",
                     gemm="h200_sxm_gemm_trtllm.csv.gz", nccl="h200_sxm_nccl_2.29.2.csv.gz",
                     attention=(HOPPER_ATTENTION, "measured", 1.0),
                     deepep=("h200_sxm_deepep_normal_ep8.csv.gz", 8)),
    "h800-sxm": dict(sms=132, peak=989e12, nvlink=200e9, nic=50e9, memory=3.35e12, arch="hopper",
                     like="h100-sxm", gemm_scale=1.0,
                     attention=(HOPPER_ATTENTION, "measured", 1.0)),
    "b200": dict(sms=148, peak=2250e12, nvlink=900e9, nic=50e9, memory=8e12, arch="blackwell",
                 gemm="gemm_b200.csv.gz", nccl="nccl_b200.csv.gz",
                 attention=(GB200_ATTENTION, "fitted", 0.95), deepep=("deepep_b200.csv.gz", 8)),
    "gb200-nvl72": dict(sms=152, peak=2500e12, nvlink=900e9, nic=50e9, memory=8e12,
                        arch="blackwell", gemm="gemm_gb200.csv.gz", nccl="nccl_gb200.csv.gz",
                        attention=(GB200_ATTENTION, "measured", 1.0),
                        deepep=("deepep_gb200.csv.gz", 4)),
    "gb300-nvl72": dict(sms=152, peak=2500e12, nvlink=900e9, nic=100e9, memory=8e12,
                        arch="blackwell", gemm="gemm_gb300.csv.gz", nccl="nccl_gb300.csv.gz",
                        attention=(GB300_ATTENTION, "measured", 1.0)),
    "b300": dict(sms=148, peak=2250e12, nvlink=900e9, nic=100e9, memory=7.7e12, arch="blackwell",
                 like="gb300-nvl72", gemm_scale=0.9, nccl_like="b200",
                 attention=(GB300_ATTENTION, "fitted", 0.9)),
}


def us(seconds):
    return f"{seconds * 1e6:.4g} us"


def kernels(p):
    """Efficiency curves: memory-bound families, and what no table covers."""
    hopper = p["arch"] == "hopper"
    bandwidth = 0.86 if hopper else 0.80
    quantize = 0.63 if hopper else 0.71  # 2.1 of 3.35, 5.7 of 8 TB/s

    def curve(memory, fixed=3e-6, peak=1.0, half="0 FLOP", source="fitted"):
        return {"max_efficiency": peak, "half_work": half, "memory_efficiency": memory,
                "fixed": us(fixed), "source": source}

    return {
        "gemm": curve(bandwidth, 2.6e-6, 0.75, "1 GFLOP", "datasheet"),
        "grouped_gemm": curve(bandwidth, 2.6e-6, 0.65, "4 GFLOP", "datasheet"),
        "attention_fwd": curve(bandwidth, 3e-6, 0.6, "4 GFLOP", "datasheet"),
        "attention_bwd": curve(bandwidth, 3e-6, 0.5, "8 GFLOP", "datasheet"),
        "memory_bound": curve(bandwidth),
        "norm": curve(bandwidth if hopper else 0.72),  # cuDNN RMSNorm: 5.8-6.4 of 8 TB/s forward
        "activation": curve(bandwidth),
        "loss": curve(0.28),  # SimuMax v1.2, B200, fused cross entropy
        "router": curve(0.2, 8e-6, source="datasheet"),
        "permute": curve(0.50),  # SimuMax v1.2, B200
        "quantize": curve(quantize),
        "optimizer": curve(bandwidth),
    }


def law_json(law, table, source):
    entry = {"rate": f"{law['rate'] / 1e12:.5g} TFLOP/s", "depth": round(law["depth"], 1),
             "fixed": us(law["fixed"]), "bandwidth": f"{law['bandwidth'] / 1e12:.4g} TB/s",
             "tile_exponent": round(law["tile_exponent"], 5), "wave": round(law["wave"], 4),
             "source": source}
    if table:
        entry["table"] = table
    return entry


def fit_gemms(name, p, raw, out, say):
    """The `gemm` object; writes the tables."""
    tiles = gemm.HOPPER_TILES if p["arch"] == "hopper" else gemm.BLACKWELL_TILES
    laws = {"tiles": [list(t) for t in tiles]}
    for label, dtype in HOPPER_GEMM if p["arch"] == "hopper" else BLACKWELL_GEMM:
        peak = p["peak"] * {"bf16": 1, "nvfp4": 4}.get(dtype, 2)
        law, table, judged, _ = gemm.fit(raw / p["gemm"], label, dtype, p["sms"], tiles, peak)
        # What is shipped is rounded: fit and judge agree with it to a per mille.
        file = f"tables/{name}-gemm-{dtype}.csv"
        gemm.write_table(out / file, law, table, f"{name} {dtype}: {AIC}, {p['gemm']} ({label})")
        laws[dtype] = law_json(law, file, "measured")
        text = "; ".join(f"{kind} {e['all']:.2f}/{e['large']:.2f} (p90 {e['large_p90']:.1f})"
                         for kind, e in judged.items())
        say(f"{name} gemm {dtype}: left out, median % all/large: {text}")
    return laws


def grouped():
    # Fitted to the 36 shapes of SimuMax's B200 table (multi-stream cuBLAS, bf16, sustained clock
    # 0.70 as of its dense products): median error 7% forward, 5% dgrad, 10% wgrad.
    return {"forward_per_expert": "3.3 us", "backward_per_expert": "4.6 us",
            "wgrad_per_expert": "0.6 us", "wgrad_rate": 0.72, "row_multiple": 16}


def scale_laws(laws, factor):
    result = json.loads(json.dumps(laws))
    for dtype in ("bf16", "fp8", "fp8_block", "mxfp8", "nvfp4"):
        if dtype in result:
            rate = float(result[dtype]["rate"].split()[0])
            result[dtype]["rate"] = f"{rate * factor:.5g} TFLOP/s"
            result[dtype]["source"] = "interpolated" if factor == 1 else "fitted"
    return result


def ampere_laws(p):
    """No table: the H100's bf16 law by the ratio of the datasheets."""
    law = {"rate": 0.815 * p["peak"], "depth": 120, "fixed": 2.7e-6,
           "bandwidth": 0.86 * p["memory"], "tile_exponent": 0.006, "wave": 0.22}
    tiles = [t for t in gemm.HOPPER_TILES]
    return {"tiles": [list(t) for t in tiles], "bf16": law_json(law, None, "datasheet")}


def curve(latency, per_rank, efficiency, source, slow_start=0.0, small_message=0.0):
    entry = {"latency": us(latency), "latency_per_rank": us(per_rank),
             "efficiency": round(min(1.0, efficiency), 4)}
    if slow_start >= 1:
        entry["slow_start"] = f"{slow_start / 1e6:.4g} MB"
    if small_message:
        entry["small_message"] = f"{small_message / 1e3:.4g} kB"
    return entry | {"source": source}


def tiers(p, times):
    inner = {}
    for name in ("all_gather", "reduce_scatter", "all_reduce", "all_to_all"):
        if times:
            law = collectives.fit_law(name, times[name])
            per_rank = law["latency_per_rank"] if law["latency_per_rank"] > 1e-9 else 0.0
            inner[name] = curve(law["latency"], per_rank, law["rate"] / p["nvlink"], "fitted",
                                law["slow_start"])
        else:  # order of the H100's fits
            inner[name] = curve(8e-6, 0.8e-6, 0.78, "datasheet", 5e6)
    inner["send_recv"] = curve(10e-6, 0, 0.7, "datasheet")
    # NICs: 46 of 50 GB/s (NVIDIA/nccl-tests#290), 94 of 100; steps between nodes 16 us (NCCL's
    # tuning table); all-to-all 44 of 50 at 8 MB a peer.
    nic = 0.94 if p["nic"] >= 100e9 else 0.92
    outer = {name: curve(8.4e-6, 16e-6, nic, "fitted")
             for name in ("all_gather", "reduce_scatter", "all_reduce")}
    outer["all_to_all"] = curve(15e-6, 0.3e-6, 0.88, "fitted", 0.0, 128e3)
    outer["send_recv"] = curve(15e-6, 0, nic, "fitted")
    return [inner, outer]


def dispatch(name, p, raw):
    nic = p["nic"] / 50e9
    rdma_source = "measured" if name == "h100-sxm" else "fitted"
    rates = []
    if p["arch"] == "ampere":
        return rates
    if name == "h800-sxm":
        rates += exchange.entries(exchange.DEEPEP_H800_NVLINK, "measured")
    elif "deepep" in p:
        file, ranks = p["deepep"]
        rates += exchange.entries(exchange.deepep_nvlink(raw / file, ranks), "measured")
    else:
        file, ranks = PLATFORMS["gb200-nvl72" if "gb" in name else "b200"]["deepep"]
        rates += exchange.entries(exchange.deepep_nvlink(raw / file, ranks), "fitted")
    rates += exchange.entries(exchange.scaled(exchange.DEEPEP_H800_RDMA, nic),
                              "measured" if name == "h800-sxm" else "fitted")
    if name.startswith("gb"):
        rates += exchange.entries(exchange.HYBRID_GB200_NVLINK,
                                  "measured" if name == "gb200-nvl72" else "fitted")
    else:
        scale = p["nvlink"] / 900e9
        rates += exchange.entries(exchange.scaled(exchange.HYBRID_B200_NVLINK, scale),
                                  "measured" if name == "b200" else "fitted")
    rates += exchange.entries(exchange.scaled(exchange.HYBRID_H100_RDMA, nic), rdma_source)
    return rates


def ampere_attention():
    # Order of the figures of the FlashAttention-2 paper (arXiv 2307.08691, A100, causal, d 128).
    points = {"forward": [[512, 90], [1024, 125], [2048, 155], [4096, 175], [8192, 187],
                          [16384, 192]],
              "backward": [[512, 75], [1024, 105], [2048, 130], [4096, 147], [8192, 158],
                           [16384, 163]]}
    return [{"layout": "gqa", "math": "bf16", "pass": name, "source": "datasheet",
             "rates": [[s, f"{r} TFLOP/s"] for s, r in rates]} for name, rates in points.items()]


def run_constants(p):
    """Defaults, to be refitted against published runs."""
    blackwell = p["arch"] == "blackwell"
    return {
        "host_per_op": "5 us", "step_overhead": "10 ms",
        "sustained_clock": {"gemm_bf16": 0.95 if blackwell else 0.92,
                            "gemm_fp8": 0.93 if blackwell else 0.80, "attention": 0.95,
                            "duty_slope": 0.45 if blackwell else 0.25, "duty_free": 0.2,
                            "floor": 0.68},
        "overlap_efficiency": 0.6 if blackwell else 0.5, "overlap_efficiency_nccl": 0.8,
        "tp_overlap_exposed": 0.4 if blackwell else 0.6, "comm_slowdown": 1.15,
        "comm_slowdown_of_compute": 1.0, "grouped_launches": 1.0,
        "nccl_sms": 16, "deepep_sms": 20, "hybridep_sms": 32,
        "host_per_moe_layer": {"none": "1.5 ms" if blackwell else "1.1 ms",
                               "router": "1.5 ms" if blackwell else "1.1 ms",
                               "partial": "1.5 ms" if blackwell else "1.1 ms",
                               "full_iteration": "0.5 ms"},
        "host_per_dense_layer": {"none": "0.25 ms", "router": "0.25 ms", "partial": "0.25 ms",
                                 "full_iteration": "0.1 ms"},
        "sharing_penalty": 1.0, "relative_band": 0.2}


def provenance(name, p):
    gemms = p.get("gemm") or ("none; the H100's law by datasheet ratio" if p["arch"] == "ampere"
                              else f"that of {p['like']}, rate times {p['gemm_scale']}")
    nccl = p.get("nccl") or (f"that of {p['nccl_like']}" if "nccl_like" in p else "none")
    files = " and ".join(f for f, _ in p["attention"][0]) if "attention" in p else \
        "order of the FlashAttention-2 paper's figures"
    return (f"GEMM: {AIC}, {gemms}. NCCL 2.29: {AIC}, {nccl}. Attention: {files} "
            "(NVIDIA/cudnn-frontend). Exchange: DeepEP and hybrid-ep READMEs and aiconfigurator. "
            "Memory-bound: cuDNN RMSNorm, SimuMax v1.2. Network between nodes: NCCL's tuning "
            "table, NVIDIA/nccl-tests#290. Clocks, overlap, host times and rates of memory-bound kernels: fitted to "
            "published runs by calibration/tables/fit_run_constants.py, else defaults. "
            "Written by calibration/tables/make_profiles.py.")


def make(name, raw, out, say, done):
    p = PLATFORMS[name]
    times, table = None, None
    if "nccl" in p:
        times = collectives.read(raw / p["nccl"])
        table = f"tables/{name}-collectives.csv"
        collectives.write_table(out / table, times, f"{name}: {AIC}, {p['nccl']}, NCCL 2.29.2")
        errors = sorted(collectives.leave_one_out(times))
        middle, high = errors[len(errors) // 2], errors[len(errors) * 9 // 10]
        say(f"{name} collectives >= 1 MB: {len(errors)} points left out one at a time, median "
            f"{100 * middle:.2f}%, p90 {100 * high:.1f}%")
    elif "nccl_like" in p:
        times = collectives.read(raw / PLATFORMS[p["nccl_like"]]["nccl"])
        table = f"tables/{p['nccl_like']}-collectives.csv"
    if "gemm" in p:
        laws = fit_gemms(name, p, raw, out, say)
    elif p["arch"] == "ampere":
        laws = ampere_laws(p)
    else:
        laws = scale_laws(done[p["like"]]["gemm"], p["gemm_scale"])
    laws["grouped"] = grouped()
    profile = {"schema_version": 1, "name": f"{name}-megatron", "cluster": name,
               "runtime": "megatron", "created": CREATED, "provenance": provenance(name, p),
               "kernels": kernels(p), "gemm": laws}
    if "attention" in p:
        files, source, scale = p["attention"]
        rates = {}
        for file, layout in files:
            rates |= attention.read(raw / file, layout)
        profile["attention"] = attention.entries(rates, source, scale)
    else:
        profile["attention"] = ampere_attention()
    profile["collectives"] = tiers(p, times)
    if table:
        profile["collective_table"] = table
    if rates := dispatch(name, p, raw):
        profile["dispatch"] = rates
    profile |= run_constants(p)
    path = out / f"{name}-megatron.json"
    if path.exists():
        old = json.loads(path.read_text(encoding="utf-8"))
        profile |= {key: old[key] for key in RUN_KEYS if key in old}
    path.write_text(to_text(profile) + "\n", encoding="utf-8")
    done[name] = profile


def to_text(value, indent=0):
    """JSON with lists of plain values on one line."""
    pad = "  " * (indent + 1)
    if isinstance(value, dict) and value:
        inner = ",\n".join(f"{pad}{json.dumps(k)}: {to_text(v, indent + 1)}"
                           for k, v in value.items())
        return "{\n" + inner + "\n" + "  " * indent + "}"
    if isinstance(value, list) and any(isinstance(v, dict) for v in value):
        inner = ",\n".join(pad + to_text(v, indent + 1) for v in value)
        return "[\n" + inner + "\n" + "  " * indent + "]"
    return json.dumps(value)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    raw, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]) / "profiles"
    (out / "tables").mkdir(parents=True, exist_ok=True)
    done = {}
    for name in PLATFORMS:
        make(name, raw, out, print, done)


if __name__ == "__main__":
    main()
