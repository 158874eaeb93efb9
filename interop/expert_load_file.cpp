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

class Loads {
 public:
  Loads(const std::string& file_name, const ModelSpec& model)
      : file_name_(file_name), model_(model) {}

  void add(const JsonValue& value) {
    if (const JsonValue* workload = value.find("workload")) return add(*workload);
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

  [[nodiscard]] std::vector<ExpertLoads> checked() const {
    Diagnostics problems;
    if (by_layer_.members().empty()) {
      problems.error(
          ExitCode::bad_file, file_name_, "", "has no loads of experts",
          "{\"expert_loads\": {\"3\": [812, 790, …], …}}, as `pleat train --log-json` writes");
    }
    std::vector<ExpertLoads> all =
        read_expert_loads(ObjectReader(by_layer_, "expert_loads", {file_name_, problems}), model_);
    problems.throw_if_errors();
    return all;
  }

 private:
  // Megatron counts prediction depths by themselves.
  void add_megatron(const JsonValue& line, const JsonValue& layer) {
    std::string key = layer.brief();
    if (const JsonValue* depth = line.find("mtp_idx"); depth != nullptr && depth->as_integer()) {
      key = std::to_string(model_.layers + 1 + *depth->as_integer());
    }
    const JsonValue* iteration = line.find("iter");
    if (iteration != nullptr && iteration->as_integer() != nullptr) {
      if (iteration_ && *iteration_ != *iteration->as_integer()) by_layer_ = JsonValue::object();
      iteration_ = *iteration->as_integer();
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
      throw_config_error(ExitCode::bad_file, where_of(file_name_, row.position()), "layer " + key,
                         "rows of tokens have different lengths", "one number for each expert");
    }
    sums.resize(row.items().size());
    for (std::size_t e = 0; e < sums.size(); ++e) {
      const JsonValue& load = row.items()[e];
      if (load.as_integer() != nullptr)
        sums[e] += static_cast<double>(*load.as_integer());
      else if (load.as_double() != nullptr)
        sums[e] += *load.as_double();
      else
        throw_config_error(
            ExitCode::bad_file, where_of(file_name_, load.position()), "layer " + key,
            fmt::format("the load of expert {} is {}", e, load.brief()), "a number from 0");
    }
  }

  const std::string& file_name_;
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
    loads.add(parse_json(line, fmt::format("{}, line {}", file_name, number), large));
  }
  return loads.checked();
}

}  // namespace pleat::interop
