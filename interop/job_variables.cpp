// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "interop/job_variables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

namespace pleat::interop {
namespace {

// As exported: 0.01, or several of as many losses.
std::string balance_factors(const Launch& l) {
  for (const Setting& s : l.exported.settings) {
    if (s.name == "--moe-aux-loss-coeff") return fmt::format("{}", fmt::join(s.values, " "));
  }
  return "";
}

std::vector<JobVariable> of_megatron(const Launch& l) {
  std::vector<JobVariable> list{
      {"DATA_PATH",
       "",
       "prefix of the .bin and .idx files, or a blend: 0.3 A 0.7 B",
       {"--data-path"},
       {"--mock-data", "--data-args-path", "--per-split-data-args-path", "--train-data-path"}},
      {"TOKENIZER_MODEL",
       "",
       "name or folder of a Hugging Face tokenizer",
       {"--tokenizer-model"},
       {"--tokenizer-type"}},
      {"CHECKPOINTS", "", "folder that all nodes see", {"--save", "--load"}, {}},
      {"SAVE_INTERVAL", "500", "steps between checkpoints", {"--save-interval"}, {}},
      {"TRAIN_ITERS", "", "steps to train", {"--train-iters"}, {"--train-samples"}},
      {"LR", "", "learning rate", {"--lr"}, {}}};
  if (l.moe) {
    list.push_back({"MOE_AUX_LOSS", balance_factors(l),
                    "factor of the loss that balances experts",
                    {"--moe-aux-loss-coeff"},
                    {"--moe-router-force-load-balancing"}});
  }
  return list;
}

std::vector<JobVariable> of_pleat() {
  return {{"DATA", "", "a text, or prefix of the .bin and .idx files", {"--data"}, {}},
          {"CHECKPOINTS", "", "folder that all nodes see", {"--save"}, {}},
          {"SAVE_EVERY", "500", "steps between checkpoints", {"--save-every"}, {}},
          {"STEPS", "", "steps to train", {"--steps"}, {}},
          {"LR", "", "learning rate", {"--lr"}, {}}};
}

const char* array_name(const Launch& l) {
  return l.trainer == Trainer::pleat ? "PLEAT_ARGS" : "MEGATRON_ARGS";
}

// The shell function that use_variables_text() calls for each variable.
constexpr const char* kUse = R"sh(
# Adds a variable's flags to the arguments, unless they are given already.
given=" ${@ARRAY@[*]} $* "
missing=0
use() { # variable, what it is, its flags, flags instead of it
  local flag words=("${!1}")
  for flag in $3 $4; do
    if [[ "$given" == *" $flag "* || "$given" == *" $flag="* ]]; then return 0; fi
  done
  if [[ -z "${!1}" ]]; then
    echo "$0: $1 is not set: $2. Set it at the top of the file or in the environment," \
      "or give ${3%% *} behind the file." >&2
    missing=1
    return 0
  fi
  # A blend is several words, and so are several losses.
  if [[ "$1" == DATA_PATH || "$1" == MOE_AUX_LOSS ]]; then read -ra words <<<"${!1}"; fi
  for flag in $3; do @ARRAY@+=("$flag" "${words[@]}"); done
}
)sh";

}  // namespace

std::vector<JobVariable> job_variables(const Launch& l) {
  std::vector<JobVariable> list = l.trainer == Trainer::pleat ? of_pleat() : of_megatron(l);
  if (l.slots.trial) {
    std::erase_if(list, [](const JobVariable& v) {
      const std::string_view name = v.name;
      return name == "CHECKPOINTS" || name == "SAVE_INTERVAL" || name == "SAVE_EVERY";
    });
  }
  return list;
}

std::string variables_text(const Launch& l) {
  std::string text = "# What only you know: fill it in here, or set it in the environment.\n";
  for (const JobVariable& v : job_variables(l)) {
    text += fmt::format("{:<28} # {}: {}\n", fmt::format(": \"${{{}:={}}}\"", v.name, v.value),
                        v.flags.front(), v.what);
  }
  return text + "\n";
}

std::string use_variables_text(const Launch& l) {
  std::string text = kUse;
  for (std::size_t at = 0; (at = text.find("@ARRAY@", at)) != std::string::npos;)
    text.replace(at, 7, array_name(l));
  for (const JobVariable& v : job_variables(l)) {
    text += fmt::format("use {} '{}' '{}' '{}'\n", v.name, v.what, fmt::join(v.flags, " "),
                        fmt::join(v.instead, " "));
  }
  return text +
         "if ((missing)); then exit 2; fi\n"
         "if [[ -n \"${PLEAT_CHECK_ONLY:-}\" ]]; then exit 0; fi\n";
}

}  // namespace pleat::interop
