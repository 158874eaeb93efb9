#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Small seeds for the fuzzers, cut out of files that ship: one of everything that a reader tells apart.

A fuzzer's speed is that of its seeds: a profile of 14 kB is read ten times as slowly as one of 2 kB that
has the same parts. Run it in the root of the tree; the files are written to tests/fuzz/corpus."""
import json
import pathlib
import re
import shlex

CORPUS = pathlib.Path("tests/fuzz/corpus")


def load(path):
    return json.loads(pathlib.Path(path).read_text())


def write(target, name, value):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False,
                                                           separators=(",", ":"))
    (folder / name).write_text(text)


def first(members, count):
    return dict(list(members.items())[:count])


def cut_profile():
    profile = load("configs/profiles/b200-megatron.json")
    for path in sorted(pathlib.Path("configs/profiles").glob("*.json")):
        for key, value in load(path).items():  # what only other profiles have
            profile.setdefault(key, value)
    profile["provenance"] = "cut"
    profile["kernels"] = first(profile["kernels"], 7)
    profile["gemm"]["tiles"] = profile["gemm"]["tiles"][:2]
    for math in ("fp8", "fp8_block", "mxfp8", "nvfp4"):
        profile["gemm"].pop(math, None)
    profile["attention"] = profile["attention"][:1]
    profile["attention"][0]["rates"] = profile["attention"][0]["rates"][:2]
    profile["collectives"] = profile["collectives"][:1]
    profile["dispatch"] = profile["dispatch"][:1]
    profile["eras"] = first(profile["eras"], 1)
    write("profile", "cut.json", profile)


def cut_rates():
    rates = load("configs/rates/default.json")
    rates["notes"] = "cut"
    rates["defaults"] = first(rates["defaults"], 4)
    rates["clusters"] = first(rates["clusters"], 2)
    sets = [rates["defaults"], *rates["clusters"].values()]
    for rate in (r for s in sets for r in s.values()):
        rate["source"] = "cut"
    write("rates", "cut.json", rates)


def cut_tokenizers():
    text = "In the beginning: 12345 café 日\n\n\xff <s>don't"
    bytes_needed = {f"<0x{b:02X}>" for b in text.encode()}
    for path in sorted(pathlib.Path("tests/backend/data/tokenizers").glob("*.json")):
        tokenizer = load(path)
        model = tokenizer.get("model") if isinstance(tokenizer, dict) else None
        if not isinstance(model, dict):
            continue
        model["merges"] = model["merges"][:5]
        pairs = [m.split(" ") if isinstance(m, str) else m for m in model["merges"]]
        wanted = {t for left, right in pairs for t in (left, right, left + right)}
        wanted |= set("Inthebg: 12Ġ▁é日") | bytes_needed | {model.get("unk_token")}
        wanted |= {t["content"] for t in tokenizer["added_tokens"]}
        model["vocab"] = {t: i for t, i in model["vocab"].items() if t in wanted}
        write("tokenizer", path.name, tokenizer)


def cut_manifest():
    manifest = load("tests/fuzz/large/manifest/tied.json")
    manifest["tensors"] = manifest["tensors"][:2]
    manifest["tensors"][0]["parts"] = [[0, 0, 64, 3, 256], [1, 64, 64, 1, 0, 320, 64, 2, 128]]
    manifest["plan"] = "cut"
    write("manifest", "cut.json", manifest)


def cut_plans():
    """A plan of few layers and microbatches, with experts and without: a prediction takes less."""
    plan = load("configs/plans/deepseek-v3-gb300-256.json")
    plan["provenance"] = "cut"
    model = plan["model"]["resolved"]
    model.update(layers=4, hidden=256, vocab=1024, ffn=512, mtp_layers=0)
    model["attention"].update(heads=8, kv_groups=8, q_lora_rank=64, kv_lora_rank=64)
    model["moe"].update(experts=8, top_k=2, ffn=128, shared_ffn=128, groups=2, top_groups=1)
    model["moe"]["dense_layers"] = [0]
    plan["cluster"] = {"name": "h100-sxm", "gpus": 8}
    plan["workload"].update(seq_len=256, global_batch=8)
    p = plan["plan"]
    p.update(attention={"tp": 1, "cp": 1, "dp": 4, "pp": 2}, expert={"etp": 1, "ep": 4, "edp": 1},
             vpp=1, layout="", precision="bf16", dispatcher="alltoall", cuda_graph="none",
             dispatcher_sms=0, fp8_attention=False, fp8_head=False, fp8_params=False)
    p["overlap"].update(expert_parallel=False, delay_wgrad=False)
    p["paged_stash"] = {"buffer": 0.0, "capacity": 0.0}
    p["optimizer"].update(main_grads="fp32", exp_avg="fp32", exp_avg_sq="fp32")
    write("plan", "cut-moe.json", plan)
    del model["moe"]
    model["attention"].update(kind="gqa", heads=8, kv_groups=2, head_dim=32)
    for size in ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"):
        model["attention"][size] = 0
    p.update(attention={"tp": 2, "cp": 1, "dp": 2, "pp": 2},
             expert={"etp": 1, "ep": 1, "edp": 4}, recompute=["core_attn"])
    write("plan", "cut-dense.json", plan)


def cut_megatron():
    lines = pathlib.Path("tests/interop/data/megatron_mixtral.log").read_text().splitlines()
    begin, end = " 0: --- arguments ---", " 0: --- end of arguments ---"
    arguments = [re.sub(r" \.+ ", " .. ", line) for line in lines if " ... " in line or ".... " in line]
    times = [line.split("| learning rate")[0] for line in lines if "elapsed time" in line][:3]
    memory = [line for line in lines if "[Rank 0]" in line]
    write("megatron_log", "cut.log", "\n".join([begin, *arguments, end, *times, *memory]) + "\n")
    write("megatron_log", "cut-times.log", "\n".join(times + memory) + "\n")
    # What the seeds of launch scripts say, as a log prints it.
    flags = load("configs/interop/megatron-lm.json")["flags"]
    for path in sorted((CORPUS / "megatron_arguments").iterdir()):
        words, printed = shlex.split(path.read_text()), ["world_size .. 2048"]
        for word, value in zip(words, words[1:] + ["--"]):
            if word.startswith("--"):
                member = flags.get(word, {}).get("dest", word[2:].replace("-", "_"))
                printed.append(f"{member} .. {'True' if value.startswith('--') else value}")
        write("megatron_log", f"cut-{path.name}.log", "\n".join([begin, *printed, end, *times]) + "\n")


def cut_nccl():
    for name in ("all_reduce_new.txt", "alltoall_new.txt", "reduce_scatter_old.txt"):
        lines = pathlib.Path("tests/interop/data", name).read_text().splitlines()
        rows = [line for line in lines if line.strip() and not line.startswith("#")]
        ranks = [line for line in lines if line.startswith("#  Rank")]
        leave = set(rows[3:]) | set(ranks[2:])
        kept = [line for line in lines if line not in leave]
        write("nccl_log", "cut-" + name.replace("_", "-"), "\n".join(kept) + "\n")


def cut_tables():
    rows = pathlib.Path("configs/profiles/tables/b200-collectives.csv").read_text().splitlines()
    kept, ranks, sizes = rows[:2], {}, {}
    for row in rows[2:]:  # of each collective two numbers of ranks, of each two sizes
        collective, count = row.split(",")[:2]
        ranks.setdefault(collective, []).append(count)
        sizes[collective, count] = sizes.get((collective, count), 0) + 1
        if count in sorted(set(ranks[collective]), key=int)[:2] and sizes[collective, count] <= 2:
            kept.append(row)
    write("kernel_tables", "cut-collectives.csv", "\n".join(kept) + "\n")


if __name__ == "__main__":
    cut_profile()
    cut_rates()
    cut_tokenizers()
    cut_manifest()
    cut_plans()
    cut_megatron()
    cut_nccl()
    cut_tables()
