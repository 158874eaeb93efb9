// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/request/plan_values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr std::array kStateTypes{DType::fp32, DType::bf16, DType::fp8, DType::fp16,
                                 DType::remainder16};
constexpr std::array kRuntimes{Runtime::pleat, Runtime::megatron};

template <class Values, class NameOf>
auto parse_name(const std::string& word, const std::string& flag, const Values& values,
                NameOf name) {
  std::vector<std::string> names;
  for (const auto value : values) {
    names.emplace_back(name(value));
    if (names.back() == word) return value;
  }
  refuse_word(word, flag, names);
}

template <class Value, class Values>
std::set<Value> parse_names(const std::string& words, const std::string& flag,
                            const Values& values) {
  std::set<Value> found;
  for (std::size_t begin = 0; begin <= words.size();) {
    const std::size_t end = std::min(words.find_first_of(",+", begin), words.size());
    found.insert(parse_name(words.substr(begin, end - begin), flag, values,
                            [](Value v) { return name_of(v); }));
    begin = end + 1;
  }
  return found;
}

// Names of a set, after those that stand alone.
std::vector<std::string> with(std::vector<std::string> alone,
                              const std::vector<std::string>& names) {
  alone.insert(alone.end(), names.begin(), names.end());
  return alone;
}

}  // namespace

std::string name_of_runtime(Runtime runtime) {
  switch (runtime) {
    case Runtime::pleat: return "pleat";
    case Runtime::megatron: return "megatron";
  }
  return "?";
}

void refuse_word(const std::string& word, const std::string& flag,
                 const std::vector<std::string>& words) {
  const std::string near = nearest_name(word, words);
  throw_config_error(ExitCode::bad_request, flag, "",
                     fmt::format("'{}' is not one of {}", word, fmt::join(words, ", ")),
                     near.empty() ? "" : "did you mean " + near + "?");
}

Precision parse_precision(const std::string& word, const std::string& flag) {
  return parse_choice<Precision>(word, flag);
}

Dispatcher parse_dispatcher(const std::string& word, const std::string& flag) {
  return parse_choice<Dispatcher>(word, flag);
}

Runtime parse_runtime(const std::string& word, const std::string& flag) {
  return parse_name(word, flag, kRuntimes, name_of_runtime);
}

DType parse_state_type(const std::string& word, const std::string& flag) {
  return parse_name(word, flag, kStateTypes, [](DType v) { return name_of(v); });
}

Recompute parse_recompute(const std::string& words, const std::string& flag) {
  if (words == "none") return {};
  if (words == "full") return {.modules = {}, .full = true};
  if (words.starts_with("full:")) {
    Recompute full{.modules = {}, .full = true};
    const char* const end = words.data() + words.size();
    const auto parsed = std::from_chars(words.data() + 5, end, full.layers);
    if (parsed.ec == std::errc() && parsed.ptr == end && full.layers > 0) return full;
    throw_config_error(ExitCode::bad_request, flag, "",
                       "'" + words.substr(5) + "' is not a number of layers", "for example full:2");
  }
  return {.modules = parse_names<Module>(words, flag, kRecomputable)};
}

std::set<Offload> parse_offload(const std::string& words, const std::string& flag) {
  if (words == "none") return {};
  return parse_names<Offload>(words, flag, kOffloads);
}

std::vector<std::string> runtime_words() {
  std::vector<std::string> words;
  for (const Runtime runtime : kRuntimes) words.push_back(name_of_runtime(runtime));
  return words;
}

std::vector<std::string> recompute_words() {
  return with({"none", "full"}, words_of<Module>(kRecomputable.size()));
}

std::vector<std::string> offload_words() { return with({"none"}, words_of<Offload>()); }

}  // namespace pleat
