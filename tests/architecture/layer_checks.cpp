// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Who may include whom: the layers, and the third parties.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/architecture/checks.hpp"

namespace pleat::architecture {
namespace {

namespace fs = std::filesystem;

struct Layer {
  std::string folder;
  std::vector<std::string> may_include;  // besides itself
};

const std::vector<Layer>& layers() {
  static const std::vector<Layer> list = {
      {"core", {}},
      {"simulator", {"core"}},
      {"planner", {"core", "simulator"}},
      {"kernels", {"core"}},
      {"backend", {"core", "kernels"}},
      {"calibration", {"core", "simulator", "kernels", "backend"}},
      {"interop", {"core"}},
      {"console", {"core"}},
      {"validation", {"core", "simulator", "planner", "console"}},
      {"application",
       {"core", "simulator", "planner", "kernels", "backend", "calibration", "interop", "console",
        "validation"}},
      {"cli",
       {"core", "simulator", "planner", "kernels", "backend", "calibration", "interop", "console",
        "validation", "application"}},
      {"python",
       {"core", "simulator", "planner", "interop", "console", "validation", "application",
        "cli/report"}},
      {"tests",
       {"core", "simulator", "planner", "kernels", "backend", "calibration", "interop", "console",
        "validation", "application", "cli"}},
  };
  return list;
}

const Layer* layer_of(const std::string& path) {
  for (const Layer& layer : layers())
    if (is_in(path, layer.folder)) return &layer;
  return nullptr;
}

bool may_include(const Layer& layer, const std::string& path) {
  return is_in(path, layer.folder) ||
         std::any_of(layer.may_include.begin(), layer.may_include.end(),
                     [&](const std::string& folder) { return is_in(path, folder); });
}

void check_include(const fs::path& root, const TextFile& file, const Layer& layer,
                   const Include& include, Findings& findings) {
  const auto add = [&](std::string message) {
    findings.push_back({file.path, include.line, std::move(message)});
  };
  if (!include.quoted) {
    if (layer_of(include.path) != nullptr)
      add("write our own header \"" + include.path + "\" in quotes");
  } else if (!fs::is_regular_file(root / include.path) || layer_of(include.path) == nullptr) {
    add("\"" + include.path + "\" is no header of ours; write includes from the repository root");
  } else if (!may_include(layer, include.path)) {
    add(layer.folder + " may not include \"" + include.path + "\"");
  }
}

struct ThirdParty {
  std::string name;
  std::vector<std::string> prefixes;  // of what is included
  bool in_cuh = false;                // a CUDA header is an implementation file where CUDA is meant
};

const std::vector<ThirdParty>& third_parties() {
  static const std::vector<ThirdParty> list = {
      {"nlohmann", {"nlohmann/"}},
      {"Eigen", {"Eigen/", "unsupported/Eigen/"}},
      {"Boost", {"boost/"}},
      {"CUDA", {"cuda", "cublas", "cudnn", "cutlass/", "cute/", "cub/", "nccl", "thrust/"}, true},
      {"MPI", {"mpi.h"}},
      {"ICU", {"unicode/"}},
      {"PCRE2", {"pcre2.h"}},
      {"libsodium", {"sodium"}},
  };
  return list;
}

}  // namespace

Findings check_layers(const fs::path& root) {
  Findings findings;
  for (const TextFile& file : read_tree(root, Kind::cxx)) {
    const Layer* const layer = layer_of(file.path);
    if (layer == nullptr) {
      findings.push_back({file.path, 0, "is in no layer; add its folder to the layers"});
      continue;
    }
    for (const Include& include : includes_of(file))
      check_include(root, file, *layer, include, findings);
  }
  return findings;
}

Findings check_third_parties(const fs::path& root) {
  Findings findings;
  for (const TextFile& file : read_tree(root, Kind::cxx)) {
    const std::string extension = fs::path(file.path).extension().string();
    if (extension == ".cpp" || extension == ".cu") continue;
    for (const Include& include : includes_of(file)) {
      for (const ThirdParty& party : third_parties()) {
        if (party.in_cuh && extension == ".cuh") continue;
        const bool is_it =
            std::any_of(party.prefixes.begin(), party.prefixes.end(),
                        [&](const auto& prefix) { return include.path.starts_with(prefix); });
        if (is_it)
          findings.push_back(
              {file.path, include.line, party.name + " in a header; keep it in a .cpp or .cu"});
      }
    }
  }
  return findings;
}

}  // namespace pleat::architecture
