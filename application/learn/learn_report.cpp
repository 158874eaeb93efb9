// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/learn/learn_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "console/tables.hpp"
#include "validation/comparison.hpp"

namespace pleat {
namespace {

constexpr std::size_t kMostFields = 4;  // of a constant, in the table; the file has all

std::string relative_error(double logarithm) {
  return fmt::format("{:.1f}%", 100 * std::expm1(logarithm));
}

std::string fields_text(const LearnedConstant& c) {
  std::vector<std::string> words;
  for (const LearnedField& f : c.fields) {
    if (words.size() == kMostFields) {
      words.push_back(fmt::format("{} more", c.fields.size() - kMostFields));
      break;
    }
    words.push_back(fmt::format("{} {} -> {}", f.name, f.before, f.after));
  }
  return words.empty() ? "-" : fmt::format("{}", fmt::join(words, ", "));
}

Table constants_table(const Learned& learned) {
  Table table{{{"constant", Align::left},
               {"time"},
               {"error before"},
               {"error now"},
               {"fields", Align::left}},
              {}};
  for (std::size_t i = 0; i < kLearnedKinds; ++i) {
    const LearnedConstant& c = learned.constants[i];
    table.rows.push_back({kLearnedNames[i], format_percent(c.time_factor - 1),
                          relative_error(c.prior_error), relative_error(c.standard_error),
                          fields_text(c)});
  }
  return table;
}

Table runs_table(const Learned& learned) {
  Table table{{{"run", Align::left},
               {"measured"},
               {"predicted before"},
               {"and now"},
               {"counts", Align::left}},
              {}};
  for (const LearnedRun& run : learned.runs) {
    table.rows.push_back(
        {run.name, format_seconds(Seconds(run.measured)),
         format_percent(run.before / run.measured - 1),
         format_percent(run.after / run.measured - 1),
         run.outlier ? fmt::format("{:.2f}: odd", run.weight) : fmt::format("{:.2f}", run.weight)});
  }
  return table;
}

}  // namespace

std::string runs_text(std::size_t count) {
  return fmt::format("{} {}", count, count == 1 ? "run" : "runs");
}

LearnedBands learned_bands(const std::vector<RunToLearn>& runs, const Profile& before,
                           const Profile& after) {
  std::vector<double> old, now;
  for (const RunToLearn& run : runs) {
    old.push_back(run.price(before).relative_band);
    now.push_back(run.price(after).relative_band);
  }
  return {quantile(old, 0.5), quantile(now, 0.5)};
}

std::string learn_text(const Profile& profile, const LearnedBands& bands) {
  const Learned& learned = *profile.learned;
  const auto odd = std::ranges::count_if(learned.runs, &LearnedRun::outlier);
  std::string text = fmt::format("learned from {} of {}, beginning with {}\n\n",
                                 runs_text(learned.runs.size()), profile.cluster, learned.from);
  text += to_text(constants_table(learned)) + "\n" + to_text(runs_table(learned)) + "\n";
  if (odd > 0) {
    text += fmt::format("{} odd: further off than the constants explain, it hardly counts\n",
                        runs_text(static_cast<std::size_t>(odd)));
  }
  return text + fmt::format("band of a step like these: {:.1f}%, before {:.1f}%\n",
                            100 * bands.after, 100 * bands.before);
}

}  // namespace pleat
