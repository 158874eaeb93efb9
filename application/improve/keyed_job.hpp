// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A job whose file is a tree of keys (torchtitan's TOML, DeepSpeed's JSON, NeMo's YAML): which
// plans its framework runs and its file can say, and the file for such a plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "application/exchange/megatron_job.hpp"
#include "application/improve/flag_changes.hpp"
#include "application/improve/key_patch.hpp"
#include "interop/exported.hpp"
#include "interop/keyed_import.hpp"

namespace pleat {

// Which format a file has, by its name and its keys; nothing: scripts, flags and plan files.
[[nodiscard]] std::optional<interop::KeyedFormat> keyed_format(const std::string& file,
                                                               const std::string& text);

class KeyedJob {
 public:
  // ConfigError for what cannot be read or predicted.
  KeyedJob(interop::KeyedFormat, const JobFiles&, std::int64_t seq_len, std::string text);

  [[nodiscard]] const interop::KeyedRun& read() const { return read_; }
  [[nodiscard]] interop::Target target() const;  // whose words a change has
  [[nodiscard]] const char* framework() const;
  // Changes by the names of the file's keys; of those that no key says, none.
  [[nodiscard]] std::vector<FlagChange> in_keys(const std::vector<FlagChange>&) const;
  // Why the framework does not run the plan; empty: it does.
  [[nodiscard]] std::string refusal(const PlanDocument&) const;
  // It runs the plan, and the file with the changes of its keys is read as this plan.
  [[nodiscard]] bool can_say(const PlanDocument&) const;
  [[nodiscard]] std::vector<KeyChange> changes_to(const PlanDocument&) const;
  [[nodiscard]] std::string file_for(const PlanDocument&) const;
  [[nodiscard]] interop::KeyedRun read_again(const std::string& text) const;

 private:
  interop::KeyedFormat format_;
  interop::ImportChoices choices_;
  std::string name_, text_;
  JsonValue tree_;
  interop::KeyedRun read_;
};

}  // namespace pleat
