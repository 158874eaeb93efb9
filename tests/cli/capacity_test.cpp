// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat capacity as a user meets it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "core/json/parse.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

// A small model on few GPUs: seconds.
Said small(const Words& more) {
  return run_pleat(Words{"capacity", "--model", "gpt-1.7b", "--clusters", "h100-sxm", "--gpus",
                         "8..16", "--tokens", "100B", "--seq-len", "2048", "--global-batch",
                         "512"} +
                   more);
}

// One wrong thing each; the rest is right.
Said wrong(const Words& more) {
  return run_pleat(Words{"capacity", "--model", "gpt-1.7b", "--clusters", "h100-sxm,gb300-nvl72"} +
                   more);
}

double offer_number(const JsonValue& object, const char* key) {
  const JsonValue* value = object.find(key);
  if (value == nullptr) return NAN;
  if (const double* d = value->as_double()) return *d;
  return value->as_integer() != nullptr ? static_cast<double>(*value->as_integer()) : NAN;
}

TEST(Capacity, MoreTokensThanAnyJob) {
  for (const char* tokens : {"1e30", "1e19"}) {
    const Said run = wrong({"--tokens", tokens, "--deadline", "60d"});
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err, HasSubstr(std::string("--tokens: ") + tokens +
                                   " is not in the range of 1 to 1e+18"));
    EXPECT_EQ(run.out, "");
  }
}

TEST(Capacity, TheLastNodeMayBeUsedInPart) {
  const Said run = run_pleat({"capacity", "--model", "gpt-1.7b", "--clusters", "h100-sxm", "--gpus",
                              "20", "--tokens", "100B", "--deadline", "900d", "--seq-len", "2048",
                              "--global-batch", "480", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const JsonValue json = parse_json(run.out, "stdout");
  const JsonValue& booking = *json.find("offers")->items().front().find("booking");
  const JsonValue& booked = *booking.find("placement");
  EXPECT_EQ(offer_number(booked, "domains"), 3);  // not 4 with 5 of each
  EXPECT_EQ(offer_number(booked, "used_of_each_domain"), 8);
  EXPECT_EQ(offer_number(booked, "used_of_last_domain"), 4);
  EXPECT_EQ(offer_number(booked, "paid_gpus"), 32);  // a spare node
  // Nearly with the layout that `plan` gives it, which polishes those of its five best plans.
  const Said plan = run_pleat({"plan", "--model", "gpt-1.7b", "--cluster", "h100-sxm", "--gpus",
                               "20", "--seq-len", "2048", "--global-batch", "480", "--pp",
                               "5,10,20", "--top", "1", "--neighbours", "0", "--json"});
  const JsonValue found = parse_json(plan.out, "stdout");
  const double best = offer_number(found.find("best")->items().front(), "step_s");
  EXPECT_GE(offer_number(booking, "step_s"), best);
  EXPECT_NEAR(offer_number(booking, "step_s"), best, 0.005 * best);
  EXPECT_THAT(run_pleat({"capacity", "--model", "gpt-1.7b", "--clusters", "h100-sxm", "--gpus",
                         "20", "--tokens", "100B", "--deadline", "900d", "--seq-len", "2048",
                         "--global-batch", "480"})
                  .out,
              HasSubstr("32 GPUs in 3 domains of 8 (8 used of each, 4 of the last)"));
}

// The fastest plan exchanges tokens in a way whose time is little known. At P90 a slower plan ends
// sooner.
TEST(Capacity, ThePlanIsTheBestAtTheConfidenceAskedFor) {
  const auto booked = [](const char* confidence) {
    const Said run = run_pleat({"capacity", "--model", "qwen3-30b-a3b", "--clusters", "b200",
                                "--gpus", "16", "--tokens", "100B", "--global-batch", "256",
                                "--precision", "mxfp8", "--confidence", confidence, "--json"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    const JsonValue json = parse_json(run.out, "stdout");
    const JsonValue& booking = *json.find("offers")->items().front().find("booking");
    return std::pair(offer_number(booking, "step_s"), offer_number(booking, "run_step_p90_s"));
  };
  const auto [p50_step, p50_late] = booked("p50");
  const auto [p90_step, p90_late] = booked("p90");
  EXPECT_LT(p50_step, p90_step);
  EXPECT_LT(p90_late, 0.97 * p50_late);
}

// 512 sequences are not shared out by 12 GPUs; 8 of them may be the better job.
TEST(Capacity, ANamedSizeThatSuitsTheBatchBadlyComesWithASmallerOne) {
  const Said run = run_pleat({"capacity", "--model", "gpt-1.7b", "--clusters", "h100-sxm", "--gpus",
                              "12", "--tokens", "100B", "--deadline", "900d", "--seq-len", "2048",
                              "--global-batch", "512", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const JsonValue json = parse_json(run.out, "stdout");
  std::vector<double> gpus;
  for (const JsonValue& o : json.find("offers")->items()) gpus.push_back(offer_number(o, "gpus"));
  EXPECT_EQ(gpus, (std::vector<double>{8, 12}));
}

// The shortest question there is: on what most jobs are booked, for two months.
TEST(Capacity, OfAModelAndTokensAlone) {
  const Said run = run_pleat({"capacity", "-m", "gpt-1.7b", "-t", "300B"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("cheapest that meets the deadline: "));
  EXPECT_THAT(run.out, HasSubstr("gb200-nvl72"));
  EXPECT_THAT(run.out, HasSubstr("--clusters h100-sxm,gb200-nvl72"));
  EXPECT_THAT(run.out, HasSubstr("--deadline 60d"));
}

TEST(Capacity, BadAmounts) {
  const Said nothing = run_pleat({"capacity"});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("error: --model: is required"));
  EXPECT_THAT(nothing.err,
              HasSubstr("error: --tokens: is required\n  hint: a number with k, M, B or T"));
  const Said units = wrong({"--tokens", "15X", "--deadline", "60", "--budget", "2.5%"});
  EXPECT_EQ(units.exit_code, 2);
  EXPECT_THAT(units.err, HasSubstr("error: --tokens: \"15X\" has the unknown unit \"X\"\n"));
  EXPECT_THAT(units.err,
              HasSubstr("error: --deadline: \"60\" has no unit\n  hint: a number with h, d, "
                        "w or mo, for example 60d"));
  EXPECT_THAT(units.err, HasSubstr("error: --budget: \"2.5%\" has the unknown unit \"%\""));
  EXPECT_EQ(units.out, "");
}

TEST(Capacity, BadSizesAndClusters) {
  const Words job{"--tokens", "1T", "--deadline", "60d"};
  const Said empty = wrong(job + Words{"--gpus", "512..256"});
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_THAT(empty.err,
              HasSubstr("error: --gpus: the range 512..256 is empty\n  hint: --gpus 256..512"));
  const Said none = wrong(job + Words{"--gpus", "300..500"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("error: --gpus: no size of h100-sxm is in the range 300..500"));
  const Said word = wrong(job + Words{"--gpus", "many"});
  EXPECT_EQ(word.exit_code, 2);
  EXPECT_THAT(word.err, HasSubstr("\"many\" is not a whole number from 1 to 16777216"));
  const Said steps = wrong(job + Words{"--gpus", "1..100000", "--gpu-step", "1"});
  EXPECT_EQ(steps.exit_code, 2);
  EXPECT_THAT(steps.err, HasSubstr("--gpu-step: makes more than 512 sizes"));
  const Said cluster =
      run_pleat(Words{"capacity", "--model", "gpt-1.7b", "--clusters", "h100-smx"} + job);
  EXPECT_EQ(cluster.exit_code, 2);
  EXPECT_THAT(
      cluster.err,
      HasSubstr("error: --clusters: no cluster named \"h100-smx\"; did you mean h100-sxm?"));
}

TEST(Capacity, BadRates) {
  const Words job{"--tokens", "1T", "--deadline", "60d"};
  const Said rates = wrong(job + Words{"--price", "b200=3", "--mtbf", "-5", "--rate",
                                       "restart_minute=3,gb300-nvl72:pue=9,repair_hours=soon"});
  EXPECT_EQ(rates.exit_code, 2);
  EXPECT_THAT(rates.err, HasSubstr("error: --price: b200 is not among the clusters\n  hint: one of "
                                   "h100-sxm, gb300-nvl72"));
  EXPECT_THAT(rates.err, HasSubstr("error: --mtbf: \"-5\" is not above 0"));
  EXPECT_THAT(rates.err,
              HasSubstr("no rate is named \"restart_minute\"; did you mean restart_minutes?"));
  EXPECT_THAT(rates.err, HasSubstr("error: --rate: pue must be a number from 1 to 3"));
  EXPECT_THAT(rates.err, HasSubstr("repair_hours: \"soon\" is not a number"));
  const Said price =
      run_pleat(Words{"capacity", "--model", "gpt-1.7b", "--clusters", "localhost"} + job);
  EXPECT_EQ(price.exit_code, 2);
  EXPECT_THAT(price.err,
              HasSubstr("localhost has no price_usd_per_gpu_hour\n  hint: --price localhost=2.5$"));
  // A cluster of one's own: the price of its GPU, said.
  const std::string own = test_folder() + "/mine.json";
  write_text(own, R"({"schema_version": 1, "name": "mine", "gpu": "h100-sxm", "gpus_per_node": 8,
    "tiers": [{"name": "nvlink", "size": 8, "bandwidth": "450 GB/s", "latency": "2 us"},
              {"name": "roce", "size": 0, "bandwidth": "200 Gbit/s", "latency": "6 us"}]})");
  const Said mine = run_pleat({"capacity", "--model", "gpt-1.7b", "--clusters", own, "--gpus", "8",
                               "--tokens", "100B", "--deadline", "90d", "--seq-len", "2048",
                               "--global-batch", "512"});
  EXPECT_EQ(mine.exit_code, 0) << mine.err;
  EXPECT_THAT(mine.out, HasSubstr("prices on demand as of 2026; assumed: mine"));
  EXPECT_THAT(mine.out, HasSubstr("mine: 2.95 USD per GPU-hour, assumption: as h100-sxm: Nebius"));
  EXPECT_THAT(mine.out, HasSubstr("--cluster " + own));
  const std::string file = test_folder() + "/rates.json";
  write_text(file, R"({"schema_version": 1, "name": "mine", "defaults": {"pue": 0.5}})");
  const Said in_file = wrong(job + Words{"--rates", file});
  EXPECT_EQ(in_file.exit_code, 3);
  EXPECT_THAT(in_file.err, HasSubstr("defaults.pue: must be a number from 1 to 3"));
}

TEST(Capacity, BadRules) {
  const Words job{"--tokens", "1T", "--deadline", "60d"};
  EXPECT_THAT(wrong(job + Words{"--batch-rule", "critical"}).err,
              HasSubstr("--critical-batch: is required by --batch-rule critical"));
  EXPECT_THAT(wrong(job + Words{"--critical-batch", "1M"}).err,
              HasSubstr("--critical-batch: is without effect under --batch-rule constant"));
  EXPECT_THAT(wrong(job + Words{"--confidence", "p99"}).err,
              HasSubstr("\"p99\" is none\n  hint: p50 or p90"));
  EXPECT_EQ(wrong(job + Words{"--json", "--csv"}).exit_code, 2);
}

TEST(Capacity, JsonAddsUpAndAnswers) {
  const Said run = small({"--deadline", "90d", "--budget", "1M", "--json", "--price", "2$"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const JsonValue json = parse_json(run.out, "stdout");
  EXPECT_EQ(*json.find("complete")->as_bool(), true);
  const JsonValue::Array& offers = json.find("offers")->items();
  ASSERT_EQ(offers.size(), 2u);
  for (const JsonValue& offer : offers) {
    ASSERT_TRUE(offer.find("problem")->is_null()) << run.out;
    const JsonValue& booking = *offer.find("booking");
    const JsonValue& paid = *booking.find("paid_gpu_hours");
    double sum = 0;
    for (const char* part : {"useful", "checkpoint", "lost", "restart", "waiting", "idle"}) {
      sum += offer_number(paid, part);
    }
    EXPECT_NEAR(sum / offer_number(paid, "paid"), 1, 1e-9);
    EXPECT_NEAR(offer_number(*booking.find("dollars"), "p50"),
                2 * offer_number(*booking.find("gpu_hours"), "p50"), 1e-6 * sum);
    EXPECT_LT(offer_number(*booking.find("days"), "p50"),
              offer_number(*booking.find("days"), "p90"));
  }
  EXPECT_EQ(offer_number(json, "fastest"), 1);
  EXPECT_GE(json.find("sensitivity")->find("inputs")->items().size(), 8u);
  EXPECT_EQ(run.out, small({"--deadline", "90d", "--budget", "1M", "--json", "--price", "2$",
                            "--threads", "1"})
                         .out);
}

// A large search is short unless it is to prove its plan; a small one ends by itself.
TEST(Capacity, SaysWhichPlansAreProven) {
  const auto searched = [](const std::string& model, const Words& more) {
    return run_pleat(Words{"capacity", "--model", model, "--clusters", "h800-sxm", "--gpus", "64",
                           "--tokens", "100B", "--deadline", "900d", "--global-batch", "1024",
                           "--price", "2$"} +
                     more);
  };
  const auto booking = [&](const std::string& model, const Words& more) {
    const Said run = searched(model, more + Words{"--json"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return *parse_json(run.out, "stdout").find("offers")->items().front().find("booking");
  };
  const char* const note = "Plans of a short search: 1 of 1,";
  const JsonValue brief = booking("qwen3-30b-a3b", {});
  const JsonValue whole = booking("qwen3-30b-a3b", {"--proven"});
  EXPECT_FALSE(*brief.find("proven")->as_bool());
  EXPECT_TRUE(*whole.find("proven")->as_bool());
  EXPECT_GE(offer_number(brief, "step_s"), offer_number(whole, "step_s"));
  EXPECT_LE(offer_number(brief, "step_s"), 1.03 * offer_number(whole, "step_s"));
  EXPECT_THAT(searched("qwen3-30b-a3b", {}).out, HasSubstr(note));
  EXPECT_TRUE(*booking("gpt-1.7b", {}).find("proven")->as_bool());
  EXPECT_THAT(searched("gpt-1.7b", {}).out, Not(HasSubstr(note)));
}

TEST(Capacity, TuningSlowsRunsAndIsSaid) {
  double p50 = 0, p90 = 0;
  for (const char* word : {"best", "untuned"}) {
    const Said run = small({"--deadline", "900d", "--json", "--tuning", word});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const JsonValue json = parse_json(run.out, "stdout");
    EXPECT_EQ(*json.find("tuning")->find("word")->as_string(), word);
    const JsonValue& booking = *json.find("offers")->items().front().find("booking");
    EXPECT_NEAR(offer_number(booking, "run_step_s"),
                offer_number(booking, "step_s") * offer_number(*json.find("tuning"), "median"),
                1e-9);
    const JsonValue& days = *booking.find("days");
    EXPECT_GT(offer_number(days, "p50"), 1.3 * p50);
    EXPECT_GT(offer_number(days, "p90"), 2 * p90);
    p50 = offer_number(days, "p50");
    p90 = offer_number(days, "p90");
    EXPECT_EQ(*json.find("price_basis")->find("text")->as_string(),
              "prices on demand as of 2026");
  }
  const Said none = wrong({"--tokens", "1T", "--tuning", "good"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("--tuning: "));
  EXPECT_THAT(none.err, HasSubstr("untuned"));
}

TEST(Capacity, ExpertsAreNotLoadedAlikeUnlessItIsSaid) {
  const Words question{"capacity", "--model", "olmoe-1b-7b", "--clusters", "h100-sxm", "--gpus",
                       "8", "--tokens", "100B", "--global-batch", "64", "--deadline", "900d",
                       "--precision", "bf16"};
  const Said usual = run_pleat(question);
  ASSERT_EQ(usual.exit_code, 0) << usual.err;
  EXPECT_THAT(usual.out, HasSubstr("--routing aux-loss,"));                // assumed
  EXPECT_THAT(usual.out, HasSubstr("--precision bf16 --routing aux-loss"));  // of its plan
  EXPECT_THAT(run_pleat(question + Words{"--routing", "balanced"}).out,
              Not(HasSubstr("aux-loss")));
}

// At a terminal: a table at once, replaced by better ones, and at the end the answer alone.
TEST(Capacity, ATerminalSeesAFirstTableAndThenBetterOnes) {
  const std::string log = test_folder() + "/terminal";
  const std::string command =
      "TERM=xterm COLUMNS=100 script -qec '" PLEAT_BINARY
      " capacity --model gpt-1.7b --clusters h100-sxm --gpus 8 --tokens 100B --deadline 90d"
      " --seq-len 2048 --global-batch 512' /dev/null >" + log + " 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string seen = read_text(log);
  const std::size_t first = seen.find("~ "), replaced = seen.find("A\033[J");
  ASSERT_NE(first, std::string::npos) << seen;
  ASSERT_NE(replaced, std::string::npos);
  EXPECT_LT(first, replaced);
  EXPECT_EQ(seen.find("~ ", seen.find("cheapest that meets")), std::string::npos);
  EXPECT_THAT(seen, HasSubstr("a first look at 1 offer"));
}

TEST(Capacity, TextAndCsv) {
  const Said text = small({"--deadline", "90d"});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out,
              HasSubstr("gpt-1.7b: 100B tokens within 90.00 days (P90), sequences of 2048 "
                        "tokens\nglobal batch: 512 sequences, the same for every size"));
  EXPECT_THAT(text.out, HasSubstr("cheapest that meets the deadline: "));
  EXPECT_THAT(text.out, HasSubstr("what matters most to "));
  EXPECT_THAT(text.out, HasSubstr("h100-sxm: 2.95 USD per GPU-hour, Nebius"));
  const Said csv = small({"--deadline", "90d", "--csv"});
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 3);
  EXPECT_THAT(csv.out, HasSubstr("\n\"h100-sxm\",16,"));
}

TEST(Capacity, WritesAPageWhateverTheAnswer) {
  const std::string page = test_folder() + "/capacity.html", other = test_folder() + "/none/x.html";
  ASSERT_EQ(small({"--deadline", "90d", "--html", page}).exit_code, 0);
  EXPECT_THAT(read_text(page), HasSubstr("<h2>Cheapest that meets the deadline: "));
  EXPECT_THAT(read_text(page), HasSubstr("\"deadline, 90 days\""));
  EXPECT_EQ(small({"--deadline", "1h", "--html", page, "--force"}).exit_code, 4);
  EXPECT_THAT(read_text(page), HasSubstr("nothing meets the goals"));
  const Said refused = small({"--deadline", "90d", "--html", other});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_EQ(refused.out, "");  // said before the work
}

TEST(Capacity, NothingMeetsTheGoals) {
  const Said late = small({"--deadline", "1h"});
  EXPECT_EQ(late.exit_code, 4);
  EXPECT_THAT(late.out, HasSubstr("h100-sxm"));  // the table is there all the same
  EXPECT_THAT(late.err,
              HasSubstr("nothing meets the goals\n  deadline: the fastest offer, 16 x h100-sxm"));
  EXPECT_THAT(late.err, HasSubstr(" days too long\n  it would be met by\n    --deadline "));
  EXPECT_THAT(late.err, HasSubstr("tokens instead of 100B"));
  const Said dear = small({"--budget", "10$", "--json"});
  EXPECT_EQ(dear.exit_code, 4);
  const JsonValue json = parse_json(dear.out, "stdout");
  EXPECT_TRUE(json.find("cheapest")->is_null());
  EXPECT_EQ(json.find("misses")->items().size(), 1u);
  EXPECT_THAT(dear.err, HasSubstr("a price of "));
}

TEST(Capacity, NoPlanAtAll) {
  const Said run = run_pleat({"capacity", "--model", "deepseek-v3", "--clusters", "h100-sxm",
                              "--gpus", "1", "--tokens", "1T", "--deadline", "60d"});
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.out, HasSubstr("not possible:\n  1 x h100-sxm: no plan fits in memory: "));
  EXPECT_THAT(run.err, HasSubstr("nothing can be run: no offer has a plan"));
}

TEST(Capacity, CriticalBatchGrowsWithTheGpus) {
  const Said run =
      small({"--deadline", "90d", "--json", "--batch-rule", "critical", "--critical-batch", "4M"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const JsonValue json = parse_json(run.out, "stdout");
  const JsonValue::Array& offers = json.find("offers")->items();
  const JsonValue &eight = *offers[0].find("booking"), &sixteen = *offers[1].find("booking");
  EXPECT_EQ(offer_number(eight, "global_batch"), 512);
  EXPECT_EQ(offer_number(sixteen, "global_batch"), 1024);
  EXPECT_EQ(offer_number(eight, "tokens"), 100e9);
  const double batch = 512 * 2048;
  EXPECT_NEAR(offer_number(sixteen, "tokens"), 100e9 * (1 + 2 * batch / 4e6) / (1 + batch / 4e6),
              1);
}

// Interrupted after `seconds`. Before the first offer is done there is nothing to print.
std::string interrupted_after(int seconds) {
  const std::string out = test_folder() + "/out", err = test_folder() + "/err";
  const std::string command =
      "timeout --preserve-status --signal=INT " + std::to_string(seconds) + " " + PLEAT_BINARY +
      " capacity --model deepseek-v3 --tokens 15T --deadline 60d --gpus 8..131072"
      " --clusters h100-sxm,gb200-nvl72,gb300-nvl72 > " + out + " 2> " + err;
  const int status = std::system(command.c_str());
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  const std::string text = read_text(out);
  if (!text.empty()) {
    EXPECT_THAT(read_text(err), HasSubstr("interrupted: the rest was not looked at"));
  }
  return text;
}

TEST(Capacity, CtrlCPrintsWhatIsDone) {
  std::string out;
  for (int seconds = 2; out.empty() && seconds <= 64; seconds *= 2)
    out = interrupted_after(seconds);
  EXPECT_THAT(out, HasSubstr("deepseek-v3: 15T tokens within 60.00 days"));
}

}  // namespace
}  // namespace pleat::cli_test
