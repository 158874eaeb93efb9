// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/html/capacity_tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/report/capacity_report.hpp"
#include "core/quantity.hpp"

namespace pleat::cli {
Table offers_table(const CapacityAnswer& a) {
  Table table{{{"front", Align::left},
               {"cluster", Align::left},
               {"GPUs"},
               {"paid"},
               {"days P50"},
               {"days P90"},
               {"M USD P50"},
               {"M USD P90"},
               {"step s"},
               {"plan", Align::left},
               {"M GPU-h"},
               {"MFU %"},
               {"bf16 MFU %"},
               {"goodput %"},
               {"failures"},
               {"one in h"},
               {"checkpoint TB"},
               {"save every min"},
               {"blocks s"},
               {"spares"},
               {"MWh"},
               {"not possible", Align::left}},
              {}};
  for (std::size_t i = 0; i < a.offers.size(); ++i) {
    const Offer& o = a.offers[i];
    if (!o.problem.empty()) {
      std::vector<std::string> row(table.columns.size());
      row[1] = o.cluster;
      row[2] = std::to_string(o.gpus);
      row.back() = o.problem;
      table.rows.push_back(std::move(row));
      continue;
    }
    const Booking& b = o.booking;
    const bool front = std::ranges::find(a.choice.front, i) != a.choice.front.end();
    const auto number = [](double value, int digits) {
      return fmt::format("{:.{}f}", value, digits);
    };
    table.rows.push_back({front ? "front" : "",
                          o.cluster,
                          std::to_string(o.gpus),
                          std::to_string(b.placement.paid_gpus),
                          number(b.finish.p50.base() / kDay, 1),
                          number(b.finish.p90.base() / kDay, 1),
                          three_digits(b.dollars_p50 / 1e6),
                          three_digits(b.dollars_p90 / 1e6),
                          number(o.job.step.base(), 3),
                          summary(o.job.plan),
                          three_digits(b.gpu_hours_p50 / 1e6),
                          number(100 * o.job.mfu_of_precision, 1),
                          number(100 * o.job.mfu, 1),
                          number(100 * b.goodput, 1),
                          number(b.failures, 1),
                          number(b.mtbf.base() / kHour, 1),
                          number(b.save.checkpoint.base() / 1e12, 2),
                          number(b.save.interval_steps * run_step(o.job).base() / 60, 1),
                          number(b.save.stall.base(), 1),
                          spares_text(b.placement, o.gpus),
                          number(b.energy_mwh, 0),
                          ""});
  }
  return table;
}

Table rates_table(const CapacityAnswer& a) {
  Table table{{{"cluster", Align::left},
               {"input", Align::left},
               {"value"},
               {"unit", Align::left},
               {"as of", Align::left},
               {"known", Align::left},
               {"source", Align::left}},
              {}};
  std::vector<std::string> seen;
  for (const Offer& o : a.offers) {
    if (std::ranges::find(seen, o.cluster) != seen.end()) continue;
    seen.push_back(o.cluster);
    for (std::size_t i = 0; i < kRates; ++i) {
      const Rate rate = static_cast<Rate>(i);
      const auto& value = o.rates.find(rate);
      if (!value) continue;
      table.rows.push_back({o.cluster, facts_of(rate).key, fmt::format("{}", value->value),
                            facts_of(rate).unit, value->as_of,
                            value->assumption ? "assumed" : "sourced", value->source});
    }
  }
  return table;
}

}  // namespace pleat::cli
