// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the page of a capacity answer shows, read back out of its figures.
#include "cli/report/html/capacity_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/json/parse.hpp"
#include "tests/planner/capacity/capacity_case.hpp"

namespace pleat::cli {
namespace {

using namespace test;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Offer named(const std::string& cluster, int gpus, double step) {
  Job job = round_job(gpus);
  job.cluster = cluster;
  job.step = Seconds(step);
  return round_offer(job, 4e12);
}

// Two clusters; the second offer of the first is not on the front, the last cannot be run.
CapacityAnswer two_clusters() {
  CapacityAnswer a;
  a.model = "a <model>";
  a.tokens = 4e12;
  a.offers = {named("one", 1024, 10), named("one", 2048, 9), named("two", 1024, 8),
              named("two", 2048, 5)};
  a.offers.push_back(a.offers.back());
  a.offers.back().gpus = 8;
  a.offers.back().problem = "no plan fits";
  a.goal.deadline = Seconds(86'400 * 100.0);
  a.goal.budget = 20e6;
  a.choice = choose(a.offers, a.goal);
  a.explained = a.choice.cheapest;
  const Offer& o = a.offers[2];
  const Seconds t = o.booking.finish.p90;
  const double d = o.booking.dollars_p90;
  a.swings = {{"price", t, t, 0.8 * d, 1.2 * d, 0.4},
              {"MFU", t * 1.25, t * 0.8, 1.25 * d, 0.8 * d, 0.45},
              {"MTBF", Seconds(INFINITY), t, INFINITY, d, INFINITY}};
  return a;
}

JsonValue figure(const std::string& page, int index) {
  const std::string from = "id=\"chart" + std::to_string(index) + "-figure\">";
  const std::size_t begin = page.find(from) + from.size();
  return parse_json(page.substr(begin, page.find("</script>", begin) - begin), "figure");
}

const JsonValue* trace(const JsonValue& figure, const std::string& name) {
  for (const JsonValue& t : figure.find("data")->items()) {
    if (*t.find("name")->as_string() == name) return &t;
  }
  return nullptr;
}

std::vector<double> numbers(const JsonValue* trace, const char* key) {
  std::vector<double> list;
  for (const JsonValue& v : trace->find(key)->items()) {
    list.push_back(v.as_double() != nullptr ? *v.as_double()
                                            : static_cast<double>(*v.as_integer()));
  }
  return list;
}

TEST(CapacityPage, EveryOfferIsAPointAndTheGoalsAreLines) {
  const CapacityAnswer a = two_clusters();
  const JsonValue chart = figure(capacity_page(a, "m", "").finish({}), 0);
  const Offer& o = a.offers[1];
  const JsonValue* one = trace(chart, "one");
  ASSERT_NE(one, nullptr);
  EXPECT_THAT(numbers(one, "x")[1], DoubleNear(o.booking.finish.p90.base() / 86'400, 1e-9));
  EXPECT_THAT(numbers(one, "y")[1], DoubleNear(o.booking.dollars_p90 / 1e6, 1e-9));
  EXPECT_EQ(numbers(trace(chart, "two"), "x").size(), 2u);
  EXPECT_EQ(numbers(trace(chart, "front"), "x").size(), a.choice.front.size());
  EXPECT_THAT(numbers(trace(chart, "deadline, 100 days"), "x"), ElementsAre(100, 100));
  EXPECT_THAT(numbers(trace(chart, "budget, 20M USD"), "y"), ElementsAre(20, 20));
  EXPECT_EQ(*trace(chart, "budget, 20M USD")->find("mode")->as_string(), "lines");
  const Offer& cheapest = a.offers[*a.choice.cheapest];
  EXPECT_THAT(numbers(trace(chart, "cheapest in time"), "y"),
              ElementsAre(DoubleNear(cheapest.booking.dollars_p90 / 1e6, 1e-9)));
}

TEST(CapacityPage, TornadosLeaveOutWhatDoesNotMoveAndSayWhatCannotBeRun) {
  const std::string page = capacity_page(two_clusters(), "m", "").finish({});
  const JsonValue days = figure(page, 1), dollars = figure(page, 2);
  const auto names = [](const JsonValue& chart) {
    std::vector<std::string> list;
    for (const JsonValue& v : chart.find("data")->items().front().find("y")->items()) {
      list.push_back(*v.as_string());
    }
    return list;
  };
  EXPECT_THAT(names(days), ElementsAre("MFU"));
  EXPECT_THAT(names(dollars), ElementsAre("MFU", "price"));
  EXPECT_THAT(page, HasSubstr("With a fifth less it could not be run at all: MTBF."));
}

TEST(CapacityPage, TheTableHasEveryOffer) {
  const std::string page = capacity_page(two_clusters(), "m", "assumed: nothing").finish({});
  EXPECT_THAT(page, HasSubstr("<td class=\"l\">no plan fits</td>"));
  EXPECT_THAT(page, HasSubstr("a &lt;model&gt;"));
  EXPECT_THAT(page, HasSubstr("Cheapest that meets the deadline: "));
  EXPECT_THAT(page, HasSubstr("Fastest within the budget: 2048 x two"));
  EXPECT_THAT(page, HasSubstr("<p>assumed: nothing</p>"));
  EXPECT_THAT(page, Not(HasSubstr("Interrupted")));
}

TEST(CapacityPage, SlidersHaveDaysAtEveryLoadAndNumberOfTokens) {
  CapacityAnswer a = two_clusters();
  EXPECT_THAT(capacity_page(a, "m", "").finish({}), Not(HasSubstr("what-if-data")));
  WhatIf& asked = a.what_if.emplace();
  asked.tokens = {0.5, 1, 2};
  asked.imbalance = {1, 2};
  for (std::size_t i = 0; i < 4; ++i) {
    asked.offers.push_back(what_if(asked, i, a.offers[i], [&](double factor) {
      return StepAtLoad{a.offers[i].job.step * factor, i != 1};
    }));
  }
  const std::string page = capacity_page(a, "m", "").finish({});
  const std::string from = "id=\"what-if-data\">";
  const std::size_t begin = page.find(from) + from.size();
  const JsonValue json =
      parse_json(page.substr(begin, page.find("</script>", begin) - begin), "data");
  const auto& offers = json.find("offers")->items();
  ASSERT_EQ(offers.size(), 4u);
  const auto days = [&](std::size_t offer, std::size_t load, std::size_t tokens) {
    return *offers[offer].find("days")->items().at(load).items().at(tokens).as_double();
  };
  const auto p90 = [](const Offer& o) { return o.booking.finish.p90.base() / 86'400; };
  EXPECT_DOUBLE_EQ(days(2, 0, 1), p90(a.offers[2]));
  EXPECT_DOUBLE_EQ(days(2, 0, 2), p90(round_offer(a.offers[2].job, 8e12)));
  Job loaded = a.offers[3].job;
  loaded.step *= 2;
  EXPECT_DOUBLE_EQ(days(3, 1, 0), p90(round_offer(loaded, 2e12)));
  EXPECT_FALSE(*offers[1].find("fits")->items()[1].as_bool());
  EXPECT_EQ(*offers[3].find("cluster")->as_integer(), 1);
  EXPECT_EQ(*json.find("clusters")->items()[1].find("name")->as_string(), "two");
}

TEST(CapacityPage, TheRecommendedOffersHaveTheirCommands) {
  CapacityAnswer a = two_clusters();
  for (Offer& o : a.offers) o.cluster_words = "own/two.json";
  const std::string page = capacity_page(a, "my model.json", "").finish({});
  EXPECT_THAT(page, HasSubstr("<pre class=\"command\">pleat plan --model 'my model.json' "
                              "--cluster own/two.json --gpus 1024 "));
  EXPECT_THAT(page, HasSubstr("--out plan.json\npleat export --to megatron plan.json -o train.sh"));
}

TEST(CapacityPage, WithoutAnythingThatCanBeRunThereAreNoCharts) {
  CapacityAnswer a = two_clusters();
  a.offers = {a.offers.back()};
  a.choice = {};
  a.explained.reset();
  a.swings.clear();
  const std::string page = capacity_page(a, "m", "").finish({});
  EXPECT_THAT(page, HasSubstr("nothing can be run: no offer has a plan"));
  EXPECT_THAT(page, HasSubstr("no plan fits"));
  EXPECT_THAT(page, Not(HasSubstr("class=\"chart\"")));
  a.complete = false;
  EXPECT_THAT(capacity_page(a, "m", "").finish({}), HasSubstr("Interrupted: offers are missing."));
}

}  // namespace
}  // namespace pleat::cli
