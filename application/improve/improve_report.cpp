// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "application/improve/improve.hpp"
#include "console/tables.hpp"
#include "console/wrap.hpp"
#include "core/plan/plan_words.hpp"

namespace pleat {
namespace {

std::string band_text(const StepEstimate& e) {
  return fmt::format("{}, between {} and {}", format_seconds(e.step), format_seconds(e.low),
                     format_seconds(e.high));
}

std::string more_text(std::int64_t bytes) {
  return (bytes < 0 ? "-" : "+") + format_bytes(bytes < 0 ? -bytes : bytes);
}

std::string flags_text(const std::vector<FlagChange>& flags, std::size_t columns) {
  std::string text;
  for (const FlagChange& c : flags) text += wrap_words(to_text(c), columns, {"  ", "      "});
  return text;
}

JsonValue values_json(const std::vector<std::string>& values) {
  JsonValue list = JsonValue::array();
  for (const std::string& v : values) list.push_back(v);
  return list;
}

JsonValue estimate_json(const StepEstimate& e) {
  return JsonValue::object()
      .set("step_seconds", e.step.base())
      .set("low_seconds", e.low.base())
      .set("high_seconds", e.high.base())
      .set("peak_bytes", e.peak_bytes())
      .set("fits", e.fits);
}

JsonValue flags_json(const std::vector<FlagChange>& flags) {
  JsonValue list = JsonValue::array();
  for (const FlagChange& c : flags) {
    JsonValue flag = JsonValue::object().set("flag", c.flag);
    if (c.was_given) flag.set("before", values_json(c.before));
    if (c.is_given) flag.set("after", values_json(c.after));
    list.push_back(std::move(flag));
  }
  return list;
}

JsonValue improvement_json(const Improvement& i) {
  return estimate_json(i.estimate)
      .set("change", i.what)
      .set("plan", summary(i.plan))
      .set("gain", i.gain)
      .set("more_bytes", i.more_bytes)
      .set("risks", values_json(i.risks))
      .set("flags", flags_json(i.flags));
}

}  // namespace

std::string improve_text(const ImprovedJob& job, std::size_t columns) {
  const StepEstimate& e = job.estimate;
  std::string text = wrap_words(
      fmt::format("{}: {} layers, hidden {}, on {} x {}, {} sequences of {} tokens a step",
                  job.target.model.name, job.target.model.layers, job.target.model.hidden,
                  job.target.gpus, job.target.cluster.name, job.target.workload.global_batch,
                  job.target.workload.seq_len),
      columns);
  text += wrap_words(summary(job.plan), columns) + "\n";
  text +=
      wrap_words(fmt::format("as it is: {} (profile {}){}", band_text(e), job.target.profile.name,
                             e.fits ? "" : "; it does not fit into the memory"),
                 columns);
  if (job.measured) {
    const double m = *job.measured;
    const char* const verdict = m > e.high.base()  ? "; something beside the plan makes it slow"
                                : m < e.low.base() ? "; it is faster than the model believes"
                                                   : "";
    text +=
        wrap_words(fmt::format("measured: {}, {:+.1f}% of the prediction{}",
                               format_seconds(Seconds(m)), 100 * (m / e.step.base() - 1), verdict),
                   columns);
  }
  if (!job.refusal.empty())
    text += wrap_words(job.framework + " does not run it: " + job.refusal, columns);
  if (job.steps.empty()) return text + "\nno single change gains 0.3% or more\n";
  Table table{{{"change, one after the other", Align::left},
               {"step"},
               {"gain"},
               {"peak GiB"},
               {"more GiB"},
               {"band", Align::left}},
              {}};
  for (const Improvement& i : job.steps) {
    table.rows.push_back(
        {i.what, format_seconds(i.estimate.step), fmt::format("{:.1f}%", 100 * i.gain),
         fmt::format("{:.2f}", static_cast<double>(i.estimate.peak_bytes()) / (1 << 30)),
         fmt::format("{:+.2f}", static_cast<double>(i.more_bytes) / (1 << 30)),
         fmt::format("{} to {}", format_seconds(i.estimate.low), format_seconds(i.estimate.high))});
  }
  text += "\n" + to_text(table, columns);
  const Improvement& last = job.steps.back();
  text += wrap_words(fmt::format("all together: {:.1f}% less time a step, {} of memory",
                                 100 * (1 - last.estimate.step.base() / e.step.base()),
                                 more_text(last.estimate.peak_bytes() - e.peak_bytes())),
                     columns);
  std::string risks;
  for (const Improvement& i : job.steps)
    for (const std::string& risk : i.risks)
      risks += wrap_words(i.what + ": " + risk, columns, {"  ", "      "});
  if (!risks.empty()) text += "\nmind\n" + risks;
  text += "\nflags to change\n" + flags_text(job.flags, columns);
  if (!job.patch.empty()) text += "\npatch\n" + job.patch;
  for (const std::string& field : job.unpatched)
    text += wrap_words("by hand, the patch leaves: " + field, columns);
  return text;
}

std::string search_text(const ImprovedJob& job, std::size_t columns) {
  if (!job.best) {
    const char* const said = job.searched_all
                                 ? "\na search of all plans found none that is 0.3% faster"
                                 : "\na search found none that is 0.3% faster in the time it had; "
                                   "--seconds gives it more";
    return wrap_words(said, columns);
  }
  const Improvement& b = *job.best;
  std::string text =
      "\n" + wrap_words(fmt::format("a search found a faster plan, {:.1f}% less than "
                                    "as it is: {}",
                                    100 * b.gain, band_text(b.estimate)),
                        columns);
  text += wrap_words(summary(b.plan), columns, {"  ", "  "});
  return text + flags_text(b.flags, columns);
}

JsonValue improve_json(const ImprovedJob& job) {
  JsonValue steps = JsonValue::array();
  for (const Improvement& i : job.steps) steps.push_back(improvement_json(i));
  JsonValue json = JsonValue::object();
  json.set("schema_version", 1)
      .set("cluster", job.target.cluster.name)
      .set("gpus", job.target.gpus)
      .set("profile", job.target.profile.name)
      .set("framework", job.framework)
      .set("plan", summary(job.plan))
      .set("as_it_is", estimate_json(job.estimate))
      .set("notes", values_json(job.notes));
  if (job.measured) json.set("measured_seconds", *job.measured);
  if (!job.refusal.empty()) json.set("refused", job.refusal);
  json.set("changes", std::move(steps)).set("flags", flags_json(job.flags));
  if (job.best) json.set("search", improvement_json(*job.best));
  if (!job.patch.empty()) json.set("patch", job.patch);
  json.set("not_in_patch", values_json(job.unpatched)).set("searched_all", job.searched_all);
  return json.set("seconds", job.seconds);
}

}  // namespace pleat
