// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/doctor/gpus_here.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

namespace pleat {
namespace {

namespace fs = std::filesystem;

bool is_version(const std::string& word) {
  return word.find('.') != std::string::npos &&
         word.find_first_not_of("0123456789.") == std::string::npos;
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Fri Jan ...".
std::string driver_of(const fs::path& file) {
  std::ifstream text(file);
  for (std::string word; text >> word;) {
    if (is_version(word)) return word;
  }
  return {};
}

// "Model: \t\t NVIDIA H100 80GB HBM3".
std::string model_of(const fs::path& file) {
  std::ifstream text(file);
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with("Model:")) continue;
    const std::size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    return begin == std::string::npos
               ? ""
               : line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
  }
  return {};
}

// In lower case, apart at all that is no letter and no digit.
std::vector<std::string> words_of_name(const std::string& name) {
  std::vector<std::string> words(1);
  for (const unsigned char c : name) {
    if (std::isalnum(c))
      words.back() += static_cast<char>(std::tolower(c));
    else if (!words.back().empty())
      words.emplace_back();
  }
  return words;
}

}  // namespace

GpusHere gpus_here(const std::string& folder) {
  GpusHere here;
  here.driver = driver_of(fs::path(folder) / "version");
  std::error_code error;
  for (const fs::directory_entry& gpu : fs::directory_iterator(fs::path(folder) / "gpus", error)) {
    if (const std::string model = model_of(gpu.path() / "information"); !model.empty())
      here.models.push_back(model);
  }
  std::ranges::sort(here.models);
  return here;
}

std::string shipped_gpu(const std::string& model, const std::vector<std::string>& shipped) {
  const std::vector<std::string> words = words_of_name(model);
  const auto has = [&](const std::string& word) {
    return std::ranges::find(words, word) != words.end();
  };
  if (has("pcie") || has("nvl")) return {};
  // How a board is built is not always said: "H200", "A100-SXM4".
  const auto is_said = [&](const std::string& word) {
    return word == "sxm" || word.starts_with("nvl") || has(word);
  };
  for (const std::string& name : shipped) {
    if (std::ranges::all_of(words_of_name(name), is_said)) return name;
  }
  return {};
}

}  // namespace pleat
