// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Megatron-LM's own checks of its arguments, restated over an argument list: those that a plan and
// a model can break. Written from NVIDIA/Megatron-LM@d98e8a64dd, apart from the export, to check
// it.
#pragma once

#include <string>
#include <vector>

#include "interop/flag_table.hpp"

namespace pleat::interop_test {

struct Checked {
  const interop::Arguments& arguments;
  std::vector<std::pair<std::string, std::string>> environment;
  int world = 1;
  int capability = 9;  // of the GPU, 9: Hopper, 10: Blackwell

  [[nodiscard]] bool on(const std::string& member) const;
  [[nodiscard]] bool off(const std::string& member) const;
  [[nodiscard]] bool given(const std::string& member) const;
  [[nodiscard]] std::int64_t integer(const std::string& member, std::int64_t otherwise) const;
  [[nodiscard]] std::string text(const std::string& member, const std::string& otherwise) const;
  [[nodiscard]] bool lists(const std::string& member, const std::string& word) const;
  [[nodiscard]] std::string variable(const std::string& name) const;
};

struct ArgumentRule {
  const char* at;  // file:line of the check
  bool (*concerns)(const Checked&);
  bool (*holds)(const Checked&);
};
[[nodiscard]] const std::vector<ArgumentRule>& argument_rules();
// Parts of them.
[[nodiscard]] const std::vector<ArgumentRule>& memory_rules();
[[nodiscard]] const std::vector<ArgumentRule>& graph_rules();
[[nodiscard]] const std::vector<ArgumentRule>& precision_rules();

}  // namespace pleat::interop_test
