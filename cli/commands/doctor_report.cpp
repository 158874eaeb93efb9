// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/doctor_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "console/wrap.hpp"

namespace pleat::cli {
namespace {

const char* state_of(const MachineCheck& c) {
  if (c.there) return "there";
  return c.needed ? "MISSING" : "not there";
}

}  // namespace

std::string doctor_text(const std::vector<MachineCheck>& checks, std::size_t columns) {
  std::size_t longest = 0;
  for (const MachineCheck& c : checks) longest = std::max(longest, c.name.size());
  std::string text;
  for (const MachineCheck& c : checks) {
    const std::string first = fmt::format("{:<9}  {:<{}}  ", state_of(c), c.name, longest);
    const std::string rest(first.size(), ' ');
    text += wrap_words(c.found, columns, {first, rest});
    if (!c.mend.empty()) text += wrap_command(c.mend, columns, {rest + "mend it: ", rest + "  "});
  }
  std::vector<std::string> missing;
  for (const MachineCheck& c : checks) {
    if (c.needed && !c.there) missing.push_back(c.name);
  }
  if (missing.empty()) return text + "\nAll that is needed here is there.\n";
  return text + "\n" + wrap_fields(missing, ", ", columns, {"Needed and missing: ", "    "});
}

JsonValue doctor_json(const std::vector<MachineCheck>& checks, const std::string& version) {
  JsonValue list = JsonValue::array();
  for (const MachineCheck& c : checks) {
    list.push_back(JsonValue::object()
                       .set("name", c.name)
                       .set("there", c.there)
                       .set("needed", c.needed)
                       .set("found", c.found)
                       .set("mend", c.mend));
  }
  return JsonValue::object()
      .set("schema_version", 1)
      .set("version", version)
      .set("well", is_well(checks))
      .set("checks", std::move(list));
}

}  // namespace pleat::cli
