// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Thousands of damaged logs, measurements and command lines: each is read or refused, none crashes.
#include <gtest/gtest.h>

#include <random>

#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"
#include "interop/megatron_command.hpp"
#include "interop/megatron_import.hpp"
#include "interop/megatron_log.hpp"
#include "interop/nccl_tests.hpp"
#include "tests/interop/data_file.hpp"
#include "tests/interop/export_samples.hpp"

namespace pleat::interop_test {
namespace {

using namespace interop;

// A few bytes replaced, removed or doubled; digits more often than others.
std::string damaged(const std::string& text, std::mt19937& engine) {
  std::string out = text;
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(engine);
  };
  for (std::size_t i = 0, n = 1 + below(6); i < n && out.size() > 8; ++i) {
    std::size_t at = below(out.size());
    if (below(2) == 0) at = std::min(out.find_first_of("0123456789", at), out.size() - 1);
    switch (below(5)) {
      case 0:
        out[at] = static_cast<char>(below(256));
        break;
      case 1:
        out.erase(at, 1 + below(20));
        break;
      case 2:
        out.insert(at, out.substr(at, 1 + below(30)));
        break;
      case 3:
        out[at] = "0123456789-.|:()[]*# "[below(21)];
        break;
      default:
        out.resize(at + 1);
    }
  }
  return out;
}

template <class Read>
void survives(const std::string& text, unsigned seed, Read read, int times = 3000) {
  std::mt19937 engine(seed);
  int good = 0;
  for (int i = 0; i < times; ++i) {
    try {
      read(damaged(text, engine));
      ++good;
    } catch (const ConfigError&) {
    }
  }
  EXPECT_GT(good, 0);
}

TEST(BrokenInput, Logs) {
  survives(test::data_file("megatron_mixtral.log"), 1, [](const std::string& text) {
    const MegatronLog log = parse_megatron_log(text);
    static_cast<void>(log_times(log, 0, "log"));
    static_cast<void>(import_arguments(log.arguments, 0, "log"));
  });
}

TEST(BrokenInput, Measurements) {
  for (const char* name : {"all_reduce_new.txt", "reduce_scatter_old.txt"}) {
    survives(test::data_file(name), 2, [&](const std::string& text) {
      const NcclRun run = parse_nccl_tests(text, name, name, 0);
      const CollectiveCurve curve = fit_collective(run, BytesPerSecond(450e9));
      EXPECT_TRUE(curve.efficiency > 0 && curve.efficiency <= 1);
      static_cast<void>(collective_csv({run}, name));
    });
  }
}

TEST(BrokenInput, CommandLines) {
  const FlagTable table = load_flag_table();
  const std::string text = export_text(
      Target::megatron, export_plan(Target::megatron, {sample("mixtral-8x7b")}, "p"), "t");
  survives(text, 3, [&](const std::string& broken) {
    static_cast<void>(import_arguments(read_arguments(shell_words(broken), table).values, 64, "a"));
  });
}

// Scripts that no longer close what they open, and YAML out of its columns.
TEST(BrokenInput, ScriptsAndYaml) {
  const FlagTable table = load_flag_table();
  const std::string script =
      "#!/bin/bash\nN=${N:-2}; A=(--num-layers 4 --hidden-size $((N * 8)))\n"
      "f() { local c=(${1} 2); if [ $1 = a ] && [[ ! $2 =~ b ]]; then A+=(--bf16); fi; }\nf a b\n"
      "case $N in 1) X=1 ;; *) X=\"${A[@]}\" ;; esac\nfor i in 1 2; do X=\"$X --seq-length $i\"; "
      "done\nsbatch <<EOF\nsrun bash -c \\${X} 2>&1 | tee $(date)\nEOF\n"
      "torchrun --nproc_per_node 8 pretrain_gpt.py ${A[@]} $X\n";
  survives(
      script, 4,
      [&](const std::string& broken) {
        static_cast<void>(find_command({{"run.sh", broken}}, {}, 0, table));
      },
      500);
  const std::string yaml =
      "ENV:\n  A: 1\nMODEL_ARGS:\n  --num-layers: ${N} # four\n  --x: [a, \"b c\"]\n  --y: "
      "([0]*3+[1]*5)\nL:\n- a: 1\n  b: |\n    text\n- 2\n";
  survives(
      yaml, 5,
      [&](const std::string& broken) {
        static_cast<void>(find_command({{"a.yaml", broken}}, {{"N", "4"}}, 0, table));
      },
      500);
}

}  // namespace
}  // namespace pleat::interop_test
