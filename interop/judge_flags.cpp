// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "interop/judge_flags.hpp"

#include <algorithm>

namespace pleat::interop {
namespace {

void judge(const std::string& flag, const Unread& u, const std::string& where,
           std::vector<std::string>& lines, Diagnostics& problems) {
  if (u.effect == UnreadEffect::unpriced) lines.push_back(flag + ": " + u.why);
  if (u.effect == UnreadEffect::refused)
    problems.error(ExitCode::bad_file, where, flag, "cannot be predicted: " + u.why);
}

}  // namespace

std::vector<std::string> judge_unread(const ReadArguments& read, const std::set<std::string>& asked,
                                      const FlagTable&, const UnreadTable& effects,
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
                                          const FlagTable& table, const UnreadTable& effects,
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
