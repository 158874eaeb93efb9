// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/environment.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace pleat {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Where this was installed: PREFIX of the program at PREFIX/bin; of the Python module (_core) the
// folder `installed` beside it.
std::filesystem::path prefix() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  Dl_info here{};
  if (dladdr(reinterpret_cast<const void*>(&prefix), &here) != 0 && here.dli_fname != nullptr) {
    const std::filesystem::path file = here.dli_fname;
    if (file.filename().string().starts_with("_core.")) return file.parent_path() / "installed";
  }
  return error ? std::filesystem::path() : program.parent_path().parent_path();
}

// PREFIX/`inside`; empty where there is no such file or folder.
std::string installed(const char* inside) {
  std::error_code error;
  const std::filesystem::path path = prefix() / inside;
  return std::filesystem::exists(path, error) ? path.string() : std::string();
}

}  // namespace

std::string config_directory() {
  if (const std::string chosen = variable("PLEAT_CONFIG_DIR"); !chosen.empty()) return chosen;
  static const std::string folder = installed("share/pleat/configs");
  return folder.empty() ? PLEAT_CONFIG_DIR : folder;
}

Location option_defaults_file() {
  if (const auto chosen = environment_variable("PLEAT_CONFIG")) return {*chosen, "PLEAT_CONFIG"};
  const std::string inside = "/pleat/config.toml";
  if (const std::string base = variable("XDG_CONFIG_HOME"); !base.empty()) {
    return {base + inside, "XDG_CONFIG_HOME"};
  }
  if (const std::string home = variable("HOME"); !home.empty()) {
    return {home + "/.config" + inside, "HOME"};
  }
  return {};
}

std::string config_directory_variable() {
  return variable("PLEAT_CONFIG_DIR").empty() ? "" : "PLEAT_CONFIG_DIR";
}

std::string cache_directory_variable() {
  for (const char* name : {"PLEAT_CACHE_DIR", "XDG_CACHE_HOME", "HOME"}) {
    if (!variable(name).empty()) return name;
  }
  return "";
}

std::string program_in_path(const std::string& name) {
  const std::string folders = variable("PATH");
  for (std::size_t begin = 0; begin <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const std::string file = folders.substr(begin, end - begin) + "/" + name;
    std::error_code error;
    const bool is_file = std::filesystem::is_regular_file(file, error);
    if (end > begin && is_file && access(file.c_str(), X_OK) == 0) return file;
    begin = end + 1;
  }
  return "";
}

std::string gpu_library_path() {
  if (const std::string chosen = variable("PLEAT_CUDA_LIBRARY"); !chosen.empty()) return chosen;
  const std::string file = installed("lib/pleat/libpleat_cuda.so");
  return file.empty() ? PLEAT_CUDA_LIBRARY : file;
}

std::string cache_directory() {
  if (const std::string chosen = variable("PLEAT_CACHE_DIR"); !chosen.empty()) return chosen;
  if (const std::string base = variable("XDG_CACHE_HOME"); !base.empty()) return base + "/pleat";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.cache/pleat";
  return "";
}

std::string chart_library_path() {
  if (const std::string chosen = variable("PLEAT_PLOTLY"); !chosen.empty()) return chosen;
  const std::string file = installed("share/pleat/plotly.min.js");
  return file.empty() ? PLEAT_SHARE_DIR "/plotly.min.js" : file;
}

bool gpu_required() { return variable("PLEAT_REQUIRE_GPU") == "1"; }

std::string armed_failpoint() { return variable("PLEAT_FAILPOINT"); }

std::string reference_python() { return variable("PLEAT_REFERENCE_PYTHON"); }

std::string recipe_python() { return variable("PLEAT_PYTHON"); }

std::optional<std::string> environment_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

void set_default_variable(const std::string& name, const std::string& value) {
  constexpr int kKeepsWhatIsThere = 0;
  setenv(name.c_str(), value.c_str(), kKeepsWhatIsThere);
}

char** inherited_environment() { return environ; }

}  // namespace pleat
