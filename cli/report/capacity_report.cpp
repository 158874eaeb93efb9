// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/capacity_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "console/tables.hpp"
#include "core/quantity.hpp"
#include "interop/quoting.hpp"
#include "planner/capacity/amounts.hpp"
#include "planner/capacity/price_basis.hpp"

namespace pleat::cli {
namespace {

constexpr std::size_t kSwingsShown = 3;
constexpr double kFirstOrder =
    0.25;  // recovery pressure up to which they hold (MODEL.md section 12)

std::string days(Seconds t) { return fmt::format("{:.1f}", t.base() / kDay); }
std::string million(double dollars) { return three_digits(dollars / 1e6); }
std::string percent_of(double share) { return fmt::format("{:.1f}%", share * 100); }

std::vector<std::string> row(const Offer& o, bool front) {
  const Booking& b = o.booking;
  return {o.first_look ? "~" : front ? "*" : "",
          o.cluster,
          std::to_string(o.gpus),
          days(b.finish.p50),
          days(b.finish.p90),
          million(b.dollars_p50),
          million(b.dollars_p90),
          std::to_string(b.placement.paid_gpus),
          fmt::format("{:.2f}", o.job.step.base()),
          percent_of(o.job.mfu_of_precision),
          percent_of(o.job.mfu),
          percent_of(b.goodput),
          three_digits(b.gpu_hours_p50 / 1e6),
          fmt::format("{:.0f}", b.energy_mwh),
          fmt::format("{:.0f}", b.failures),
          fmt::format("{:.1f}", b.save.interval_steps * run_step(o.job).base() / 60)};
}

std::string offers_text(const CapacityAnswer& a, const Terminal& t) {
  Table table{{{""},
               {"cluster", Align::left},
               {"GPUs"},
               {"days P50"},
               {"days P90"},
               {"M USD P50"},
               {"M USD P90"},
               {"paid GPUs"},
               {"step s"},
               {"MFU"},
               {"bf16 MFU"},
               {"goodput"},
               {"M GPU-h"},
               {"MWh"},
               {"failures"},
               {"save every min"}},
              {},
              3};
  std::string problems;
  for (std::size_t i = 0; i < a.offers.size(); ++i) {
    const Offer& o = a.offers[i];
    if (o.problem.empty()) {
      table.rows.push_back(row(o, std::ranges::find(a.choice.front, i) != a.choice.front.end()));
    } else {
      problems += wrap_words(fmt::format("{} x {}: {}", o.gpus, o.cluster, o.problem), t.columns,
                             {"  ", "    "});
    }
  }
  std::string text;
  const auto narrow = [](const Offer& o) {
    return o.problem.empty() && o.job.mfu_of_precision != o.job.mfu;
  };
  if (std::ranges::none_of(a.offers, narrow)) table = without_column(std::move(table), "bf16 MFU");
  if (!table.rows.empty()) {
    text = "\noffers\n" + to_text(table, t.columns) +
           wrap_words(
               "* no other is faster and cheaper. Paid: with spares and the unused part of "
               "racks and nodes. A step is the predicted one, days have what runs take.",
               t.columns);
    if (std::ranges::any_of(a.offers, &Offer::first_look)) {
      text += wrap_words("~ a first look: its search goes on, and may find a faster plan.",
                         t.columns);
    }
  }
  const auto has_plan = [](const Offer& o) { return o.problem.empty() && !o.first_look; };
  const auto plans = std::ranges::count_if(a.offers, has_plan);
  const auto proven = std::ranges::count_if(
      a.offers, [&](const Offer& o) { return has_plan(o) && o.proven; });
  if (proven < plans) {
    text += wrap_words(fmt::format("Plans of a short search: {} of {}, mostly within 3% of the "
                                   "fastest. --proven searches until none is faster.",
                                   plans - proven, plans),
                       t.columns);
  }
  if (!problems.empty()) text += "\nnot possible:\n" + problems;
  return text;
}

std::vector<std::string> shares(const Offer& o) {
  const PaidTime& t = o.booking.paid;
  const auto share = [&](const char* name, double part) {
    return fmt::format("{} {}", name, percent_of(part / t.paid));
  };
  return {share("useful", t.useful),
          share("saves", t.checkpoint),
          share("lost work", t.lost),
          share("restarts", t.restart),
          share("waiting for repairs", t.waiting),
          share("idle spares", t.idle)};
}

std::string details(const std::string& title, const CapacityAnswer& a, const std::string& model,
                    const Offer& o, const Terminal& t) {
  return fmt::format("\n{}: {} x {}\n", title, o.gpus, o.cluster) +
         facts_text(offer_facts(o), t.columns, "  ") + "  its plan file\n" +
         wrap_command(plan_command(a, model, o), t.columns, {"    ", "        "});
}

// The recommended offers, or that there is none.
std::string answers_text(const CapacityAnswer& a, const std::string& model, const Terminal& t) {
  const Choice& c = a.choice;
  const char* const in_time = "cheapest that meets the deadline";
  const char* const in_budget = "fastest within the budget";
  if (!c.cheapest || !c.fastest) {
    if (a.offers.empty()) return "\nno offer was found yet\n";
    return fmt::format("\nno offer meets the goals{}\n", a.complete ? "" : " yet");
  }
  if (a.goal.deadline && a.goal.budget && *c.cheapest == *c.fastest) {
    return details(fmt::format("{}, and {}", in_time, in_budget), a, model, a.offers[*c.cheapest],
                   t);
  }
  std::string text;
  if (a.goal.deadline) text += details(in_time, a, model, a.offers[*c.cheapest], t);
  if (a.goal.budget) text += details(in_budget, a, model, a.offers[*c.fastest], t);
  return text;
}

std::string swings_text(const CapacityAnswer& a, const Terminal& t) {
  if (a.swings.empty() || !a.explained) return {};
  const Offer& o = a.offers[*a.explained];
  Table table{{{"input", Align::left}, {"days -20%"}, {"+20%"}, {"M USD -20%"}, {"+20%"}}, {}};
  for (std::size_t i = 0; i < std::min(kSwingsShown, a.swings.size()); ++i) {
    const Swing& s = a.swings[i];
    table.rows.push_back({s.input, days(s.time_less), days(s.time_more), million(s.dollars_less),
                          million(s.dollars_more)});
  }
  return wrap_words(
             fmt::format("\nwhat matters most to {} x {} ({}, a fifth less and more of it)", o.gpus,
                         o.cluster, a.goal.confidence == Confidence::p50 ? "P50" : "P90"),
             t.columns) +
         to_text(table, t.columns);
}

// Prices, and whatever is only assumed.
std::string rates_text(const CapacityAnswer& a, const Terminal& t) {
  std::vector<std::string> seen;
  std::string text = "\nprices and assumptions (--rate NAME=VALUE overrides, --json has all)\n" +
                     wrap_words(price_basis_text(price_basis(a.offers)), t.columns, {"  ", "    "});
  for (const Offer& o : a.offers) {
    if (std::ranges::find(seen, o.cluster) != seen.end()) continue;
    seen.push_back(o.cluster);
    const auto& price = o.rates.find(Rate::price);
    text += wrap_words(
        fmt::format(
            "{}: {} USD per GPU-hour{}, {}{}", o.cluster, price->value,
            price->assumption && !price->source.starts_with("assumption") ? " (assumption)" : "",
            price->source, price->as_of.empty() ? "" : ", " + price->as_of),
        t.columns, {"  ", "    "});
    std::vector<std::string> assumed;
    for (std::size_t i = 0; i < kRates; ++i) {
      const Rate rate = static_cast<Rate>(i);
      const auto& value = o.rates.find(rate);
      if (rate == Rate::price || !value || !value->assumption) continue;
      assumed.push_back(fmt::format("{} {}", facts_of(rate).key, value->value));
    }
    if (!assumed.empty()) {
      text += wrap_fields(assumed, ", ", t.columns, {"    assumed: ", "             "});
    }
  }
  return text;
}

}  // namespace

std::string tuning_text(Tuning tuning) {
  const TuningFacts& f = facts_of(tuning);
  if (tuning == Tuning::best) return fmt::format("tuning: {}, {}", f.word, f.meaning);
  return fmt::format(
      "tuning: {}, {} takes {:.2f} times as long as the best plan in half of the cases, {:.2f} "
      "times in one of ten",
      f.word, f.meaning, f.median, f.p90);
}

std::string question_text(const CapacityAnswer& a) {
  std::string goals;
  if (a.goal.deadline) goals += fmt::format("within {}", days_text(*a.goal.deadline));
  if (a.goal.budget) {
    goals +=
        fmt::format("{}for at most {}", goals.empty() ? "" : ", ", dollars_text(*a.goal.budget));
  }
  const std::string batch =
      a.critical_batch
          ? fmt::format("{} sequences at the smallest size, growing with the GPUs up to {} tokens",
                        a.global_batch, amount_text(*a.critical_batch))
          : fmt::format("{} sequences, the same for every size", a.global_batch);
  return fmt::format("{}: {} tokens {} ({}), sequences of {} tokens\nglobal batch: {}", a.model,
                     amount_text(a.tokens), goals,
                     a.goal.confidence == Confidence::p50 ? "P50" : "P90", a.seq_len, batch) +
         "\n" + tuning_text(a.tuning);
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

std::vector<Fact> offer_facts(const Offer& o) {
  const Booking& b = o.booking;
  const SavePlan& s = b.save;
  std::vector<Fact> facts;
  facts.push_back(
      {"time",
       {fmt::format("{} days (P50)", days(b.finish.p50)),
        fmt::format("{} days (P90)", days(b.finish.p90)),
        fmt::format("{} expected", days_text(b.finish.expected)),
        fmt::format("{} steps of {:.2f} s", format_count(std::llround(b.steps)),
                    run_step(o.job).base())}});
  facts.push_back({"step",
                   {fmt::format("{:.2f} s predicted +-{:.0f}%", o.job.step.base(),
                                o.job.band * 100),
                    fmt::format("{:.2f} s as runs are tuned (P50)", run_step(o.job).base()),
                    fmt::format("{:.2f} s (P90)", run_step(o.job).base() * run_spread(o.job))}});
  facts.push_back({"cost",
                   {dollars_text(b.dollars_p50) + " (P50)", dollars_text(b.dollars_p90) + " (P90)",
                    fmt::format("{} GPU-hours at {:.2f} USD", amount_text(b.gpu_hours_p50),
                                o.rates.at(Rate::price))}});
  facts.push_back(
      {"booked",
       {fmt::format("{} GPUs in {} {} of {} ({})", b.placement.paid_gpus, b.placement.domains,
                    b.placement.domains == 1 ? "domain" : "domains", o.job.domain, used_text(o)),
        spares_text(b.placement, o.gpus)}});
  facts.push_back({"plan", words_of(summary(o.job.plan)), " "});
  facts.push_back({"failures",
                   {fmt::format("{:.1f} expected", b.failures),
                    fmt::format("one in {:.1f} h", b.mtbf.base() / kHour)}});
  if (s.recovery_pressure > kFirstOrder) {
    facts.back().fields.emplace_back("too often for first-order formulas");
  }
  facts.push_back(
      {"checkpoint",
       {fmt::format("{:.2f} TB every {} steps", s.checkpoint.base() / 1e12, s.interval_steps),
        fmt::format("{:.1f} min (Young {:.1f}, Daly {:.1f})",
                    s.interval_steps * run_step(o.job).base() / 60, s.young.base() / 60,
                    s.daly.base() / 60),
        fmt::format("blocks {:.1f} s", s.stall.base())}});
  if (s.background) {
    facts.back().fields.push_back(fmt::format("written in {:.0f} s", s.upload.base()));
  }
  facts.push_back({"paid time", shares(o)});
  facts.push_back({"energy", {fmt::format("{:.0f} MWh", b.energy_mwh)}});
  return facts;
}

std::string first_text(const CapacityAnswer& a, const Terminal& t) {
  return wrap_words(question_text(a), t.columns, {"", "    "}) + offers_text(a, t);
}

std::string capacity_text(const CapacityAnswer& a, const std::string& model, const Terminal& t) {
  return wrap_words(question_text(a), t.columns, {"", "    "}) + answers_text(a, model, t) +
         offers_text(a, t) + swings_text(a, t) + rates_text(a, t);
}

std::string plan_command(const CapacityAnswer& a, const std::string& model, const Offer& o) {
  return fmt::format(
      "pleat plan --model {} --cluster {} --gpus {} --seq-len {} --global-batch {} --precision "
      "{}{} --tokens {} --out plan.json",
      interop::shell_word(model, "--model"),
      interop::shell_word(o.cluster_words.empty() ? o.cluster : o.cluster_words, "--cluster"),
      o.gpus, a.seq_len, o.job.global_batch, name_of(o.job.plan.precision),
      o.routing_words, amount_text(o.tokens));
}

std::string misses_text(const CapacityAnswer& a) {
  if (a.misses.empty()) return "nothing can be run: no offer has a plan";
  std::string text = "nothing meets the goals";
  for (const Miss& m : a.misses) {
    text += "\n  " + m.what + "\n  it would be met by";
    for (const std::string& change : m.changes) text += "\n    " + change;
  }
  return text;
}

}  // namespace pleat::cli
