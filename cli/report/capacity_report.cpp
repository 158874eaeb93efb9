// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/capacity_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "console/tables.hpp"
#include "core/quantity.hpp"
#include "planner/capacity/amounts.hpp"

namespace pleat::cli {
namespace {

constexpr std::size_t kSwingsShown = 3;
constexpr double kFirstOrder = 0.25;  // recovery pressure up to which they hold (MODEL.md section 12)

std::string days(Seconds t) { return fmt::format("{:.1f}", t.base() / kDay); }
std::string million(double dollars) { return three_digits(dollars / 1e6); }
std::string percent_of(double share) { return fmt::format("{:.1f}%", share * 100); }

std::vector<std::string> row(const Offer& o, bool front) {
  const Booking& b = o.booking;
  return {front ? "*" : "",
          o.cluster,
          std::to_string(o.gpus),
          std::to_string(b.placement.paid_gpus),
          fmt::format("{:.2f}", o.job.step.base()),
          percent_of(o.job.mfu),
          percent_of(b.goodput),
          days(b.finish.p50),
          days(b.finish.p90),
          three_digits(b.gpu_hours_p50 / 1e6),
          million(b.dollars_p50),
          million(b.dollars_p90),
          fmt::format("{:.0f}", b.energy_mwh),
          fmt::format("{:.0f}", b.failures),
          fmt::format("{:.1f}", b.save.interval_steps * o.job.step.base() / 60)};
}

std::string offers_text(const CapacityAnswer& a) {
  Table table{{{""},
               {"cluster", Align::left},
               {"GPUs"},
               {"paid"},
               {"step s"},
               {"MFU"},
               {"goodput"},
               {"days P50"},
               {"P90"},
               {"M GPU-h"},
               {"M USD P50"},
               {"P90"},
               {"MWh"},
               {"failures"},
               {"save every min"}},
              {}};
  std::string problems;
  for (std::size_t i = 0; i < a.offers.size(); ++i) {
    const Offer& o = a.offers[i];
    if (o.problem.empty()) {
      table.rows.push_back(
          row(o, std::ranges::find(a.choice.front, i) != a.choice.front.end()));
    } else {
      problems += fmt::format("  {} x {}: {}\n", o.gpus, o.cluster, o.problem);
    }
  }
  std::string text;
  if (!table.rows.empty()) {
    text = to_text(table) + "* no other is faster and cheaper. Paid: with spares and the unused "
                            "part of racks and nodes.\n";
  }
  if (!problems.empty()) text += "\nnot possible:\n" + problems;
  return text;
}

std::string shares(const Offer& o) {
  const PaidTime& t = o.booking.paid;
  const auto share = [&](double part) { return percent_of(part / t.paid); };
  return fmt::format("useful {}, saves {}, lost work {}, restarts {}, waiting for repairs {}, idle "
                     "spares {}",
                     share(t.useful), share(t.checkpoint), share(t.lost), share(t.restart),
                     share(t.waiting), share(t.idle));
}

std::string details(const char* title, const Offer& o) {
  std::string text = fmt::format("\n{}: {} x {}\n", title, o.gpus, o.cluster);
  for (const auto& [name, fact] : offer_facts(o)) text += fmt::format("  {:<10}  {}\n", name, fact);
  return text;
}

std::string swings_text(const CapacityAnswer& a) {
  if (a.swings.empty() || !a.explained) return {};
  const Offer& o = a.offers[*a.explained];
  Table table{{{"input", Align::left},
               {"days -20%"},
               {"+20%"},
               {"M USD -20%"},
               {"+20%"}},
              {}};
  for (std::size_t i = 0; i < std::min(kSwingsShown, a.swings.size()); ++i) {
    const Swing& s = a.swings[i];
    table.rows.push_back({s.input, days(s.time_less), days(s.time_more), million(s.dollars_less),
                          million(s.dollars_more)});
  }
  return fmt::format("\nwhat matters most to {} x {} ({}, a fifth less and more of it):\n{}", o.gpus,
                     o.cluster, a.goal.confidence == Confidence::p50 ? "P50" : "P90",
                     to_text(table));
}

// Prices, and whatever is only assumed.
std::string rates_text(const CapacityAnswer& a) {
  std::vector<std::string> seen;
  std::string text = "\nprices and assumptions (--rate NAME=VALUE overrides, --json has all):\n";
  for (const Offer& o : a.offers) {
    if (std::ranges::find(seen, o.cluster) != seen.end()) continue;
    seen.push_back(o.cluster);
    const auto& price = o.rates.find(Rate::price);
    text += fmt::format("  {}: {} USD per GPU-hour{}, {}{}\n", o.cluster, price->value,
                        price->assumption && !price->source.starts_with("assumption")
                            ? " (assumption)"
                            : "",
                        price->source,
                        price->as_of.empty() ? "" : ", " + price->as_of);
    std::string assumed;
    for (std::size_t i = 0; i < kRates; ++i) {
      const Rate rate = static_cast<Rate>(i);
      const auto& value = o.rates.find(rate);
      if (rate == Rate::price || !value || !value->assumption) continue;
      assumed += fmt::format("{}{} {}", assumed.empty() ? "" : ", ", facts_of(rate).key, value->value);
    }
    if (!assumed.empty()) text += fmt::format("    assumed: {}\n", assumed);
  }
  return text;
}

}  // namespace

std::string question_text(const CapacityAnswer& a) {
  std::string goals;
  if (a.goal.deadline) goals += fmt::format("within {}", days_text(*a.goal.deadline));
  if (a.goal.budget) {
    goals += fmt::format("{}for at most {}", goals.empty() ? "" : ", ", dollars_text(*a.goal.budget));
  }
  const std::string batch =
      a.critical_batch
          ? fmt::format("{} sequences at the smallest size, growing with the GPUs up to {} tokens",
                        a.global_batch, amount_text(*a.critical_batch))
          : fmt::format("{} sequences, the same for every size", a.global_batch);
  return fmt::format("{}: {} tokens {} ({}), sequences of {} tokens\nglobal batch: {}", a.model,
                     amount_text(a.tokens), goals,
                     a.goal.confidence == Confidence::p50 ? "P50" : "P90", a.seq_len, batch);
}

std::string spares_text(const Placement& p, int gpus) {
  if (p.paid_gpus == gpus) return "no spares";
  return fmt::format("{} idle GPUs: {} spare {} of {}", p.paid_gpus - gpus, p.spare_units,
                     p.spare_units == 1 ? "unit" : "units", p.unit_gpus);
}

std::string used_text(const Offer& o) {
  const int used = o.booking.placement.used_in_domain;
  const int last = o.booking.placement.used_in_last;
  return last == used ? fmt::format("{} used of each", used)
                      : fmt::format("{} used of each, {} of the last", used, last);
}

std::vector<std::pair<std::string, std::string>> offer_facts(const Offer& o) {
  const Booking& b = o.booking;
  const SavePlan& s = b.save;
  return {
      {"plan", summary(o.job.plan)},
      {"time", fmt::format("{} expected, P50 {}, P90 {}; {:.0f} steps of {:.2f} s +-{:.0f}%",
                           days_text(b.finish.expected), days(b.finish.p50), days(b.finish.p90),
                           b.steps, o.job.step.base(), o.job.band * 100)},
      {"cost", fmt::format("P50 {}, P90 {}; {} GPU-hours at {:.2f} USD", dollars_text(b.dollars_p50),
                           dollars_text(b.dollars_p90), amount_text(b.gpu_hours_p50),
                           o.rates.at(Rate::price))},
      {"booked", fmt::format("{} GPUs in {} {} of {} ({}), {}", b.placement.paid_gpus,
                             b.placement.domains, b.placement.domains == 1 ? "domain" : "domains",
                             o.job.domain, used_text(o),
                             spares_text(b.placement, o.gpus))},
      {"failures",
       fmt::format("{:.1f} expected, one in {:.1f} h{}", b.failures, b.mtbf.base() / kHour,
                   s.recovery_pressure > kFirstOrder ? "; too often for first-order formulas" : "")},
      {"checkpoint",
       fmt::format("{:.2f} TB every {} steps ({:.1f} min; Young {:.1f}, Daly {:.1f}), blocks {:.1f} "
                   "s{}",
                   s.checkpoint.base() / 1e12, s.interval_steps,
                   s.interval_steps * o.job.step.base() / 60, s.young.base() / 60,
                   s.daly.base() / 60, s.stall.base(),
                   s.background ? fmt::format(", written in {:.0f} s", s.upload.base()) : "")},
      {"paid time", shares(o)},
      {"energy", fmt::format("{:.0f} MWh", b.energy_mwh)}};
}

std::string capacity_text(const CapacityAnswer& a) {
  std::string text = question_text(a) + "\n\n" +
                     (a.offers.empty() ? "no offer was found yet\n" : offers_text(a));
  const Choice& c = a.choice;
  if (a.goal.deadline && c.cheapest) {
    text += details("cheapest that meets the deadline", a.offers[*c.cheapest]);
  }
  if (a.goal.budget && c.fastest) {
    text += details("fastest within the budget", a.offers[*c.fastest]);
  }
  return text + swings_text(a) + rates_text(a);
}

std::string misses_text(const CapacityAnswer& a) {
  if (a.misses.empty()) return "nothing can be run: no offer has a plan";
  std::string text = "nothing meets the goals";
  for (const Miss& m : a.misses) {
    text += "\n  " + m.what + "; it would be met by";
    for (const std::string& change : m.changes) text += "\n    " + change;
  }
  return text;
}

}  // namespace pleat::cli
