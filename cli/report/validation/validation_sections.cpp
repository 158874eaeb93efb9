// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/validation/validation_sections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace pleat::cli {
namespace {

std::string in_percent(double fraction) { return fmt::format("{:.2f}%", 100 * fraction); }
std::string signed_percent(double fraction) { return fmt::format("{:+.2f}%", 100 * fraction); }
std::string seconds(double value) { return fmt::format("{:.4g}", value); }
std::string gib_text(double bytes) { return fmt::format("{:.2f}", bytes / (1024.0 * 1024 * 1024)); }

std::string share(std::size_t part, std::size_t whole) {
  return whole == 0 ? "-" : fmt::format("{:.0f}%", 100.0 * static_cast<double>(part) /
                                                       static_cast<double>(whole));
}

Section overview(const Summary& s) {
  Section section{"Summary",
                  fmt::format("{} rows: {} predicted, {} missed. Errors are predicted over "
                              "measured step time, less 1.",
                              s.rows, s.predicted, s.missed),
                  {{{"", Align::left}, {"rows"}, {"median"}, {"P90"}, {"mean"}, {"worst"}}, {}}};
  const auto add = [&](const char* name, const ErrorSummary& e) {
    if (e.count == 0) return;
    section.table.rows.push_back({name, std::to_string(e.count), in_percent(e.median),
                                  in_percent(e.p90), in_percent(e.mean), in_percent(e.worst)});
  };
  add("step time", s.all);
  add("peak memory", s.memory);
  add("noise: same settings, same era (highest over lowest)", s.noise.same_era);
  add("noise: same settings, any era", s.noise.any_era);
  return section;
}

Section by_value(const SummaryTable& table) {
  Section section{"By " + table.name,
                  "",
                  {{{table.name, Align::left},
                    {"rows"},
                    {"missed"},
                    {"median"},
                    {"P90"},
                    {"mean"},
                    {"bias"},
                    {"in band"}},
                   {}}};
  for (const SummaryLine& l : table.lines) {
    const ErrorSummary& e = l.errors;
    section.table.rows.push_back({l.value, std::to_string(e.count), std::to_string(l.missed),
                                  in_percent(e.median), in_percent(e.p90), in_percent(e.mean),
                                  signed_percent(e.bias), share(l.inside_band, e.count)});
  }
  return section;
}

Section choosing(const Choosing& c) {
  return {
      "Choosing",
      "Runs of one model, machine and workload whose plans differ. Regret: how much longer the "
      "plan predicted best took than the best one. In order: pairs of plans whose order is "
      "predicted.",
      {{{"groups"}, {"pairs"}, {"mean regret"}, {"pairs in order"}},
       {{std::to_string(c.groups), std::to_string(c.pairs), in_percent(c.mean_regret),
         in_percent(c.concordance)}}}};
}

Section peers(const PeerTable& s) {
  const Choosing& choices = s.lines.front().choosing;
  Section section{"Beside other predictors: tier " + s.tiers,
                  fmt::format("Mean |error| on the {} rows that carry these predictions; choosing: "
                              "{} groups of runs that differ in layout only, {} pairs.",
                              s.rows, choices.groups, choices.pairs),
                  {{{"predictor", Align::left},
                    {"2-8 GPUs"},
                    {"64-512 GPUs"},
                    {"all rows"},
                    {"rows"},
                    {"memory"},
                    {"mean regret"},
                    {"pairs in order"}},
                   {}}};
  const auto mean_of = [](const ErrorSummary& e) {
    return e.count == 0 ? std::string("-") : in_percent(e.mean);
  };
  for (const PeerLine& p : s.lines) {
    section.table.rows.push_back({p.name, mean_of(p.few), mean_of(p.many), mean_of(p.all),
                                  std::to_string(p.all.count), mean_of(p.memory),
                                  choices.groups == 0 ? "-" : in_percent(p.choosing.mean_regret),
                                  choices.pairs == 0 ? "-" : in_percent(p.choosing.concordance)});
  }
  return section;
}

// The published words of rows, measured and predicted. Where a row has none, its id says it alone.
Section published_section(const char* title, const char* text) {
  return {title,
          text,
          {{{"published", Align::left},
            {"measured s"},
            {"predicted s"},
            {"error"},
            {"row", Align::left}},
           {}}};
}

void add_published(const ComparedRun& row, Section& section) {
  section.table.rows.push_back(
      {row.run.headline.empty() ? "-" : row.run.headline,
       row.step ? seconds(row.step->seconds) : "-",
       row.prediction ? seconds(row.prediction->estimate.step.base()) : row.reason,
       row.error ? signed_percent(*row.error) : "-", row.run.id});
}

bool is_told_apart(const Summary& s, const ComparedRun& row) {
  return std::ranges::none_of(s.not_told_apart, [&](const std::vector<std::string>& ids) {
    return std::ranges::find(ids, row.run.id) != ids.end();
  });
}

Section headlines(const std::vector<ComparedRun>& rows, const Summary& s) {
  Section section = published_section(
      "Headlines", "What the systems' own reports put first, predicted beside published.");
  for (const ComparedRun& row : rows) {
    if (!row.run.headline.empty() && is_told_apart(s, row)) add_published(row, section);
  }
  return section;
}

Section not_told_apart_section(const std::vector<ComparedRun>& rows, const Summary& s) {
  Section section = published_section(
      "Not told apart",
      "Runs of one report that differ in what a plan does not say, so that each set has one "
      "prediction. To compare them is no result.");
  for (const std::vector<std::string>& ids : s.not_told_apart) {
    for (const ComparedRun& row : rows) {
      if (std::ranges::find(ids, row.run.id) != ids.end()) add_published(row, section);
    }
  }
  return section;
}

std::string first_ids(const std::vector<std::string>& ids) {
  constexpr std::size_t kShown = 4;
  const std::vector<std::string> some(
      ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, ids.size())));
  return fmt::format("{}{}", fmt::join(some, ", "), ids.size() > kShown ? ", …" : "");
}

Section missed(const Summary& s) {
  Section section{"Not predicted",
                  "",
                  {{{"reason", Align::left}, {"rows"}, {"which", Align::left}}, {}}};
  for (const MissedReason& m : s.reasons) {
    section.table.rows.push_back({m.reason, std::to_string(m.ids.size()), first_ids(m.ids)});
  }
  return section;
}

std::string terms_of(const RunPrediction& p) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> shown;
  for (const auto& [name, value] : largest_terms(p.estimate)) {
    if (shown.size() == kShown) break;
    shown.push_back(fmt::format("{} {:.0f}%", name, 100 * value / p.estimate.step.base()));
  }
  return fmt::format("{}", fmt::join(shown, ", "));
}

std::vector<std::string> row_cells(const ComparedRun& row) {
  std::vector<std::string> cells{row.run.id};
  cells.push_back(row.step ? seconds(row.step->seconds) : "-");
  if (!row.prediction) {
    for (int i = 0; i < 5; ++i) cells.emplace_back("-");
    cells.push_back(row.reason);
    return cells;
  }
  const StepEstimate& e = row.prediction->estimate;
  cells.push_back(seconds(e.step.base()));
  cells.push_back(row.error ? signed_percent(*row.error) : "-");
  cells.push_back(seconds(e.low.base()));
  cells.push_back(seconds(e.high.base()));
  cells.push_back(row.memory_error
                      ? fmt::format("{} / {}", gib_text(*row.run.measured.peak_bytes),
                                    gib_text(static_cast<double>(e.peak_allocated_bytes())))
                      : "-");
  cells.push_back(terms_of(*row.prediction));
  return cells;
}

}  // namespace

std::vector<Section> summary_sections(const std::vector<ComparedRun>& rows, const Summary& s) {
  std::vector<Section> sections{overview(s)};
  for (const SummaryTable& table : s.tables) sections.push_back(by_value(table));
  if (s.choosing.pairs > 0) sections.push_back(choosing(s.choosing));
  for (const PeerTable& table : s.peers) sections.push_back(peers(table));
  Section published = headlines(rows, s);
  if (!published.table.rows.empty()) sections.push_back(std::move(published));
  if (!s.not_told_apart.empty()) sections.push_back(not_told_apart_section(rows, s));
  if (!s.reasons.empty()) sections.push_back(missed(s));
  if (!s.recipes.empty()) sections.push_back(recipe_section(s.recipes));
  return sections;
}

std::vector<Section> row_sections(const std::vector<ComparedRun>& rows) {
  std::map<std::string, Section> tiers;
  for (const ComparedRun& row : rows) {
    Section& section = tiers[row.run.tier];
    if (section.table.columns.empty()) {
      section.title = row.run.tier.empty() ? "Rows" : "Tier " + row.run.tier;
      section.table.columns = {{"row", Align::left},
                               {"measured s"},
                               {"predicted s"},
                               {"error"},
                               {"low"},
                               {"high"},
                               {"peak GiB, measured / predicted"},
                               {"biggest terms", Align::left}};
    }
    section.table.rows.push_back(row_cells(row));
  }
  std::vector<Section> sections;
  for (auto& [tier, section] : tiers) sections.push_back(std::move(section));
  return sections;
}

}  // namespace pleat::cli
