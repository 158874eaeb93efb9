// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "interop/flag_effects.hpp"

#include <algorithm>

#include "core/environment.hpp"
#include "core/json/object_reader.hpp"
#include "core/json/parse.hpp"
#include "core/json/text_file.hpp"

namespace pleat::interop {
namespace {

void read_groups(ObjectReader& r, const char* name, FlagEffect effect, FlagEffects& out) {
  const JsonValue::Array* const groups = r.optional_array(name);
  if (groups == nullptr) return;
  for (const JsonValue& group : *groups) {
    const JsonValue* const why = group.find("why");
    const JsonValue* const flags = group.find("flags");
    const std::string* const text = why == nullptr ? nullptr : why->as_string();
    if (flags == nullptr || text == nullptr) continue;
    for (const JsonValue& flag : flags->items())
      if (const std::string* const name = flag.as_string()) out[*name] = {effect, *text};
  }
}

void judge(const std::string& flag, const UnreadFlag& u, const std::string& where,
           std::vector<std::string>& lines, Diagnostics& problems) {
  if (u.effect == FlagEffect::unpriced) lines.push_back(flag + ": " + u.why);
  if (u.effect == FlagEffect::refused)
    problems.error(ExitCode::bad_file, where, flag, "cannot be predicted: " + u.why);
}

}  // namespace

FlagEffects load_flag_effects() {
  const std::string path = config_directory() + "/unread_flags/megatron-lm.json";
  const JsonValue root = parse_json(read_text_file(path), path);
  Diagnostics problems;
  ObjectReader r(root, "", {path, problems});
  FlagEffects out;
  r.schema_version(1);
  r.text("framework");
  r.text("source");
  read_groups(r, "harmless", FlagEffect::harmless, out);
  read_groups(r, "unpriced", FlagEffect::unpriced, out);
  read_groups(r, "refused", FlagEffect::refused, out);
  read_groups(r, "of_other_versions", FlagEffect::harmless, out);
  r.finish();
  problems.throw_if_errors();
  return out;
}

std::vector<std::string> judge_unread(const ReadArguments& read, const std::set<std::string>& asked,
                                      const FlagTable&, const FlagEffects& effects,
                                      const std::string& where, Diagnostics& problems) {
  std::vector<std::string> lines;
  for (const auto& [member, flag] : read.spelled) {
    const auto bad = read.bad.find(member);
    if (asked.contains(member)) {
      if (bad != read.bad.end())
        problems.error(ExitCode::bad_file, where, flag, bad->second, "--set NAME=VALUE sets $NAME");
    } else if (const auto found = effects.find(flag); found != effects.end()) {
      judge(flag, found->second, where, lines, problems);
    }
  }
  for (const std::string& flag : read.strangers) {
    std::string member = flag.substr(2);
    std::replace(member.begin(), member.end(), '-', '_');
    if (asked.contains(member)) continue;
    if (const auto found = effects.find(flag); found != effects.end())
      judge(flag, found->second, where, lines, problems);
    else
      lines.push_back(flag + ": unknown flag");
  }
  return lines;
}

std::vector<std::string> judge_unread_log(const Arguments& values,
                                          const std::set<std::string>& asked,
                                          const FlagTable& table, const FlagEffects& effects,
                                          const std::string& where, Diagnostics& problems) {
  std::vector<std::string> lines;
  for (const auto& [name, effect] : effects) {
    const auto flag = table.flags.find(name);
    if (flag == table.flags.end() || asked.contains(flag->second.dest)) continue;
    if (flag->second.type != FlagType::on && flag->second.type != FlagType::off) continue;
    const auto value = values.find(flag->second.dest);
    const char* const given = flag->second.type == FlagType::on ? "True" : "False";
    if (value == values.end() || value->second.empty() || value->second.front() != given) continue;
    judge(name, effect, where, lines, problems);
  }
  return lines;
}

}  // namespace pleat::interop
