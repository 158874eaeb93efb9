// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/request/plan_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <string_view>

#include "application/request/typed_fields.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr int kMaxFactor = 1'000'000;

// Options in the order of the help. Those that are not here come last.
constexpr std::array<std::string_view, 57> kHelpOrder{
    "tp", "cp", "pp", "vpp", "schedule", "ep", "etp", "micro-batch", "layout", "precision",
    "recompute", "recompute-unit", "offload", "recompute-stages", "offload-stages",
    "offload-layers", "sharding", "fsdp-group", "optimizer-instances", "dispatcher",
    "dispatcher-sms", "microbatch-group", "cp-comm", "cp-a2a", "cuda-graph", "main-grads-dtype",
    "main-params-dtype", "exp-avg-dtype", "exp-avg-sq-dtype", "grad-reduce-dtype", "optimizer",
    "state-offload", "cpu-optimizer", "paged-stash", "stash-capacity", "ep-overlap",
    "delay-wgrad", "tp-overlap", "shared-expert-overlap", "tile-overlap", "fp8-dispatch",
    "fp8-combine", "no-grad-overlap", "no-param-overlap", "gather-beside-step",
    "no-sequence-parallel", "no-fp8-params", "no-flash-attention", "no-permute-fusion",
    "no-router-fusion", "no-scale-init-fusion", "no-scale-order-fusion", "loss-chunks",
    "ddp-bucket-size", "overlap-cpu-optimizer", "fp8-attention", "fp8-head"};

// Names are looked for and told by the type of their values: numbers, shares, words, switches.
enum class OptionKind : std::uint8_t { number, share, words, on };
constexpr std::array kOptionKinds{OptionKind::number, OptionKind::share, OptionKind::words,
                                  OptionKind::on};
OptionKind kind_of(const ShapeOption& o) { return static_cast<OptionKind>(o.value.index()); }

bool is_switch(const std::string& key) {
  ShapeOptions any;
  return std::ranges::any_of(shape_options(any), [&](const ShapeOption& o) {
    return o.name == key && kind_of(o) == OptionKind::on;
  });
}

template <class Number>
bool parse_number(const std::string& text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

// Each returns what is wrong; empty when fine.
std::string put(const ShapeOption& o, const std::string& value, std::optional<int>& field) {
  int number = 0;
  if (!parse_number(value, number) || number < 1 || number > o.most) {
    return fmt::format("{}: '{}' is not a whole number from 1 to {:.0f}", o.name, value, o.most);
  }
  field = number;
  return {};
}
std::string put(const ShapeOption& o, const std::string& value, std::optional<double>& field) {
  double number = 0;
  if (!parse_number(value, number) || !(number >= 0 && number <= kMaxFactor)) {
    return o.name + ": '" + value + "' is not a number from 0 to " + std::to_string(kMaxFactor);
  }
  field = number;
  return {};
}
std::string put(const ShapeOption&, const std::string& value, std::optional<std::string>& field) {
  field = value;
  return {};
}
std::string put(const ShapeOption& o, const std::string& value, bool& field) {
  if (!value.empty()) return o.name + " takes no value";
  field = true;
  return {};
}

std::string assign(ShapeOptions& shape, const std::string& key, const std::string& value) {
  const std::vector<ShapeOption> options = shape_options(shape);
  std::vector<std::string> names;
  for (const OptionKind kind : kOptionKinds) {
    for (const ShapeOption& o : options) {
      if (kind_of(o) != kind) continue;
      names.push_back(o.name);
      if (o.name != key) continue;
      return std::visit([&](auto* field) { return put(o, value, *field); }, o.value);
    }
  }
  const std::string near = nearest_name(key, names);
  return "unknown plan field '" + key + "'" + (near.empty() ? "" : "; did you mean " + near + "?");
}

}  // namespace

std::vector<ShapeOption> shape_options(ShapeOptions& s) {
  std::vector<ShapeOption> all;
  for_each_plan_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    if constexpr (!field.typed.flag.empty()) {
      ShapeOption& o = all.emplace_back(
          ShapeOption{.name = field.typed_name(),
                      .help = help_text(field, field.typed.help),
                      .value = &std::get<i>(s.given)});
      o.words = offered_words(field);
      if constexpr (requires { field.domain.above_min; }) {
        o.most = field.domain.max;
      } else if constexpr (requires { field.domain.max; }) {
        o.most = std::max<double>(kMaxDegree, static_cast<double>(field.domain.max));
      }
    }
  });
  all.push_back(
      {"recompute-stages",
       "What single pipeline stages recompute instead: 0=full/1-2=moe_act+layernorm/3=none",
       &s.recompute_stages});
  all.push_back({"offload-stages",
                 "What single pipeline stages offload instead: 0-1=core_attn+attn_proj/2=none",
                 &s.offload_stages});
  const auto place = [](const ShapeOption& o) { return std::ranges::find(kHelpOrder, o.name); };
  std::ranges::stable_sort(all, {}, place);
  return all;
}

ShapeOptions parse_shape(const std::string& text, const std::string& flag) {
  ShapeOptions shape;
  Diagnostics problems;
  std::set<std::string> given;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const std::size_t equals = part.find('=');
    const std::string key = part.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
    std::string problem = value.empty() && !is_switch(key) ? "'" + part + "' is not name=value"
                                                           : assign(shape, key, value);
    if (problem.empty() && !given.insert(key).second) problem = "'" + key + "' is there twice";
    if (!problem.empty()) {
      problems.error(ExitCode::bad_request, flag, "", problem, "for example tp=1,pp=2,vpp=8,ep=32");
    }
    begin = end + 1;
  }
  problems.throw_if_errors();
  return shape;
}

std::string first_shape_flag(const ShapeOptions& given) {
  ShapeOptions shape = given;
  for (const OptionKind kind : {OptionKind::number, OptionKind::words, OptionKind::share,
                                OptionKind::on}) {
    for (const ShapeOption& o : shape_options(shape)) {
      const bool is_given = std::visit([](const auto* value) { return bool(*value); }, o.value);
      if (kind_of(o) == kind && is_given) return "--" + o.name;
    }
  }
  return "";
}

}  // namespace pleat
