// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat import megatron-bridge` of a recipe in Python, with a stand-in for Bridge's package.
#pragma once

#include <string>
#include <vector>

#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {

inline const std::string kStandIn =
    "PYTHONPATH=" + std::string(PLEAT_SOURCE_DIR) + "/tests/cli/bridge_stand_in";
inline const std::string kImport = "from megatron.bridge.training.config import ConfigContainer\n";

inline std::string recipe_file(const std::string& text) {
  const std::string file = test_folder() + "/recipe.py";
  write_text(file, text);
  return file;
}

inline Said import_recipe(const std::string& text, const std::vector<std::string>& more = {}) {
  const std::vector<std::string> words{"import", "megatron-bridge", recipe_file(text), "--gpus",
                                       "32"};
  return run_pleat_with({kStandIn, "PYTHONDONTWRITEBYTECODE=1"}, words + more);
}

}  // namespace pleat::cli_test
