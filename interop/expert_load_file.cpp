// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "interop/expert_load_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <sstream>

#include "core/json/parse.hpp"
#include "core/spec/expert_load_json.hpp"

namespace pleat::interop {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // of a long run's log

std::string_view without_blanks(std::string_view text) {
  const char* const blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// The first line is an object by itself and others follow.
bool has_a_value_a_line(std::string_view text) {
  text = without_blanks(text);
  const std::size_t end = text.find('\n');
  return end != std::string_view::npos && without_blanks(text.substr(0, end)).ends_with('}');
}

bool is_layer_key(const std::string& key) {
  return !key.empty() && std::ranges::all_of(key, [](unsigned char c) { return std::isdigit(c); });
}

std::optional<std::int64_t> integer_in(const JsonValue& object, std::string_view key) {
  const JsonValue* found = object.find(key);
  const std::int64_t* value = found != nullptr ? found->as_integer() : nullptr;
  if (value == nullptr) return std::nullopt;
  return *value;
}

std::optional<double> number_in(const JsonValue& value) {
  if (const std::int64_t* integer = value.as_integer()) return static_cast<double>(*integer);
  if (const double* real = value.as_double()) return *real;
  return std::nullopt;
}

class Loads {
 public:
  Loads(const std::string& file_name, const ModelSpec& model) : where_(file_name), model_(model) {}

  // The file's value, or that of a line of it.
  void add(const JsonValue& value) {
    const JsonValue* workload = value.find("workload");
    take(workload == nullptr ? value : *workload);
  }

  [[nodiscard]] std::vector<ExpertLoads> checked() const {
    Diagnostics problems;
    if (by_layer_.members().empty()) {
      problems.error(
          ExitCode::bad_file, where_, "", "has no loads of experts",
          "{\"expert_loads\": {\"3\": [812, 790, …], …}}, as `pleat train --log-json` writes");
    }
    std::vector<ExpertLoads> all =
        read_expert_loads(ObjectReader(by_layer_, "expert_loads", {where_, problems}), model_);
    problems.throw_if_errors();
    return all;
  }

 private:
  void take(const JsonValue& value) {
    if (const JsonValue* loads = value.find("expert_loads")) {
      if (!loads->members().empty()) by_layer_ = *loads;
      return;
    }
    const JsonValue* layer = value.find("layer");
    if (layer != nullptr && value.find("tpe") != nullptr) return add_megatron(value, *layer);
    if (layer != nullptr && value.find("loads") != nullptr) {
      by_layer_.set(layer->brief(), *value.find("loads"));
      return;
    }
    const JsonValue::Object& members = value.members();
    if (members.empty()) return;
    if (std::ranges::all_of(members, [](const JsonMember& m) { return is_layer_key(m.key); })) {
      by_layer_ = value;
    }
  }

  // Megatron counts prediction depths by themselves.
  void add_megatron(const JsonValue& line, const JsonValue& layer) {
    std::string key = layer.brief();
    if (const auto depth = integer_in(line, "mtp_idx")) {
      key = std::to_string(model_.layers + 1 + *depth);
    }
    if (const auto iteration = integer_in(line, "iter")) {
      if (iteration_ && *iteration_ != *iteration) by_layer_ = JsonValue::object();
      iteration_ = iteration;
    }
    std::vector<double> sums;
    const JsonValue* known = by_layer_.find(key);
    if (known != nullptr) add_row(sums, *known, key);
    for (const JsonValue& row : line.find("tpe")->items()) add_row(sums, row, key);
    JsonValue loads = JsonValue::array();
    for (const double sum : sums) loads.push_back(sum);
    loads.set_position(layer.position());
    by_layer_.set(key, std::move(loads));
  }

  void add_row(std::vector<double>& sums, const JsonValue& row, const std::string& key) const {
    if (!sums.empty() && row.items().size() != sums.size()) {
      throw_config_error(ExitCode::bad_file, where_of(where_, row.position()), "layer " + key,
                         "rows of tokens have different lengths", "one number for each expert");
    }
    sums.resize(row.items().size());
    for (std::size_t e = 0; e < sums.size(); ++e) {
      const JsonValue& load = row.items()[e];
      const std::optional<double> tokens = number_in(load);
      if (!tokens) {
        throw_config_error(ExitCode::bad_file, where_of(where_, load.position()), "layer " + key,
                           fmt::format("the load of expert {} is {}", e, load.brief()),
                           "a number from 0");
      }
      sums[e] += *tokens;
    }
  }

  std::string where_;
  const ModelSpec& model_;
  JsonValue by_layer_ = JsonValue::object();
  std::optional<std::int64_t> iteration_;
};

}  // namespace

std::vector<ExpertLoads> parse_expert_loads(const std::string& text, const std::string& file_name,
                                            const ModelSpec& model) {
  Loads loads(file_name, model);
  const JsonOptions large{.max_bytes = kMostBytes};
  if (!has_a_value_a_line(text)) {
    loads.add(parse_json(text, file_name, large));
    return loads.checked();
  }
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (without_blanks(line).empty()) continue;
    loads.add(parse_json(line, file_name, {.max_bytes = kMostBytes, .first_line = number}));
  }
  return loads.checked();
}

}  // namespace pleat::interop
