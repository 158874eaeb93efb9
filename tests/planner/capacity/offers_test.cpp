// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Choosing between offers, what misses the goals, sensitivity; amounts and rates as text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/diagnostics.hpp"
#include "planner/capacity/amounts.hpp"
#include "planner/capacity/answer.hpp"
#include "tests/planner/capacity/capacity_case.hpp"
#include "tests/planner/search/small_case.hpp"

namespace pleat {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Offer made(double days, double dollars) {
  Offer o;
  o.booking.finish.p50 = o.booking.finish.p90 = Seconds(days * 86'400);
  o.booking.dollars_p50 = o.booking.dollars_p90 = dollars;
  return o;
}

TEST(Offers, CheapestFastestAndFront) {
  std::vector<Offer> offers{made(60, 10), made(30, 14), made(20, 30), made(30, 16), made(90, 10)};
  offers.push_back(made(1, 1));
  offers.back().problem = "not this one";
  const Choice c = choose(offers, {.deadline = Seconds(45 * 86'400)});
  EXPECT_EQ(c.cheapest, 1u);
  EXPECT_EQ(c.fastest, 2u);
  EXPECT_THAT(c.front, ElementsAre(2, 1, 0));
  EXPECT_EQ(choose(offers, {.budget = 15}).fastest, 1u);
  EXPECT_FALSE(choose(offers, {.budget = 9}).cheapest.has_value());
  EXPECT_FALSE(
      choose(offers, {.deadline = Seconds(25 * 86'400), .budget = 20}).fastest.has_value());
}

TEST(Offers, OfOneSizeTheCheaperBookingInTime) {
  const auto days = [](const Goal& goal, Offer fastest, Offer filled) {
    return better_of(std::move(fastest), std::move(filled), goal).booking.finish.p50.base() /
           86'400;
  };
  const Goal month{.deadline = Seconds(30 * 86'400)};
  EXPECT_EQ(days(month, made(20, 30), made(25, 20)), 25);
  EXPECT_EQ(days(month, made(20, 30), made(25, 31)), 20);
  EXPECT_EQ(days(month, made(20, 30), made(31, 20)), 20);
  EXPECT_EQ(days({.budget = 40}, made(20, 30), made(25, 20)), 20);
  EXPECT_EQ(days({.budget = 25}, made(20, 30), made(25, 20)), 25);
  Offer none = made(1, 1);
  none.problem = "not this one";
  EXPECT_EQ(days(month, none, made(31, 20)), 31);
  EXPECT_EQ(days(month, made(31, 20), none), 31);
}

TEST(Offers, MoreBudgetIsNeverSlowerAndMoreTimeNeverDearer) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> any(1, 100);
  std::vector<Offer> offers;
  for (int i = 0; i < 200; ++i) offers.push_back(made(any(random), any(random)));
  double time = 1e9, dollars = 1e9;
  for (double goal = 1; goal < 100; goal += 0.5) {
    if (const auto i = choose(offers, {.budget = goal}).fastest) {
      EXPECT_LE(offers[*i].booking.finish.p90.base(), time);
      time = offers[*i].booking.finish.p90.base();
    }
    if (const auto i = choose(offers, {.deadline = Seconds(goal * 86'400)}).cheapest) {
      EXPECT_LE(offers[*i].booking.dollars_p90, dollars);
      dollars = offers[*i].booking.dollars_p90;
    }
  }
  EXPECT_LT(time, 10 * 86'400);
  EXPECT_LT(dollars, 10);
}

bool offers_equal_to_a_listed(const std::vector<Offer>& offers,
                              const std::vector<std::size_t>& front, std::size_t i) {
  return std::ranges::any_of(front, [&](std::size_t j) {
    return offers[j].booking.finish.p90 == offers[i].booking.finish.p90 &&
           offers[j].booking.dollars_p90 == offers[i].booking.dollars_p90;
  });
}

TEST(Offers, NoOfferBeatsOneOnTheFront) {
  std::mt19937_64 random(4);
  std::uniform_int_distribution<int> any(1, 40);  // with ties
  std::vector<Offer> offers;
  for (int i = 0; i < 300; ++i) offers.push_back(made(any(random), any(random)));
  const std::vector<std::size_t> front = choose(offers, {}).front;
  const auto beats = [](const Offer& a, const Offer& b) {
    const bool as_good = a.booking.finish.p90 <= b.booking.finish.p90 &&
                         a.booking.dollars_p90 <= b.booking.dollars_p90;
    const bool better = a.booking.finish.p90 < b.booking.finish.p90 ||
                        a.booking.dollars_p90 < b.booking.dollars_p90;
    return as_good && better;
  };
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const bool beaten =
        std::ranges::any_of(offers, [&](const Offer& o) { return beats(o, offers[i]); });
    const bool listed = std::ranges::find(front, i) != front.end();
    EXPECT_FALSE(listed && beaten) << i;
    EXPECT_TRUE(listed || beaten || offers_equal_to_a_listed(offers, front, i)) << i;
  }
  ASSERT_FALSE(front.empty());
}

TEST(Misses, SayByHowMuchAndWhatWouldDo) {
  const std::vector<Offer> offers{round_offer(round_job(), 4e12)};
  const Booking& b = offers.front().booking;
  const Goal goal{.deadline = b.finish.p90 * 0.8};
  const std::vector<Miss> misses = misses_of(offers, {}, goal, 4e12);
  ASSERT_EQ(misses.size(), 1u);
  EXPECT_THAT(misses.front().what, HasSubstr("1024 x round, takes " + days_text(b.finish.p90) +
                                             ", " + days_text(b.finish.p90 * 0.2) + " too long"));
  ASSERT_EQ(misses.front().changes.size(), 2u);
  EXPECT_THAT(misses.front().changes[1], HasSubstr("tokens instead of 4T"));
  // What is proposed does hold, and hardly more would not.
  const double tokens = tokens_within(offers.front(), goal);
  EXPECT_LE(book(round_job(), round_rates(), tokens).finish.p90, *goal.deadline);
  EXPECT_GT(book(round_job(), round_rates(), tokens * 1.001).finish.p90, *goal.deadline);
}

TEST(Misses, BudgetAndBoth) {
  const std::vector<Offer> offers{round_offer(round_job(1024), 4e12),
                                  round_offer(round_job(2048), 4e12)};  // same step: dearer
  const double dollars = offers[0].booking.dollars_p90;
  const std::vector<Miss> misses = misses_of(offers, {}, {.budget = dollars / 3}, 4e12);
  ASSERT_EQ(misses.size(), 1u);
  EXPECT_THAT(misses[0].what, HasSubstr("the cheapest offer, 1024 x round, costs"));
  ASSERT_EQ(misses[0].changes.size(), 3u);
  EXPECT_THAT(misses[0].changes[1],
              HasSubstr("a price of 0.666 USD per GPU-hour instead of 2.000"));
  EXPECT_TRUE(misses_of({}, {}, {.budget = 1}, 4e12).empty());
}

TEST(Sensitivity, PriceAndMfu) {
  const Offer o = round_offer(round_job(), 4e12);
  std::vector<std::string> repriced;
  const std::vector<StepInput> inputs = step_inputs(small_model(), small_cluster());
  const auto swings =
      sensitivity(o, Confidence::p90, inputs, [&](const StepInput& input, double factor) {
        EXPECT_NEAR(std::abs(factor - 1), 0.2, 1e-12);
        repriced.push_back(input.name);
        return o.job.step;
      });
  EXPECT_THAT(repriced, ElementsAre("link bandwidth", "link bandwidth", "net bandwidth",
                                    "net bandwidth", "memory bandwidth", "memory bandwidth",
                                    "matrix product rate", "matrix product rate", "host time",
                                    "host time", "expert imbalance", "expert imbalance"));
  EXPECT_EQ(swings[0].input, "MFU");
  EXPECT_NEAR(swings[0].time_less / o.booking.finish.p90, 1.25, 0.01);
  EXPECT_NEAR(swings[0].time_more / o.booking.finish.p90, 1 / 1.2, 0.01);
  EXPECT_EQ(swings[1].input, "price");
  EXPECT_EQ(swings[1].time_less, swings[1].time_more);
  EXPECT_NEAR(swings[1].dollars_less / o.booking.dollars_p90, 0.8, 1e-12);
  EXPECT_NEAR(swings[1].effect, 0.4, 1e-12);
  for (std::size_t i = 1; i < swings.size(); ++i) EXPECT_GE(swings[i - 1].effect, swings[i].effect);
}

TEST(Amounts, ReadAndWritten) {
  EXPECT_EQ(parse_count("15T").value, 15e12);
  EXPECT_EQ(parse_count("1.5e3").value, 1500);
  EXPECT_EQ(parse_count(" 3 k ").value, 3000);
  EXPECT_EQ(parse_dollars("$2.5").value, 2.5);
  EXPECT_EQ(parse_dollars("2.5$").value, 2.5);
  EXPECT_EQ(parse_dollars("20M USD").value, 20e6);
  EXPECT_EQ(parse_duration("60d").value, 60 * 86'400.0);
  EXPECT_EQ(parse_duration("1.5 h").value, 5400);
  EXPECT_EQ(parse_duration("60").problem, "\"60\" has no unit");
  EXPECT_EQ(parse_duration("60m").problem, "\"60m\" has the unknown unit \"m\"");
  EXPECT_EQ(parse_count("nan").problem, "\"nan\" is not a number");
  EXPECT_EQ(parse_count("").problem, "\"\" is not a number");
  EXPECT_EQ(parse_count("0T").problem, "\"0T\" is not above 0");
  EXPECT_EQ(parse_count("-1").problem, "\"-1\" is not above 0");
  EXPECT_EQ(parse_count("1e999").problem, "\"1e999\" is not a number");
  EXPECT_EQ(amount_text(14.9e12), "14.9T");
  EXPECT_EQ(amount_text(0.5), "0.5");
  EXPECT_EQ(dollars_text(18'432'100), "18.43M USD");
  EXPECT_EQ(days_text(Seconds(129'600)), "1.50 days");
  EXPECT_DOUBLE_EQ(round_down(12'678, 3), 12'600);
  EXPECT_DOUBLE_EQ(round_down(-12'678, 3), -12'700);
}

TEST(Rates, ReadLaidOverAndRefused) {
  const RateFile base = read_rates(
      R"({"schema_version": 1, "name": "base", "defaults": {"pue": 1.3, "restart_minutes": 9},
          "clusters": {"a": {"pue": {"value": 1.1, "source": "s", "as_of": "2026-02",
                                     "assumption": true}}}})",
      "base.json");
  const RateFile own = read_rates(
      R"({"schema_version": 1, "name": "own", "defaults": {"restart_minutes": 4}})", "own.json");
  const Rates a = rates_of({base, own}, "a"), b = rates_of({base, own}, "b");
  EXPECT_EQ(*a.find(Rate::pue), (RateValue{1.1, "s", "2026-02", true}));
  EXPECT_EQ(*b.find(Rate::pue), (RateValue{1.3, "base.json", "", false}));
  EXPECT_EQ(a.at(Rate::restart), 4);
  EXPECT_FALSE(a.find(Rate::price).has_value());
  try {
    static_cast<void>(read_rates(
        R"({"schema_version": 1, "name": "x", "defaults": {"pue": 9, "peu": 1},
            "clusters": {"a": {"booked_gpus": 2.5, "price_usd_per_gpu_hour": "2$"}}})",
        "x.json"));
    FAIL();
  } catch (const ConfigError& e) {
    EXPECT_EQ(e.exit_code(), ExitCode::bad_file);
    EXPECT_THAT(e.what(), HasSubstr("defaults.pue: must be a number from 1 to 3"));
    EXPECT_THAT(e.what(), HasSubstr("defaults.peu: unknown field; did you mean pue?"));
    EXPECT_THAT(e.what(), HasSubstr("clusters.a.booked_gpus: must be a whole number from 1 to"));
    EXPECT_THAT(e.what(), HasSubstr("clusters.a.price_usd_per_gpu_hour"));
  }
}

TEST(CapacityCsv, NoFormulasAndAFieldForEachTitle) {
  CapacityAnswer answer;
  answer.offers.push_back(round_offer(round_job(), 4e12));
  answer.offers.front().cluster = "=cmd()";
  answer.offers.push_back(made(1, 1));
  answer.offers.back().problem = "a \"reason\"\nof two lines";
  const std::string text = capacity_csv(answer);
  EXPECT_THAT(text, HasSubstr("\n\"'=cmd()\",1024,"));
  EXPECT_THAT(text, HasSubstr("\"a \"\"reason\"\" of two lines\"\n"));
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_EQ(std::count(text.begin() + static_cast<std::ptrdiff_t>(begin),
                         text.begin() + static_cast<std::ptrdiff_t>(end), ','),
              24);
    begin = end + 1;
  }
}

}  // namespace
}  // namespace pleat
