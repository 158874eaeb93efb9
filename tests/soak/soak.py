#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""A long run under attack: `pleat train` is killed, stopped, or gets a full disk, at random moments, and
goes on in another layout and over another transport, thousands of times. It must end with the losses
and the state, to the bit, of a run that nobody disturbed, and lose no checkpoint that it had announced.

  tests/soak/soak.py --pleat build/cli/pleat --disturbances 2000 --seed 1

Layouts are those whose sums are divided alike, so that their bits are the same: pipelines of several
orders, recomputation, sharded and offloaded state; the table is not tied, because a pipeline adds up
a tied table's two gradients in another order. Prints a line for each campaign and a table at the
end; exit status 1 if anything was lost. What failed stays in --folder."""

import argparse
import collections
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

STEPS = 40
MODEL = {"model_type": "mixtral", "hidden_size": 32, "vocab_size": 128, "num_hidden_layers": 4,
         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 48,
         "num_local_experts": 4, "num_experts_per_tok": 2, "rms_norm_eps": 1e-6, "tie_word_embeddings": False,
         "hidden_act": "silu", "rope_theta": 10000.0}
# Of two data-parallel ranks, each with half of the experts.
LAYOUTS = [
    "--gpus 2 --ep 2",
    "--gpus 2 --ep 2 --sharding zero1",
    "--gpus 2 --ep 2 --recompute full",
    "--gpus 4 --ep 2 --pp 2",
    "--gpus 4 --ep 2 --pp 2 --sharding zero1",
    "--gpus 4 --ep 2 --pp 2 --schedule zb-h1",
    "--gpus 4 --ep 2 --pp 2 --layout Ett|ttL --recompute core_attn,mlp",
    "--gpus 4 --ep 2 --pp 2 --layout Et|tttL",
    "--gpus 4 --ep 2 --pp 2 --vpp 2",
    "--gpus 2 --ep 2 --state-offload 0.5",
]
POINTS = ["ckpt.before_folder", "ckpt.after_folder", "ckpt.before_shard:rank=1", "ckpt.half_shard:rank=0",
          "ckpt.half_shard:rank=1", "ckpt.before_sync:rank=0", "ckpt.after_shard:rank=1", "ckpt.before_manifest",
          "ckpt.after_manifest", "ckpt.before_rename", "ckpt.after_rename", "ckpt.before_latest",
          "ckpt.after_latest", "ckpt.removing", "ckpt.done", "op.attn:rank=0", "op.attn:rank=1",
          "op.dense.adamw:rank=1"]
# What a run may end with that was disturbed: done, a lost process or a full disk, SIGTERM, SIGINT.
ENDINGS = {0, 5, 75, 130, -signal.SIGKILL, 128 + signal.SIGKILL, 137, 143, 1, 255}


class Lost(Exception):
    pass


class Soak:
    def __init__(self, options, folder):
        self.pleat, self.folder, self.random = options.pleat, folder, random.Random(options.seed)
        self.mpirun = shutil.which("mpirun")
        self.counts = collections.Counter()
        self.now = "undisturbed"
        (folder / "config.json").write_text(json.dumps(MODEL))
        (folder / "text").write_text("".join(chr(ord("a") + i * i % 23) for i in range(4000)))
        os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

    def command(self, save, layout, transport):
        train = [self.pleat, "train", "--model", str(self.folder / "config.json"), "--data", str(self.folder / "text"),
                 "--order-samples", "400", "--precision", "fp32", "--seq-len", "16", "--global-batch", "8",
                 "--clip-grad", "0", "--steps", str(STEPS), "--save", str(save), "--save-every", "1", "--keep", "2",
                 "--resume", "--lost-timeout", "10", "--log-json", str(save) + ".log", *layout.split()]
        if transport == "mpi":
            gpus = layout.split()[1]
            return [self.mpirun, "--oversubscribe", "--bind-to", "none", "-n", gpus, *train]
        return train + (["--transport", "tcp"] if transport == "tcp" else [])

    def start(self, save, layout, transport, point=None, small_disk=False, background=False):
        environment = dict(os.environ)
        if point:
            environment["PLEAT_FAILPOINT"] = point

        def limit():
            if small_disk:
                resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))

        command = self.command(save, layout, transport) + (["--async-save"] if background else [])
        with open(str(save) + ".err", "wb") as err:
            return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=err, stdin=subprocess.DEVNULL,
                                    env=environment, preexec_fn=limit, start_new_session=True)

    def wait(self, process, save):
        try:
            return process.wait(timeout=120)
        except subprocess.TimeoutExpired:
            for victim in self.victims(process):
                print(victim, pathlib.Path(f"/proc/{victim}/cmdline").read_bytes()[:40],
                      pathlib.Path(f"/proc/{victim}/stat").read_text().split()[2])
            os.killpg(process.pid, signal.SIGKILL)
            raise Lost("a run that does not end: " + self.said(save))

    @staticmethod
    def said(save):
        return pathlib.Path(str(save) + ".err").read_text(errors="replace")[-600:]

    @staticmethod
    def losses(save):
        """By step, as printed; a step that was repeated is there as often."""
        by_step = collections.defaultdict(set)
        path = pathlib.Path(str(save) + ".log")
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue  # cut off by the kill
            if "loss" in record and "step" in record:
                by_step[record["step"]].add(record["loss"])
        return by_step

    @staticmethod
    def state(checkpoint):
        """Every element of every tensor, out of the shards: a reader of its own."""
        manifest = json.loads((checkpoint / "manifest.json").read_text())
        shards, tensors = {}, {}
        for tensor in manifest["tensors"]:
            size = {"F32": 4, "BF16": 2}[tensor["dtype"]]
            whole = bytearray(tensor["elements"] * size)
            covered = 0
            for rank, *runs in tensor["parts"]:
                if rank not in shards:
                    data = (checkpoint / f"shard_{rank:05}.safetensors").read_bytes()
                    length = struct.unpack("<Q", data[:8])[0]
                    shards[rank] = json.loads(data[8:8 + length]), memoryview(data)[8 + length:]
                header, data = shards[rank]
                at = header[tensor["name"]]["data_offsets"][0]
                for begin, elements, count, step in zip(*[iter(runs)] * 4):
                    for i in range(count):
                        to = (begin + i * step) * size
                        whole[to:to + elements * size] = data[at:at + elements * size]
                        at += elements * size
                        covered += elements
            if covered != tensor["elements"]:
                raise Lost(f"{checkpoint}: {tensor['name']}: {covered} of {tensor['elements']} elements")
            tensors[tensor["name"]] = bytes(whole)
        return tensors, manifest["state"]

    def latest(self, save):
        path = save / "LATEST"
        names = sorted(p.name for p in save.glob("step_*") if ".tmp." not in p.name) if save.exists() else []
        return int(names[-1][5:]) if names else int(path.read_text()[5:]) if path.exists() else 0

    def reference(self):
        save = self.folder / "whole"
        for layout in LAYOUTS:
            shutil.rmtree(save, ignore_errors=True)
            pathlib.Path(str(save) + ".log").unlink(missing_ok=True)
            code = self.wait(self.start(save, layout, "threads"), save)
            if code != 0:
                raise Lost(f"undisturbed, {layout}: exit {code}: {self.said(save)}")
            found = self.losses(save), self.state(save / f"step_{STEPS:08}")
            if layout == LAYOUTS[0]:
                self.expected = found
            elif found != self.expected:
                raise Lost(f"undisturbed, {layout}: other bits than {LAYOUTS[0]}")

    def victims(self, process):
        """The processes of the job that train."""
        group = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                if os.getsid(int(entry.name)) != process.pid and int(entry.name) != process.pid:
                    continue
                if b"train" in (entry / "cmdline").read_bytes().split(b"\0"):
                    group.append(int(entry.name))
            except (ProcessLookupError, FileNotFoundError, PermissionError):
                continue
        return group

    def disturb(self, save):
        layout, kind = self.random.choice(LAYOUTS), self.random.choice(
            ["kill one", "kill one", "kill all", "terminate", "interrupt", "kill at", "kill at", "error at", "full disk"])
        transports = ["threads", "tcp"] + (["mpi"] if self.mpirun else [])
        transport = self.random.choice(transports)
        if kind == "full disk" and transport == "mpi":
            transport = "tcp"  # Open MPI's own files would be limited too, and mpirun then never ends
        background = self.random.random() < 0.3
        point = None
        if kind.endswith(" at"):
            step = self.latest(save) + 1 + self.random.randrange(3)
            point = self.random.choice(POINTS) + f":step={step}" + (":error" if kind == "error at" else "")
        self.now = f"{kind}, {layout}, {transport}{', ' + point if point else ''}"
        process = self.start(save, layout, transport, point, kind == "full disk", background)
        if point is None and kind != "full disk":
            time.sleep(self.random.uniform(0.02, 0.9 if transport == "threads" else 1.6))
            group = self.victims(process)
            try:
                if kind == "kill one" and group:
                    os.kill(self.random.choice(group), signal.SIGKILL)
                elif kind == "kill all":
                    os.killpg(process.pid, signal.SIGKILL)
                    for victim in group:
                        os.kill(victim, signal.SIGKILL)
                elif process.poll() is None:
                    process.send_signal(signal.SIGTERM if kind == "terminate" else signal.SIGINT)
            except ProcessLookupError:
                pass  # it has ended by itself
        code = self.wait(process, save)
        self.settle(process)
        self.counts[f"{kind}, {transport}"] += 1
        if code not in ENDINGS:
            raise Lost(f"exit {code}: {self.said(save)}")
        return code

    def settle(self, process):
        """Until no process of the job is left."""
        for _ in range(600):
            if not self.victims(process):
                return
            time.sleep(0.05)
        raise Lost("processes that stay after their job has ended")

    def check(self, save, at_least):
        """The newest checkpoint is whole, and no older than one that was there before."""
        step = self.latest(save)
        if step < at_least:
            raise Lost(f"a checkpoint of step {at_least} was there, now {step} is the newest")
        if step == 0:
            return 0
        verified = subprocess.run([self.pleat, "checkpoint", "verify", str(save)], capture_output=True, text=True)
        if verified.returncode != 0:
            raise Lost(verified.stdout + verified.stderr)
        for number, seen in self.losses(save).items():
            if seen != self.expected[0][number]:
                raise Lost(f"step {number}: losses {seen}, undisturbed {self.expected[0][number]}")
        return step

    def campaign(self, number, most):
        save = self.folder / f"run{number}"
        step = disturbances = 0
        while disturbances < most and step < STEPS:
            self.disturb(save)
            disturbances += 1
            step = self.check(save, step)
        code = self.wait(self.start(save, self.random.choice(LAYOUTS), "threads"), save)
        if code != 0:
            raise Lost(f"the last resume: exit {code}: {self.said(save)}")
        self.check(save, step)
        if self.state(save / f"step_{STEPS:08}") != self.expected[1]:
            raise Lost("the last state has other bits")
        shutil.rmtree(save)
        for suffix in (".log", ".err"):
            pathlib.Path(str(save) + suffix).unlink(missing_ok=True)
        return disturbances


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pleat", required=True)
    parser.add_argument("--disturbances", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=pathlib.Path, help="for its files (default: a new one, removed at the end)")
    options = parser.parse_args()
    options.pleat = os.path.abspath(options.pleat)
    folder = options.folder or pathlib.Path(tempfile.mkdtemp(prefix="pleat-soak-"))
    folder.mkdir(parents=True, exist_ok=True)
    soak = Soak(options, folder)
    done = campaigns = 0
    begin = time.time()
    try:
        soak.reference()
        while done < options.disturbances:
            done += soak.campaign(campaigns, options.disturbances - done)
            campaigns += 1
            print(f"{done} disturbances, {campaigns} campaigns, {time.time() - begin:.0f} s", flush=True)
    except Lost as lost:
        print(f"LOST after {sum(soak.counts.values())} disturbances in campaign {campaigns}, {soak.now}: {lost}")
        print(f"its files are in {folder}")
        return 1
    for kind, count in sorted(soak.counts.items()):
        print(f"{count:6}  {kind}")
    print(f"{done} disturbances in {campaigns} campaigns: nothing was lost")
    if not options.folder:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
