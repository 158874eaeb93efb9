// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/interop/megatron_rules.hpp"

namespace pleat::interop_test {

bool Checked::on(const std::string& member) const { return text(member, "") == "True"; }
bool Checked::off(const std::string& member) const { return text(member, "") == "False"; }
bool Checked::given(const std::string& member) const { return arguments.count(member) > 0; }

std::int64_t Checked::integer(const std::string& member, std::int64_t otherwise) const {
  return given(member) ? std::stoll(arguments.at(member).front()) : otherwise;
}

std::string Checked::text(const std::string& member, const std::string& otherwise) const {
  return given(member) ? arguments.at(member).front() : otherwise;
}

bool Checked::lists(const std::string& member, const std::string& word) const {
  if (!given(member)) return false;
  const auto& list = arguments.at(member);
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::string Checked::variable(const std::string& name) const {
  for (const auto& [variable, value] : environment)
    if (variable == name) return value;
  return {};
}

}  // namespace pleat::interop_test
