// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/report/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "planner/layout/layout_bound.hpp"

namespace pleat {
namespace {

constexpr std::size_t kRubricsNamed = 4;
constexpr std::size_t kWordsOfChange = 120;  // letters; longer values are not told

struct Difference {
  CostClass cls;
  Seconds winner, loser;
  [[nodiscard]] Seconds lost() const { return loser - winner; }
};

std::string milliseconds(Seconds s) { return fmt::format("{:.2f} ms", s.base() * 1e3); }

double gib_of(std::int64_t bytes) { return static_cast<double>(bytes) / kGiB; }

std::string name_with_numbers(const Difference& d, const char* word) {
  // A residue of rounding is printed as 0.00, not -0.00.
  const auto shown = [](Seconds s) { return std::round(s.base() * 1e5) / 1e2 + 0.0; };
  return fmt::format("{} {:+.2f} ms ({:.2f} -> {:.2f})", word, shown(d.lost()),
                     shown(d.winner), shown(d.loser));
}

}  // namespace

std::string explain_difference(const Candidate& winner, const Candidate& loser,
                               const char* (*word)(CostClass)) {
  const Seconds total = loser.estimate.step - winner.estimate.step;
  std::vector<Difference> all;
  for (std::size_t c = 0; c < kCostClasses; ++c) {
    all.push_back({static_cast<CostClass>(c), winner.estimate.parts[c], loser.estimate.parts[c]});
  }
  std::ranges::stable_sort(all, std::greater{}, [](const Difference& d) {
    return std::abs(d.lost().base());
  });

  // Costs below a thousandth of the step are rounding, not a reason.
  const Seconds least = winner.estimate.step * 1e-3;
  std::string losses, gains;
  Seconds other = total;
  for (std::size_t i = 0; i < kRubricsNamed && std::abs(all[i].lost().base()) > least.base(); ++i) {
    std::string& list = all[i].lost() > Seconds{} ? losses : gains;
    list += (list.empty() ? "" : ", ") + name_with_numbers(all[i], word(all[i].cls));
    other = other - all[i].lost();
  }
  std::string text;
  if (std::abs(total.base()) <= least.base()) {
    text = "as fast within 0.1%";
  } else if (total > Seconds{}) {
    text = fmt::format("{:.1f}% slower ({} more)", 100 * (total / winner.estimate.step),
                       milliseconds(total));
  } else {
    text = fmt::format("{:.1f}% faster ({} less)", -100 * (total / winner.estimate.step),
                       milliseconds(-total));
  }
  if (!losses.empty()) text += ": loses " + losses;
  if (!gains.empty()) text += "; gains " + gains;
  if (std::abs(other.base()) > least.base() && !(losses + gains).empty()) {
    text += fmt::format("; other {:+.2f} ms", other.base() * 1e3);
  }
  return text;
}

std::optional<int> place_of(const StepEstimate& estimate, const SearchResult& result) {
  const Seconds value = value_of(estimate, result.robust);
  for (std::size_t i = 0; i < result.best.size(); ++i) {
    if (value <= value_of(result.best[i].estimate, result.robust)) return static_cast<int>(i) + 1;
  }
  return std::nullopt;
}

std::string precisions_text(const SearchConfig& config) {
  std::vector<std::string> names;
  for (const Numerics& n : config.numerics) {
    const std::string name = name_of(n.precision);
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, " or "));
}

namespace {

// Of a search that chose number formats for itself.
std::string formats_text(const SearchResult& result) {
  if (result.numerics_possible == 0) return {};
  return fmt::format(" with one of the {} searched sets of number formats of {}",
                     result.numerics_searched, result.numerics_possible);
}

std::string proof(const SearchResult& result) {
  const bool robust = result.robust;
  switch (result.objective) {
    case Objective::step: break;
    case Objective::step_of_sizes:
      return fmt::format("no plan on any of the sizes {}",
                         robust ? "has a band that ends lower" : "is faster");
    case Objective::gpu_time:
      return fmt::format("no plan on any of the sizes takes fewer GPU-hours{}",
                         robust ? " at the end of its band" : "");
  }
  const std::string memory =
      result.most_bytes ? fmt::format(" with at most {:.2f} GiB a GPU", gib_of(*result.most_bytes))
                        : "";
  return fmt::format("no plan of the space{}{} {}", memory, formats_text(result),
                     robust ? "has a band that ends lower" : "is faster");
}

std::string shown_bound(const SearchResult& result) {
  if (result.objective == Objective::gpu_time && !result.best.empty()) {
    return fmt::format("no plan on any of the sizes takes less than {:.1f}% of its GPU-hours",
                       100 * (1 - result.gap()));
  }
  return fmt::format("no plan {} {:.2f} ms",
                     result.robust ? "has a band that ends below" : "is faster than",
                     result.bound.base() * 1e3);
}

bool is_beyond_the_space(const SearchResult& result) {
  return result.neighbours && !result.neighbours->differences.empty();
}

// Of a plan that is better than all of the space.
std::string found_beyond(const SearchResult& result) {
  const NeighboursTried& n = *result.neighbours;
  const std::string of_space =
      result.objective != Objective::step
          ? proof(result) + " within its space"
          : fmt::format("no plan of the space {} {:.2f} ms",
                        result.robust ? "has a band that ends below" : "is faster than",
                        n.best_before.base() * 1e3);
  return fmt::format(
      "not proven: {}, and this one, found among {} changes beyond the space, is {:.2f}% better{}",
      of_space, n.tried, 100 * n.gain,
      n.all ? "" : "; more changes were left when their limit came");
}

// At most so much, rounded up.
double percent_up(double part) { return std::ceil(1000 * part) / 10; }

}  // namespace

bool is_proven(const SearchResult& result) {
  const bool layouts = !result.best.empty() && result.best.front().plan.attention.pp > 1 &&
                       (result.best_of_layouts.empty() || !result.best_of_layouts.front());
  return result.optimal && !is_beyond_the_space(result) && !layouts;
}

std::string certificate(const SearchResult& result, double layout_gap) {
  if (result.optimal && result.best.empty()) return "proven: no plan of the space fits";
  if (result.optimal && is_beyond_the_space(result)) return found_beyond(result);
  if (result.optimal && layout_gap > 0) {
    return fmt::format("proven but for layouts: {} under the model; with its layers laid out "
                       "otherwise the best could be at most {:.1f}% faster",
                       proof(result), percent_up(layout_gap));
  }
  if (result.optimal) return fmt::format("proven: {} under the model", proof(result));
  if (result.bound == Seconds{}) {
    if (result.best.empty()) {
      return "stopped before a plan was found that fits, and before any bound";
    }
    return result.objective == Objective::step
               ? "stopped early, before any bound was known"
               : "stopped early, before any bound was known for all sizes";
  }
  const std::string bound = shown_bound(result);
  if (result.best.empty()) return "stopped before a plan was found that fits; " + bound;
  return fmt::format("stopped early: {}, {:.1f}% below the best found", bound, 100 * result.gap());
}

std::string neighbours_text(const SearchResult& result) {
  if (!result.neighbours) return {};
  const NeighboursTried& n = *result.neighbours;
  const char* const where = result.optimal ? "beyond the space" : "beside what was found";
  const char* const rest = n.all ? "" : " (more were left when their limit came)";
  if (n.differences.empty() && n.tried == 0) return {};
  if (n.differences.empty()) {
    return fmt::format("{}: none of {} legal changes of one or two fields is faster{}", where,
                       n.tried, rest);
  }
  std::vector<std::string> changes;
  for (const FieldDifference& d : n.differences) {
    const bool brief = d.from.size() + d.to.size() <= kWordsOfChange;
    changes.push_back(brief ? fmt::format("{} {} -> {}", d.path, d.from.empty() ? "even" : d.from,
                                          d.to.empty() ? "even" : d.to)
                            : "other " + d.path);
  }
  if (result.optimal) {  // the certificate has the figures
    return fmt::format("what was changed of the best plan of the space: {}",
                       fmt::join(changes, ", "));
  }
  return fmt::format("{}: the best has {} {:.2f} ms; a plan that is {:.2f}% better, of {} tried{}, "
                     "has {}",
                     where, result.robust ? "a band that ends at" : "a step of",
                     n.best_before.base() * 1e3, 100 * n.gain, n.tried, rest,
                     fmt::join(changes, ", "));
}

double layout_gap_of(const SearchResult& result, const Problem& problem,
                     const SearchConfig& config) {
  if (result.best.empty() || result.best.front().plan.attention.pp == 1) return 0;
  if (!result.best_of_layouts.empty() && result.best_of_layouts.front()) return 0;
  return layout_bound(problem, config, result.best.front().plan).gap();
}

std::string layout_certificate(const SearchResult& result, double layout_gap) {
  if (result.best.empty() || result.best.front().plan.attention.pp == 1) return {};
  if (layout_gap > 0) {
    if (result.optimal && !is_beyond_the_space(result)) return {};  // the certificate says it
    return fmt::format("layout of #1: within {:.1f}% of what any contiguous one could reach",
                       percent_up(layout_gap));
  }
  return "layout of #1: the best of all contiguous ones that fit";
}

}  // namespace pleat
