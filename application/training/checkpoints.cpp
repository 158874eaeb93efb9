// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/training/checkpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "backend/checkpoint/checkpoint_folder.hpp"
#include "backend/checkpoint/repair.hpp"
#include "console/output.hpp"
#include "console/write_file.hpp"
#include "core/diagnostics.hpp"
#include "core/json/json_value.hpp"

namespace pleat {
namespace {

// The checkpoints that the paths name, the oldest of a folder first.
std::vector<std::string> checkpoints_at(const std::vector<std::string>& paths) {
  std::vector<std::string> all;
  for (const std::string& path : paths) {
    if (std::filesystem::exists(path + "/manifest.json")) {
      all.push_back(path);
      continue;
    }
    std::string remark;
    std::vector<std::string> names;
    if (std::filesystem::is_directory(path)) names = checkpoints_in(path, remark);
    std::sort(names.begin(), names.end());
    if (names.empty()) {
      throw_config_error(ExitCode::bad_request, path, "", "holds no checkpoint",
                         "a step_… folder, or the folder of `pleat train --save`");
    }
    if (!remark.empty()) note("warning: " + remark);
    for (const std::string& name : names) all.push_back(path + "/" + name);
  }
  return all;
}

JsonValue to_json(const std::vector<std::string>& lines) {
  JsonValue all = JsonValue::array();
  for (const std::string& line : lines) all.push_back(line);
  return all;
}

std::string indented(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "  " + line + "\n";
  return text;
}

[[noreturn]] void fail(std::size_t broken, std::size_t all, const char* what, const char* hint) {
  throw_config_error(ExitCode::verification, "checkpoint", "",
                     fmt::format("{} of {} {}", broken, all, what), hint);
}

}  // namespace

void verify_checkpoints(const CheckpointsOptions& o) {
  const std::vector<std::string> all = checkpoints_at(o.paths);
  JsonValue json = JsonValue::array();
  std::size_t broken = 0;
  for (const std::string& path : all) {
    const std::vector<std::string> faults = faults_of_checkpoint(path);
    if (!faults.empty()) ++broken;
    if (o.json) {
      json.push_back(JsonValue::object()
                         .set("checkpoint", path)
                         .set("whole", faults.empty())
                         .set("faults", to_json(faults)));
    } else {
      print(fmt::format("{}: {}\n{}", path, faults.empty() ? "whole" : "broken", indented(faults)));
    }
  }
  if (o.json) print(JsonValue::object().set("checkpoints", std::move(json)).dump() + "\n");
  if (broken > 0) {
    fail(broken, all.size(), "cannot be gone on from",
         "`pleat checkpoint repair` says whether it can be mended");
  }
}

void repair_checkpoints(const CheckpointsOptions& o) {
  const std::vector<std::string> all = checkpoints_at(o.paths);
  JsonValue json = JsonValue::array();
  std::size_t hopeless = 0;
  for (const std::string& path : all) {
    const Repair repair = plan_repair(path);
    const bool writes = repair.is_possible() && o.write;
    if (repair.is_needed() && !repair.is_possible()) ++hopeless;
    if (writes) write_repaired(path);
    const char* const outcome = !repair.is_needed()    ? "whole"
                                : !repair.is_possible() ? "cannot be mended"
                                : writes                ? "mended"
                                                        : "can be mended (--write does it)";
    if (o.json) {
      json.push_back(JsonValue::object()
                         .set("checkpoint", path)
                         .set("outcome", outcome)
                         .set("remedies", to_json(repair.remedies))
                         .set("hopeless", to_json(repair.hopeless)));
    } else {
      print(fmt::format("{}: {}\n{}", path, outcome,
                        indented(repair.hopeless.empty() ? repair.remedies : repair.hopeless)));
    }
  }
  if (o.json) print(JsonValue::object().set("checkpoints", std::move(json)).dump() + "\n");
  if (hopeless > 0) fail(hopeless, all.size(), "cannot be mended", "resume from an older one");
}

}  // namespace pleat
