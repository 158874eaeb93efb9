// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/run_commands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "application/request/typed_plan.hpp"
#include "interop/quoting.hpp"

namespace pleat::cli {
namespace {

std::vector<std::string> target_words(const TargetOptions& o, const Target& t) {
  std::vector<std::string> words;
  const auto say = [&](const char* flag, const std::string& value) {
    if (value.empty()) return;
    words.emplace_back(flag);
    words.push_back(value);
  };
  say("--model", o.model.empty() ? t.model.name : o.model);
  say("--cluster", o.cluster.empty() ? t.cluster.name : o.cluster);
  say("--gpus", std::to_string(t.gpus));
  say("--seq-len", std::to_string(t.workload.seq_len));
  say("--global-batch", std::to_string(t.workload.global_batch));
  say("--runtime", o.runtime);
  say("--profile", o.profile);
  if (o.capacity_factor) say("--capacity-factor", fmt::format("{}", *o.capacity_factor));
  if (o.straggler_slowdown) say("--straggler-slowdown", fmt::format("{}", *o.straggler_slowdown));
  say("--documents", fmt::format("{}", fmt::join(o.documents, ",")));
  say("--routing", o.routing.routing);
  if (o.routing.imbalance) say("--imbalance", fmt::format("{}", *o.routing.imbalance));
  if (o.pad_to_capacity) words.emplace_back("--pad-to-capacity");
  if (o.accept_mismatch) words.emplace_back("--accept-mismatch");
  return words;
}

}  // namespace

std::string export_commands(Runtime runtime, const std::string& plan_file) {
  const std::string file = interop::shell_word(plan_file, "plan file");
  switch (runtime) {
    case Runtime::pleat:
      return fmt::format("pleat train --plan {}", file);
    case Runtime::megatron:
      return fmt::format(
          "pleat export --to megatron {0} -o train.sh\n"
          "pleat launch --to slurm {0} -o job.sh",
          file);
  }
  return "";
}

std::string run_commands(const TargetOptions& asked, const Target& t, const Plan& plan,
                         const std::string& plan_file) {
  if (!plan_file.empty()) return export_commands(t.runtime, plan_file);
  std::string text = "# options cannot say all of this plan: add --out plan.json to the command\n";
  if (can_be_typed(plan)) {
    std::vector<std::string> words = target_words(asked, t);
    const std::vector<std::string> shape = typed_shape(plan);
    words.insert(words.end(), shape.begin(), shape.end());
    text = "pleat predict";
    for (const std::string& word : words) text += " " + interop::shell_word(word, "words");
    text += " --out plan.json\n";
  }
  return text + export_commands(t.runtime, "plan.json");
}

}  // namespace pleat::cli
