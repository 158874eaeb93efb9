#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""gpu_all.sh in a copy of the tree, with scripts in place of cmake, nvidia-smi, compute-sanitizer and the programs."""
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# Every stub notes how it was called, in one write: others run beside it.
STUB = '#!/bin/bash\nprintf "%s\\n" "$(basename "$0") $*" >>"$CALLS"\n'
CMAKE = STUB + """
if [[ $1 == --build ]]; then exit "${BUILD_STATUS:-0}"; fi
while (($#)); do if [[ $1 == -B ]]; then to="$2"; fi; shift; done
mkdir -p "$to"
printf '%s\\n' "PLEAT_CUDNN_FRONTEND_INCLUDE:PATH=/x" "PLEAT_CUDNN_INCLUDE:PATH=/y" \\
  "PLEAT_CUTLASS_INCLUDE:PATH=${FOUND_CUTLASS:-PLEAT_CUTLASS_INCLUDE-NOTFOUND}" >"$to/CMakeCache.txt"
"""
SMI = """#!/bin/bash
if [[ -n $NO_GPU ]]; then exit 9; fi
case "$*" in
  *compute_cap*) echo "${CAPABILITY:-9.0}" ;; *memory.total*) echo 143771 ;; *) echo "NVIDIA H200" ;;
esac
"""
PROGRAM = STUB + """
case "$*" in
  *--gtest_list_tests*) printf 'Suite.\\n  One\\n  LargeIndex\\n' ;;
  *--list*) printf 'dense\\ntokens\\n' ;;
  *" --precision fp8 "*) exit "${FP8_STATUS:-3}" ;;
  *) sleep "${WORK_SECONDS:-0}" ;;
esac
exit "${PROGRAM_STATUS:-0}"
"""


class Tree(unittest.TestCase):
    has_xz = True

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = os.path.join(self.folder.name, "tree")
        self.bin = os.path.join(self.folder.name, "bin")
        self.prebuilt = os.path.join(self.folder.name, "prebuilt")
        self.calls = os.path.join(self.folder.name, "calls")
        self.out = os.path.join(self.root, "build-gpu", "out")
        # A test beside this one may be writing its bytecode.
        shutil.copytree(HERE, os.path.join(self.root, "tests", "benchmarks"), ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(os.path.join(ROOT, "configs", "models"), os.path.join(self.root, "configs", "models"))
        self.write(os.path.join(self.root, "README.md"), "text", 0o644)
        self.write(os.path.join(self.root, "docs", "a.md"), "text", 0o644)
        self.write(os.path.join(self.root, "pleat.sh"), STUB + 'exit "${SETUP_STATUS:-0}"\n')
        self.write(os.path.join(self.bin, "cmake"), CMAKE)
        self.write(os.path.join(self.bin, "nvidia-smi"), SMI)
        self.write(os.path.join(self.bin, "compute-sanitizer"),
                   STUB + 'sleep "${WORK_SECONDS:-0}"; case "$*" in *planted*) exit "${FINDS:-9}" ;; esac\n')
        self.write(os.path.join(self.bin, "torch-python"), STUB + 'sleep "${WORK_SECONDS:-0}"\n')
        for name in ("kernels_cuda_conformance", "kernels_cuda_elementwise", "kernels_cuda_planted_faults",
                     "backend_gpu_test", "pleat_gpu_benchmarks", "pleat"):
            self.write(os.path.join(self.prebuilt, "bin", name), PROGRAM)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, path, text, mode=0o755):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)

    def run_steps(self, *steps, prebuilt=True, **variables):
        """Exit status, what it said, and the calls it made."""
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PLEAT_", "OUT"))}
        env.update(PATH=self.bin + ":" + env["PATH"], CALLS=self.calls,
                   PLEAT_TORCH_PYTHON=os.path.join(self.bin, "torch-python"), **variables)
        if prebuilt:
            env["PLEAT_PREBUILT"] = self.prebuilt
        if not self.has_xz:
            env["PATH"] = self.bin + ":" + self.tools_without_xz()
        open(self.calls, "w", encoding="utf-8").close()
        done = subprocess.run(["bash", os.path.join(self.root, "tests/benchmarks/gpu_all.sh"), *steps], env=env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False)
        with open(self.calls, encoding="utf-8") as file:
            return done.returncode, done.stdout, file.read().splitlines()

    def tools_without_xz(self):
        tools = os.path.join(self.folder.name, "tools")
        if not os.path.isdir(tools):
            os.mkdir(tools)
            for folder in ("/usr/bin", "/bin"):
                for name in os.listdir(folder):
                    if not name.startswith(("xz", "unxz", "lzma")) and not os.path.lexists(os.path.join(tools, name)):
                        os.symlink(os.path.join(folder, name), os.path.join(tools, name))
        return tools

    def build(self, *more, **variables):
        return self.run_steps("build", *more, prebuilt=False, **variables)


class GpuAll(Tree):
    def test_stops_where_kernels_of_a_library_would_be_missing(self):
        status, said, calls = self.build()
        self.assertEqual(status, 1)
        self.assertIn("not found: PLEAT_CUTLASS_INCLUDE.", said)
        self.assertFalse([c for c in calls if c.startswith("cmake --build")])
        self.assertIn("pleat.sh setup --headers", calls)
        status, _, calls = self.build(PLEAT_ALLOW_FALLBACK="1")
        self.assertEqual((status, len([c for c in calls if c.startswith("cmake --build")])), (0, 1))

    def test_builds_for_the_gpu_that_is_there(self):
        _, _, calls = self.build(FOUND_CUTLASS="/z")
        configure = next(c for c in calls if " --preset cuda " in c)
        self.assertIn(" -DPLEAT_CUDA_ARCHS=90a ", configure)
        self.assertRegex(configure, r" -DPLEAT_CUTLASS_JOBS=[1-9]")
        status, _, calls = self.build(CAPABILITY="8.0")  # no CUTLASS there, and none is asked for
        self.assertEqual(status, 0)
        self.assertIn(" -DPLEAT_CUDA_ARCHS=80 ", next(c for c in calls if " --preset cuda " in c))
        _, _, calls = self.build(PLEAT_CUDA_ARCHS="100a", PLEAT_CMAKE_FLAGS="-DPLEAT_NATIVE=OFF -DX=1")
        configure = next(c for c in calls if " --preset cuda " in c)
        self.assertIn(" -DPLEAT_CUDA_ARCHS=100a ", configure)
        self.assertTrue(configure.endswith(" -DPLEAT_NATIVE=OFF -DX=1"))

    def test_goes_on_without_a_network_and_stops_without_a_build(self):
        status, said, _ = self.build(FOUND_CUTLASS="/z", SETUP_STATUS="5")
        self.assertEqual(status, 0)
        self.assertIn("has not got everything", said)
        _, _, calls = self.build(FOUND_CUTLASS="/z", PLEAT_RESUME="1")
        self.assertEqual([c.split(" ")[1] for c in calls if c.startswith("cmake")], ["-S", "--build"])
        status, said, calls = self.build("conformance", FOUND_CUTLASS="/z", BUILD_STATUS="1")
        self.assertEqual(status, 1)
        self.assertIn("the build failed", said)
        self.assertNotIn("the step build comes first", said)
        self.assertTrue(calls[-1].startswith("cmake --build"), calls[-1])
        status, said, _ = self.run_steps("conformance", prebuilt=False)
        self.assertEqual(status, 1)
        self.assertIn("the step build comes first", said)
        self.assertEqual(self.run_steps("conformnace")[0], 2)
        status, said, calls = self.run_steps("build", "benchmarks", NO_GPU="1")
        self.assertEqual((status, calls), (1, []))
        self.assertIn("no GPU", said)

    def test_programs_are_packed_and_used_without_xz(self):
        self.has_xz = False
        self.test_programs_are_packed_and_used_elsewhere()
        out, prebuilt = os.path.join(self.folder.name, "o"), {"PLEAT_PREBUILT": self.prebuilt, "prebuilt": False}
        steps = {"PLEAT_GPU_SECTIONS": "dense tokens", "OUT": out, **prebuilt}
        self.assertEqual(self.run_steps("benchmarks", **steps)[0], 0)
        shutil.rmtree(os.path.join(self.root, "build-gpu"))
        carried = os.path.join(out, "results.tar.xz")
        status, said, calls = self.run_steps("benchmarks", PLEAT_GPU_FROM=carried, **steps)
        self.assertEqual((status, [c for c in calls if "--list" not in c]), (0, []), said)
        brought = subprocess.run(["tar", "-tJf", carried], stdout=subprocess.PIPE, check=True, text=True).stdout.split()
        self.assertLessEqual({"./benchmarks-dense.txt", "./benchmarks-tokens.txt"}, set(brought))
        with open(carried, "wb") as file:
            file.write(b"no archive")
        status, said, _ = self.run_steps("benchmarks", PLEAT_GPU_FROM=carried, **steps)
        self.assertEqual(status, 1)
        self.assertIn("is no archive of results", said)

    def test_programs_are_packed_and_used_elsewhere(self):
        self.write(os.path.join(self.root, "build-gpu", "CMakeCache.txt"),
                   "PLEAT_NATIVE:BOOL=OFF\nPLEAT_CUDA_ARCHS:STRING=90a\n", 0o644)
        for name, folder in (("pleat", "cli"), ("pleat_gpu_benchmarks", "tests/benchmarks"),
                             *((n, "tests/kernels/cuda") for n in ("kernels_cuda_conformance", "kernels_cuda_elementwise",
                                                                   "kernels_cuda_planted_faults", "backend_gpu_test"))):
            to = os.path.join(self.root, "build-gpu", folder, name)
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copy("/bin/true", to)
        library = os.path.join(self.root, "build-gpu", "kernels", "cuda", "libpleat_cuda.so")
        os.makedirs(os.path.dirname(library))
        shutil.copy("/bin/true", library)
        archive = os.path.join(self.folder.name, "p.tar.xz")
        self.assertEqual(self.run_steps("pack", prebuilt=False, PLEAT_PACK=archive)[0], 0)
        for wrong, why in (("PLEAT_NATIVE:BOOL=ON\n", "this machine's CPU"),
                           ("PLEAT_NATIVE:BOOL=OFF\nPLEAT_CUDA_ARCHS:STRING=90a;100a\n", "several GPUs")):
            self.write(os.path.join(self.root, "build-gpu", "CMakeCache.txt"), wrong, 0o644)
            status, said, _ = self.run_steps("pack", prebuilt=False, PLEAT_PACK=archive)
            self.assertEqual(status, 1)
            self.assertIn(why, said)
        shutil.rmtree(os.path.join(self.root, "build-gpu"))
        status, said, _ = self.run_steps("build", "calibration", prebuilt=False, PLEAT_PREBUILT=archive)
        self.assertEqual(status, 0, said)
        self.assertIn("calibration                  done", said)
        unpacked = os.path.join(self.root, "build-gpu", "prebuilt", "lib", "pleat", "libpleat_cuda.so")
        self.assertTrue(os.path.exists(unpacked))
        self.assertEqual(self.run_steps("build", prebuilt=False, PLEAT_PREBUILT=self.calls)[0], 1)

    def test_one_process_a_test_also_under_the_sanitizer(self):
        status, _, calls = self.run_steps("conformance", "sanitizers")
        self.assertEqual(status, 0)
        self.assertEqual(len([c for c in calls if c.startswith("kernels_cuda_conformance --gtest_filter=Suite.")]), 2)
        watched = [c for c in calls if c.startswith("compute-sanitizer") and "racecheck" in c]
        self.assertEqual(len(watched), 5)
        for call in watched:
            self.assertIn("--tool racecheck --error-exitcode 9 --kernel-name kns=pleat --kernel-name-exclude kns=cutlass",
                          call)
        self.assertEqual(len([c for c in calls if "--tool memcheck" in c]), 5)
        status, said, _ = self.run_steps("sanitizers", FINDS="0")
        self.assertEqual(status, 1)
        self.assertIn("failed: sanitizer-memcheck-control ", said)
        _, _, calls = self.run_steps("memcheck")
        self.assertIn("--gtest_filter=*Grouped*:*Permut*", " ".join(calls))

    def test_training_is_chosen_cut_and_resumed(self):
        status, said, calls = self.run_steps("training", PLEAT_GPU_MODELS="qwen3", PLEAT_GPU_KINDS="bf16 order fp8")
        runs = [c for c in calls if c.startswith("pleat train")]
        self.assertEqual((status, len(runs)), (1, 3))  # fp8 fails
        self.assertIn("failed: train-qwen3-fp8 ", said)
        self.assertIn(" --micro-batch 4 ", runs[0])
        self.assertIn(f" --data {self.out}/qwen3-tokens ", runs[0])
        self.assertNotIn("--any-order-attention", runs[0])
        self.assertTrue(runs[1].endswith("--any-order-attention"))
        again = dict(PLEAT_GPU_MODELS="qwen3", PLEAT_GPU_KINDS="bf16 order fp8", PLEAT_RESUME="1")
        status, said, calls = self.run_steps("training", **again)
        self.assertEqual(len([c for c in calls if c.startswith("pleat train")]), 1)
        self.assertIn("done before", said)

    def test_pytorch_trains_on_the_same_tokens_and_microbatches(self):
        _, _, calls = self.run_steps("pytorch", PLEAT_GPU_MODELS="mixtral")
        runs = [c for c in calls if "torch_reference.py" in c]
        self.assertEqual([(" --microbatch 2 " in r, "--deterministic" in r, " --accumulation 16 " in r) for r in runs],
                         [(True, False, False), (True, True, False), (True, False, True)])
        self.assertIn(" --accumulation 4 ", runs[0])
        self.assertTrue(runs[0].endswith(f" --tokens {self.out}/mixtral-tokens.bin"))

    def test_benchmarks_a_process_a_section(self):
        status, said, calls = self.run_steps("benchmarks", "summary", PLEAT_GPU_SECTIONS="dense tokens")
        self.assertEqual([c for c in calls if c.startswith("pleat_gpu_benchmarks ") and "--list" not in c],
                         ["pleat_gpu_benchmarks dense  10", "pleat_gpu_benchmarks tokens  10"])
        self.assertEqual(status, 0)
        self.assertIn("not measured", said)
        status, said, _ = self.run_steps("benchmarks", PROGRAM_STATUS="139", PLEAT_GPU_SECTIONS="dense tokens")
        self.assertEqual(status, 1)
        self.assertIn("failed: benchmarks-dense benchmarks-tokens", said)

    def test_nothing_runs_where_other_kernels_would_be_measured(self):
        status, said, calls = self.run_steps("facts", "benchmarks", PROGRAM_STATUS="1", OUT=os.path.join(self.folder.name, "o"))
        self.assertEqual(status, 1)
        self.assertIn("the libraries' kernels do not run here", said)
        self.assertFalse([c for c in calls if c.startswith("pleat_gpu_benchmarks")])
        self.assertTrue(os.path.exists(os.path.join(self.folder.name, "o", "results.tar.xz")))
        self.assertEqual(self.run_steps("facts", PROGRAM_STATUS="1", PLEAT_ALLOW_FALLBACK="1")[0], 1)  # said at the end

    def test_the_deadline_cuts_what_runs_and_says_what_does_not_fit(self):
        begin = time.monotonic()
        status, said, _ = self.run_steps("benchmarks", "compare", PLEAT_GPU_SECTIONS="dense tokens", WORK_SECONDS="300",
                                         PLEAT_GPU_DEADLINE="4")
        self.assertEqual(status, 75)
        self.assertLess(time.monotonic() - begin, 60)
        self.assertRegex(said, r"benchmarks-dense +CUT OFF at [1-4] s")
        self.assertIn("not finished: benchmarks-dense ", said)
        self.assertRegex(said, r"compare +not begun: the deadline is near")


class HalfAnHour(Tree):
    """A machine that is lent for commands of DEADLINE seconds, with little time for what takes minutes there. After
    a command nothing is left but the output folder; the first command is killed before its time."""
    DEADLINE, WORK = 20, "0.02"

    def command(self, number, kill_after=None):
        """Status (None: killed), seconds, calls: in a bare tree, from the archive that the last command has left."""
        shutil.rmtree(os.path.join(self.root, "build-gpu"), ignore_errors=True)
        out = os.path.join(self.folder.name, f"out-{number}")
        carried = os.path.join(self.folder.name, f"out-{number - 1}", "results.tar.xz")
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PLEAT_", "OUT"))}
        env.update(PATH=self.bin + ":" + env["PATH"], CALLS=self.calls, OUT=out, WORK_SECONDS=self.WORK, FP8_STATUS="0",
                   PLEAT_TORCH_PYTHON=os.path.join(self.bin, "torch-python"), PLEAT_PREBUILT=self.prebuilt,
                   PLEAT_GPU_DEADLINE=str(self.DEADLINE), PLEAT_GPU_STEPS="1")
        if number > 0:
            env["PLEAT_GPU_FROM"] = carried
        open(self.calls, "w", encoding="utf-8").close()
        begin = time.monotonic()
        process = subprocess.Popen(["bash", os.path.join(self.root, "tests/benchmarks/gpu_all.sh")], env=env, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   start_new_session=True)
        try:
            said = process.communicate(timeout=kill_after)[0]
            status = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said, status = process.communicate()[0], None
        with open(self.calls, encoding="utf-8") as file:
            calls = file.read().splitlines()
        subprocess.run(["tar", "-tJf", os.path.join(out, "results.tar.xz")], stdout=subprocess.DEVNULL, check=True)
        return status, time.monotonic() - begin, calls, said

    def test_everything_is_done_in_a_few_commands(self):
        whole, number, status = [], 0, 75
        while status in (None, 75) and number < 20:
            status, seconds, calls, said = self.command(number, kill_after=4 if number == 0 else None)
            self.assertLess(seconds, self.DEADLINE + 10, said)
            whole.append([c for c in calls if "--list" not in c and "list_tests" not in c])
            number += 1
        self.assertIn("failed: curve (", said)  # the stand-ins have no losses; all else went well
        self.assertEqual(status, 1)
        self.assertGreater(number, 1)
        # What matters most came first, and of what was there when a command ended nothing was done again.
        order = [next(i for i, c in enumerate(sum(whole, [])) if word in c) for word in
                 ("--gtest_filter=Suite.", "pleat_gpu_benchmarks grouped", "train --device cuda", "torch_reference.py", "calibrate")]
        self.assertEqual(order, sorted(order))
        for earlier, later in zip(whole[1:], whole[2:]):  # of the one that was killed the last step may be lost
            trained = [c for c in earlier[:-1] if c.startswith("pleat train")]
            self.assertFalse(set(trained) & set(later))
        self.assertIn("compute-sanitizer --tool racecheck", " ".join(sum(whole, [])))
        with open(os.path.join(self.folder.name, f"out-{number - 1}", "summary.md"), encoding="utf-8") as file:
            self.assertIn("| conformance on the GPU |", file.read())


if __name__ == "__main__":
    unittest.main()
