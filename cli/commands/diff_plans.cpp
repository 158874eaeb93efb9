// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/diff_plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "application/exchange/exported_plan.hpp"
#include "application/request/request.hpp"
#include "cli/plan_options.hpp"
#include "console/output.hpp"
#include "console/tables.hpp"
#include "interop/export_targets.hpp"
#include "interop/exported.hpp"
#include "simulator/estimate.hpp"

namespace pleat::cli {
namespace {

struct Side {
  PlanDocument document;
  StepEstimate estimate;
  std::string profile;
};

Side price(const std::string& file, const DiffOptions& o) {
  PlanOptions options;
  options.plan_file = file;
  options.target.cluster = o.cluster;
  options.target.profile = o.profile;
  const Request request = resolve_request(options);
  Side side{load_plan_document(file), {}, request.target.profile.name};
  side.estimate =
      estimate(compile_request(request), request.target.cluster, request.target.profile);
  return side;
}

struct Difference {
  std::string path;
  std::optional<JsonValue> first, second;  // nothing: that side has no such field
};

// Fields by path; what predictions and provenance say is no setting.
std::vector<Difference> differences(const PlanDocument& a, const PlanDocument& b) {
  const auto fields_of = [](PlanDocument d) {
    d.predicted.reset();
    d.provenance.clear();
    return interop::flat_fields(plan_document_json(d), "");
  };
  const interop::FlatFields first = fields_of(a), second = fields_of(b);
  const auto find = [](const interop::FlatFields& fields, const std::string& path) {
    const auto at = std::find_if(fields.begin(), fields.end(),
                                 [&](const auto& field) { return field.first == path; });
    return at == fields.end() ? std::optional<JsonValue>() : at->second;
  };
  std::vector<Difference> list;
  for (const auto& [path, value] : first) {
    std::optional<JsonValue> other = find(second, path);
    if (other != value) list.push_back({path, value, std::move(other)});
  }
  for (const auto& [path, value] : second)
    if (!find(first, path)) list.push_back({path, std::nullopt, value});
  return list;
}

std::string field_text(const std::optional<JsonValue>& value) {
  return value ? value->dump(0) : "-";
}

struct MemoryPart {
  const char* name;
  std::int64_t StageMemory::*bytes;
};
constexpr MemoryPart kMemory[] = {
    {"weights", &StageMemory::weights},     {"gradients", &StageMemory::gradients},
    {"optimizer", &StageMemory::optimizer}, {"activations", &StageMemory::activations},
    {"runtime", &StageMemory::runtime},     {"peak", &StageMemory::peak}};

// Hundredths; the rounding of a sum is 0, not -0.
double rounded_ms(double seconds) { return std::round(seconds * 1e5) / 1e2 + 0.0; }

std::string milliseconds(double seconds) { return fmt::format("{:.2f}", rounded_ms(seconds)); }

std::string signed_milliseconds(double seconds) {
  return fmt::format("{:+.2f}", rounded_ms(seconds));
}

std::string gibibytes(std::int64_t bytes) {
  return fmt::format("{:.2f}", static_cast<double>(bytes) / (1 << 30));
}

std::string text_of(const Side& a, const Side& b) {
  Table fields{{{"field", Align::left}, {"A", Align::left}, {"B", Align::left}}, {}};
  for (const Difference& d : differences(a.document, b.document))
    fields.rows.push_back({d.path, field_text(d.first), field_text(d.second)});
  Table time{{{"ms", Align::left}, {"A"}, {"B"}, {"B - A"}}, {}};
  const auto time_row = [&](const char* name, double x, double y) {
    time.rows.push_back({name, milliseconds(x), milliseconds(y), signed_milliseconds(y - x)});
  };
  for (std::size_t i = 0; i < kCostClasses; ++i) {
    const double x = a.estimate.parts[i].base(), y = b.estimate.parts[i].base();
    if (x != 0 || y != 0) time_row(name_of(static_cast<CostClass>(i)), x, y);
  }
  time_row("step", a.estimate.step.base(), b.estimate.step.base());
  Table memory{{{"GiB of the fullest stage", Align::left}, {"A"}, {"B"}, {"B - A"}}, {}};
  for (const MemoryPart& part : kMemory) {
    const std::int64_t x = a.estimate.fullest_stage().*part.bytes,
                       y = b.estimate.fullest_stage().*part.bytes;
    memory.rows.push_back({part.name, gibibytes(x), gibibytes(y),
                           (y < x ? "-" : "+") + gibibytes(y < x ? x - y : y - x)});
  }
  const double factor = b.estimate.step.base() / a.estimate.step.base();
  return (fields.rows.empty() ? "no field differs\n" : to_text(fields)) + "\n" + to_text(time) +
         "\n" + to_text(memory) +
         fmt::format("\nB takes {:.3f} times as long as A ({}{})\n", factor, a.profile,
                     a.profile == b.profile ? "" : " and " + b.profile);
}

JsonValue side_json(const Side& s) {
  JsonValue parts = JsonValue::object(), memory = JsonValue::object();
  for (std::size_t i = 0; i < kCostClasses; ++i)
    parts.set(name_of(static_cast<CostClass>(i)), s.estimate.parts[i].base());
  for (const MemoryPart& part : kMemory)
    memory.set(part.name, s.estimate.fullest_stage().*part.bytes);
  return JsonValue::object()
      .set("profile", s.profile)
      .set("step_seconds", s.estimate.step.base())
      .set("parts_seconds", std::move(parts))
      .set("memory_bytes", std::move(memory));
}

std::string json_of(const Side& a, const Side& b) {
  JsonValue fields = JsonValue::array();
  for (const Difference& d : differences(a.document, b.document)) {
    fields.push_back(JsonValue::object()
                         .set("field", d.path)
                         .set("a", d.first.value_or(JsonValue()))
                         .set("b", d.second.value_or(JsonValue())));
  }
  return JsonValue::object()
             .set("schema_version", 1)
             .set("fields", std::move(fields))
             .set("a", side_json(a))
             .set("b", side_json(b))
             .dump() +
         "\n";
}

}  // namespace

void diff_plans(const DiffOptions& o) {
  const Side a = price(o.first, o), b = price(o.second, o);
  print(o.json ? json_of(a, b) : text_of(a, b));
}

}  // namespace pleat::cli
