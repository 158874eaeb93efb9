// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The only place that reads environment variables, or sets them.
#pragma once

#include <optional>
#include <string>

namespace pleat {

// PLEAT_CONFIG_DIR, else share/pleat/configs beside the bin folder of the program (where
// `cmake --install` puts it) or in the folder `installed` of the Python module, else the configs
// directory of the source tree this was built from.
[[nodiscard]] std::string config_directory();

// PLEAT_CACHE_DIR, else XDG_CACHE_HOME/pleat, else HOME/.cache/pleat; empty if none is set. What
// this machine produced: fitted profiles (in profiles/), downloaded or generated data.
[[nodiscard]] std::string cache_directory();

// Where an environment variable, or nothing but the place of the program, leads.
struct Location {
  std::string path;      // empty: nowhere
  std::string variable;  // that says it; empty: none
};

// Defaults of options: PLEAT_CONFIG (empty: there are none), else pleat/config.toml in
// XDG_CONFIG_HOME, else in HOME/.config. It may not be there.
[[nodiscard]] Location option_defaults_file();

// The variable of those above that decides, empty where none does.
[[nodiscard]] std::string config_directory_variable();
[[nodiscard]] std::string cache_directory_variable();

// The file of that name in a folder of PATH that may be run, empty if there is none.
[[nodiscard]] std::string program_in_path(const std::string& name);

// PLEAT_CUDA_LIBRARY, else lib/pleat/libpleat_cuda.so beside the bin folder of the program, else
// where the build puts it. It may not be there.
[[nodiscard]] std::string gpu_library_path();

// PLEAT_PLOTLY, else share/pleat/plotly.min.js where the configs are installed, else where the
// set-up (pleat.sh) puts Plotly's minified script.
[[nodiscard]] std::string chart_library_path();

// PLEAT_REQUIRE_GPU=1: a GPU test that finds no GPU fails instead of being skipped.
[[nodiscard]] bool gpu_required();

// PLEAT_FAILPOINT: where a test ends or disturbs this process (backend/checkpoint/failpoint.hpp).
[[nodiscard]] std::string armed_failpoint();

// PLEAT_REFERENCE_PYTHON: an interpreter with PyTorch and transformers, for the tests; empty: none.
[[nodiscard]] std::string reference_python();

// PLEAT_PYTHON: the interpreter that runs recipes of Megatron-Bridge; empty: none is named.
[[nodiscard]] std::string recipe_python();

// One variable: what launchers tell a process (backend/launch).
[[nodiscard]] std::optional<std::string> environment_variable(const std::string& name);

// Sets a variable that nobody has set, for libraries that read it later. Before there are threads.
void set_default_variable(const std::string& name, const std::string& value);

// The whole environment, null-terminated, to hand on to a program this one starts.
[[nodiscard]] char** inherited_environment();

}  // namespace pleat
