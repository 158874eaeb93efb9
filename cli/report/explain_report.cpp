// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/explain_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/report/cost_words.hpp"
#include "console/wrap.hpp"
#include "core/plan/plan_fields.hpp"
#include "core/quantity.hpp"
#include "simulator/estimate.hpp"

namespace pleat::cli {
namespace {

constexpr std::size_t kOpsShown = 12, kChangesShown = 10;
constexpr double kLeastShare = 1e-3;

std::string more_or_less(std::int64_t bytes) {
  if (bytes == 0) return "the same memory";
  return format_bytes(bytes < 0 ? -bytes : bytes) + (bytes < 0 ? " less memory" : " more memory");
}

std::string change_words(const PricedChange& c) {
  return fmt::format("{} would take {} instead of {}: {:.3f} s less ({:.2f}%), {}", c.change.text,
                     format_seconds(c.step), format_seconds(c.step + c.gain), c.gain.base(),
                     100 * (c.gain / (c.step + c.gain)), more_or_less(c.more_bytes));
}

bool gains(const PricedChange& c, const StepEstimate& e) { return c.gain > e.step * kLeastShare; }

// What an operation reaches: arithmetic if it does any, else bytes.
std::string rate_of(const OpTotal& op) {
  if (op.flops > Flops(0))
    return fmt::format("{:.0f} TFLOP/s", op.flops / op.time / FlopsPerSecond(1e12));
  return fmt::format("{:.0f} GB/s", op.bytes / op.time / BytesPerSecond(1e9));
}

std::string op_key(const OpTotal& op) {
  if (op.layer == "step") return "step/" + op.op;
  return fmt::format("{}/{}/{}", op.layer, op.pass == Pass::forward ? "fwd" : "bwd", op.op);
}

std::string memory_sentence(const StepEstimate& e, const ClusterSpec& cluster) {
  const StageMemory& m = e.fullest_stage();
  const auto capacity = static_cast<std::int64_t>(cluster.gpu.memory.base());
  const std::pair<const char*, std::int64_t> parts[] = {{"weights", m.weights},
                                                        {"gradients", m.gradients},
                                                        {"optimizer state", m.optimizer},
                                                        {"activations", m.activations},
                                                        {"runtime buffers", m.runtime}};
  const auto largest = std::ranges::max_element(parts, {}, [](const auto& p) { return p.second; });
  const std::int64_t left = capacity - m.peak;
  return fmt::format("Memory: stage {} peaks at {} of {} ({:.0f}%), {} {}; {} hold most, {}.",
                     m.stage.value, format_bytes(m.peak), format_bytes(capacity),
                     100.0 * static_cast<double>(m.peak) / static_cast<double>(capacity),
                     format_bytes(left < 0 ? -left : left), left < 0 ? "too much" : "are left",
                     largest->first, format_bytes(largest->second));
}

JsonValue change_json(const PricedChange& c) {
  JsonValue json = JsonValue::object();
  json.set("change", c.change.text)
      .set("arithmetic", c.change.arithmetic)
      .set("fits", c.fits)
      .set("step_s", c.step.base())
      .set("gain_s", c.gain.base())
      .set("gain", c.gain / (c.step + c.gain))
      .set("peak_bytes", c.peak_bytes)
      .set("more_bytes", c.more_bytes)
      .set("summary", summary(c.change.plan))
      .set("plan", write_plan(c.change.plan));
  return json;
}

JsonValue op_json(const OpTotal& op, const StepEstimate& e) {
  JsonValue json = JsonValue::object();
  json.set("op", op_key(op))
      .set("module", name_of(op.module))
      .set("part", name_of(op.cls))
      .set("count", op.count)
      .set("time_s", op.time.base())
      .set("share", op.time / e.step)
      .set("flops", op.flops.base())
      .set("bytes", op.bytes.base())
      .set("source", source_name(op.source));
  return json;
}

}  // namespace

std::vector<Bound> bounds_of(const StepEstimate& e) {
  std::vector<Bound> bounds;
  for (std::size_t i = 0; i < kCostClasses; ++i) {
    const double share = e.parts[i] / e.step;
    if (share >= kLeastShare) bounds.push_back({static_cast<CostClass>(i), e.parts[i], share});
  }
  std::ranges::stable_sort(bounds, std::ranges::greater(), &Bound::share);
  return bounds;
}

std::string bound_sentences(const StepEstimate& e, const ClusterSpec& cluster,
                            const Explanation& x) {
  const std::vector<Bound> bounds = bounds_of(e);
  std::string text =
      fmt::format("The step takes {}; the busiest stage is {}.", format_seconds(e.step), x.stage);
  if (!bounds.empty()) {
    text += fmt::format(" Most of it goes to {}: {} ({:.1f}%)", words_for(bounds[0].cls),
                        format_seconds(bounds[0].time), 100 * bounds[0].share);
    for (std::size_t i = 1; i < std::min<std::size_t>(bounds.size(), 4); ++i) {
      text += fmt::format("{} {}: {} ({:.1f}%)", i == 1 ? "; then" : ",", words_for(bounds[i].cls),
                          format_seconds(bounds[i].time), 100 * bounds[i].share);
    }
    text += ".";
  }
  text += "\n" + memory_sentence(e, cluster);
  for (const PricedChange& c : x.changes) {  // the fastest of those that memory forbids
    if (c.fits || c.change.arithmetic) continue;
    if (gains(c, e)) text += fmt::format("\nMemory binds: {}, and does not fit.", change_words(c));
    break;
  }
  return text;
}

std::string change_sentences(const StepEstimate& e, const Explanation& x) {
  const PricedChange* best = x.best(false);
  const PricedChange* other = x.best(true);
  std::string text =
      best != nullptr
          ? fmt::format("What helps most: {}.", change_words(*best))
          : fmt::format("Nothing helps: none of {} single changes gains {:.1f}% and fits.",
                        std::ranges::count(x.changes, false,
                                           [](const auto& c) { return c.change.arithmetic; }),
                        100 * kLeastShare);
  if (other != nullptr) {
    text += fmt::format("\nWith other number formats: {}.", change_words(*other));
  }
  const auto slower =
      std::ranges::count_if(x.changes, [&](const PricedChange& c) { return !gains(c, e); });
  if (slower > 0) {
    text += fmt::format("\n{} of {} legal changes gain less than {:.1f}% or lose time.", slower,
                        x.changes.size(), 100 * kLeastShare);
  }
  return text;
}

Table ops_table(const StepEstimate& e, const Explanation& x, std::size_t most) {
  Table table{{{"operation", Align::left},
               {"module", Align::left},
               {"part", Align::left},
               {"times"},
               {"time ms"},
               {"of step"},
               {"rate"},
               {"source", Align::left}},
              {}};
  for (const OpTotal& op : x.ops) {
    if (table.rows.size() == most) break;
    table.rows.push_back({op_key(op), name_of(op.module), name_of(op.cls), format_count(op.count),
                          fmt::format("{:.3f}", op.time.base() * 1e3),
                          fmt::format("{:.1f}%", 100 * (op.time / e.step)), rate_of(op),
                          source_name(op.source)});
  }
  return table;
}

Table changes_table(const StepEstimate& e, const std::vector<PricedChange>& changes) {
  Table table{{{"change", Align::left},
               {"step s"},
               {"gain s"},
               {"gain %"},
               {"peak GiB"},
               {"more GiB"},
               {"", Align::left}},
              {}};
  for (const PricedChange& c : changes) {
    table.rows.push_back(
        {c.change.text, fmt::format("{:.4f}", c.step.base()), fmt::format("{:+.4f}", c.gain.base()),
         fmt::format("{:+.2f}", 100 * (c.gain / e.step)),
         fmt::format("{:.2f}", static_cast<double>(c.peak_bytes) / kGiB),
         fmt::format("{:+.2f}", static_cast<double>(c.more_bytes) / kGiB),
         std::string(c.fits ? "" : "does not fit") + (c.fits || !c.change.arithmetic ? "" : ", ") +
             (c.change.arithmetic ? "other formats" : "")});
  }
  return table;
}

std::string explanation_text(const StepEstimate& e, const ClusterSpec& cluster,
                             const Explanation& x, std::size_t columns) {
  std::string text =
      "\nwhat bounds the step\n" + wrap_words(bound_sentences(e, cluster, x), columns);
  text +=
      wrap_words(fmt::format("\nlongest operations of stage {} (each alone on the device; overlap "
                             "hides some)",
                             x.stage),
                 columns);
  text += to_text(ops_table(e, x, kOpsShown), columns);
  text += "\nsingle changes on the same GPUs\n" + wrap_words(change_sentences(e, x), columns);
  std::vector<PricedChange> shown;
  for (const PricedChange& c : x.changes) {
    if (gains(c, e) && shown.size() < kChangesShown) shown.push_back(c);
  }
  if (!shown.empty()) text += to_text(changes_table(e, shown), columns);
  return text;
}

JsonValue explanation_json(const StepEstimate& e, const ClusterSpec& cluster,
                           const Explanation& x) {
  JsonValue bounds = JsonValue::array(), ops = JsonValue::array(), changes = JsonValue::array();
  for (const Bound& b : bounds_of(e)) {
    JsonValue json = JsonValue::object();
    json.set("part", name_of(b.cls)).set("words", words_for(b.cls)).set("time_s", b.time.base());
    bounds.push_back(json.set("share", b.share));
  }
  for (const OpTotal& op : x.ops) ops.push_back(op_json(op, e));
  for (const PricedChange& c : x.changes) changes.push_back(change_json(c));
  const auto best = [&](bool arithmetic) {
    const PricedChange* c = x.best(arithmetic);
    return c == nullptr ? JsonValue() : JsonValue(c->change.text);
  };
  JsonValue json = JsonValue::object();
  json.set("stage", x.stage)
      .set("sentences", bound_sentences(e, cluster, x) + "\n" + change_sentences(e, x))
      .set("bounds", bounds)
      .set("ops", ops)
      .set("best_change", best(false))
      .set("best_change_of_arithmetic", best(true))
      .set("changes", changes);
  return json;
}

}  // namespace pleat::cli
