// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Requests that are right, and JSON that parses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <sstream>

#include "core/json/parse.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kLocal{"--model",        "tiny-moe", "--cluster", "localhost",
                                      "--gpus",         "4",        "--seq-len", "64",
                                      "--global-batch", "8"};

JsonValue answered_json(const std::vector<std::string>& arguments) {
  const Said run = run_pleat(arguments);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, ::testing::MatchesRegex("(wrote [^\n]*\n)*"));
  return parse_json(run.out, "stdout");
}

std::int64_t integer(const JsonValue& json, const char* key) {
  const JsonValue* value = json.find(key);
  return value != nullptr && value->as_integer() != nullptr ? *value->as_integer() : -1;
}

double number(const JsonValue& json, const char* key) {
  const JsonValue* value = json.find(key);
  return value != nullptr && value->as_double() != nullptr ? *value->as_double() : -1;
}

TEST(HappyPath, Models) {
  const Said run = run_pleat({"models"});
  EXPECT_EQ(run.exit_code, 0);
  for (const char* name :
       {"deepseek-v3", "qwen3-235b-a22b", "mixtral-8x7b", "llama3-8b", "tiny-moe"}) {
    EXPECT_THAT(run.out, HasSubstr(std::string("\n") + name + " "));
  }
  const JsonValue json = answered_json({"models", "--json"});
  EXPECT_EQ(*json.find("schema_version")->as_integer(), 1);
  EXPECT_GE(json.find("models")->items().size(), 10u);
}

// The only stage waits for nobody: sums of its times may miss the step by a rounding, below it too.
TEST(HappyPath, NoBubbleBelowZero) {
  const std::string file = test_folder() + "/plan.json";
  const std::vector<std::string> request{"--model",        "mixtral-8x7b", "--cluster", "h100-sxm",
                                         "--gpus",         "64",           "--seq-len", "4096",
                                         "--global-batch", "256",          "--ep",      "8"};
  const Said run = run_pleat(std::vector<std::string>{"predict", "--out", file} + request);
  EXPECT_THAT(run.out, HasSubstr("  0.000 "));
  EXPECT_THAT(run.out, ::testing::Not(HasSubstr("-0.0")));
  EXPECT_THAT(run_pleat({"diff", file, file}).out, ::testing::Not(HasSubstr("-0.0")));
}

TEST(HappyPath, Clusters) {
  EXPECT_THAT(run_pleat({"clusters"}).out, HasSubstr("\ngb300-nvl72 "));
  const JsonValue json = answered_json({"clusters", "--json"});
  EXPECT_EQ(*json.find("schema_version")->as_integer(), 1);
  EXPECT_GE(json.find("clusters")->items().size(), 6u);
}

// What a model has and Pleat does not represent: by the model, and by every prediction.
TEST(HappyPath, LeftOutIsSaid) {
  EXPECT_THAT(run_pleat({"model", "jamba-v0.1"}).out,
              HasSubstr("\nleft out, neither counted nor priced as it is:\n  Mamba-1's selective"));
  const std::vector<std::string> request{
      "predict", "-m", "jamba-v0.1", "-c", "h100-sxm",       "-n", "64", "--seq-len", "4096",
      "--ep",    "16", "--pp",       "4",  "--global-batch", "256"};
  EXPECT_THAT(run_pleat(request).out, HasSubstr("\nleft out "));
  const JsonValue json = answered_json(request + std::vector<std::string>{"--json"});
  EXPECT_EQ(json.find("left_out")->items().size(), 2u);
}

TEST(HappyPath, ModelDeepSeek) {
  const Said run = run_pleat({"model", "deepseek-v3"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("671.026 B"));
  EXPECT_THAT(run.out, HasSubstr("in the file, not used:\n"));
  const JsonValue json = answered_json({"model", "deepseek-v3", "--json"});
  ASSERT_NE(json.find("parameters"), nullptr);
  EXPECT_EQ(integer(*json.find("parameters"), "total"), 671026404352);
  EXPECT_EQ(integer(*json.find("parameters"), "active"), 37552282624);
}

TEST(HappyPath, PredictListsWhatItAssumed) {
  const std::vector<std::string> request =
      std::vector<std::string>{"predict", "--ep", "4"} + kLocal;
  const Said run = run_pleat(request);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("\nassumed: --runtime pleat, --profile "));
  EXPECT_THAT(run.out, HasSubstr("--tp 1"));
  EXPECT_THAT(run.out, ::testing::Not(HasSubstr("--ep 4")));
  EXPECT_GT(number(answered_json(request + std::vector<std::string>{"--json"}), "step_s"), 0);
}

const std::vector<std::string> kCluster{
    "--model",   "qwen3-30b-a3b", "--cluster",      "h100-sxm", "--gpus", "64",
    "--seq-len", "4096",          "--global-batch", "512",      "--ep",   "8"};

TEST(HappyPath, PredictExplains) {
  const Said run = run_pleat(std::vector<std::string>{"predict", "--explain"} + kCluster);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  for (const char* words : {"\nwhat bounds the step\nThe step takes ", " Most of it goes to ",
                            "\nMemory: stage 0 ", "\nlongest operations of stage 0 ",
                            "moe/bwd/experts.fc1.wgrad", "\nsingle changes on the same GPUs\n"}) {
    EXPECT_THAT(run.out, HasSubstr(words));
  }
  EXPECT_THAT(run_pleat(std::vector<std::string>{"predict"} + kCluster).out,
              ::testing::Not(HasSubstr("bounds")));
}

// A change's plan in a plan file of its own is predicted with exactly the figures of the list.
TEST(HappyPath, ChangesThatPredictListsComeTrue) {
  const std::string file = test_folder() + "/plan.json";
  const JsonValue base = answered_json(
      std::vector<std::string>{"predict", "--explain", "--json", "--out", file} + kCluster);
  const auto& changes = base.find("explain")->find("changes")->items();
  ASSERT_GE(changes.size(), 15u);
  const JsonValue document = parse_json(read_text(file), file);
  const JsonValue* best = base.find("explain")->find("best_change");
  bool found_best = false;
  for (std::size_t i = 0; i < changes.size(); i += 3) {
    const JsonValue& change = changes[i];
    JsonValue changed = document;
    changed.set("plan", *change.find("plan"));
    write_text(file, changed.dump());
    const JsonValue alone = answered_json({"predict", "--plan", file, "--json"});
    SCOPED_TRACE(*change.find("change")->as_string());
    EXPECT_EQ(number(alone, "step_s"), number(change, "step_s"));
    EXPECT_EQ(number(base, "step_s") - number(alone, "step_s"), number(change, "gain_s"));
    EXPECT_EQ(integer(alone, "peak_bytes"), integer(change, "peak_bytes"));
    EXPECT_EQ(*alone.find("plan")->as_string(), *change.find("summary")->as_string());
    found_best = found_best || (best->as_string() != nullptr && *change.find("change") == *best);
  }
  EXPECT_TRUE(found_best || best->is_null() || changes[0].find("arithmetic")->as_bool());
}

TEST(HappyPath, ReportsArePagesOfTheirOwn) {
  const std::string file = test_folder() + "/page.html";
  const Said run = run_pleat(std::vector<std::string>{"predict", "--html", file} + kCluster);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("wrote " + file));
  const std::string page = read_text(file);
  for (const char* words :
       {"<!doctype html>", "Content-Security-Policy", "<h2>Memory by stage</h2>",
        "<h2>Timeline</h2>", "<h2>Single changes on the same GPUs</h2>", "moe/fwd/experts.fc1"}) {
    EXPECT_THAT(page, HasSubstr(words));
  }
  // The page's own command gives this plan again.
  const std::string from = "<pre class=\"command\">pleat ";
  const std::size_t begin = page.find(from);
  ASSERT_NE(begin, std::string::npos);
  const std::size_t first = begin + from.size();
  std::istringstream line(page.substr(first, page.find('\n', first) - first));
  std::vector<std::string> words{std::istream_iterator<std::string>(line), {}};
  EXPECT_EQ(words.back(), "plan.json");
  words.back() = test_folder() + "/plan.json";
  const Said again = run_pleat(words);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out.substr(0, again.out.find("profile")),
            run.out.substr(0, run.out.find("profile")));
  EXPECT_EQ(run_pleat(std::vector<std::string>{"plan", "--html", file} + kLocal).exit_code, 7);
  EXPECT_EQ(
      run_pleat(std::vector<std::string>{"plan", "--force", "--html", file} + kLocal).exit_code, 0);
  EXPECT_THAT(read_text(file), HasSubstr("no plan of the space is faster"));
  EXPECT_THAT(read_text(file), HasSubstr("<h2>Time against memory</h2>"));
  const Said nowhere = run_pleat(
      std::vector<std::string>{"predict", "--html", test_folder() + "/no/page.html"} + kCluster);
  EXPECT_EQ(nowhere.exit_code, 5);
  EXPECT_THAT(nowhere.err, HasSubstr("no/page.html: cannot write"));
}

TEST(HappyPath, TracesHaveTheOperationsOfSomeMicrobatches) {
  const std::string file = test_folder() + "/trace.json";
  const auto size = [&](const char* microbatches) {
    EXPECT_EQ(run_pleat(std::vector<std::string>{"predict", "--force", "--trace", file,
                                                 "--trace-microbatches", microbatches} +
                        kCluster)
                  .exit_code,
              0);
    return read_text(file).size();
  };
  const std::size_t none = size("0"), one = size("1");
  EXPECT_THAT(read_text(file), HasSubstr("\"name\":\"F m7\""));
  EXPECT_LT(none, one);
  EXPECT_LT(one, size("2"));
}

TEST(HappyPath, PlanFileGivesTheSamePrediction) {
  const std::string file = test_folder() + "/plan.json";
  const std::vector<std::string> request =
      std::vector<std::string>{"predict", "--ep", "4", "--json"} + kLocal;
  const double step =
      number(answered_json(request + std::vector<std::string>{"--out", file}), "step_s");
  EXPECT_EQ(number(answered_json({"predict", "--plan", file, "--json"}), "step_s"), step);
}

TEST(HappyPath, PlanLocalhost) {
  const std::string file = test_folder() + "/plan.json";
  const std::vector<std::string> request = std::vector<std::string>{"plan", "--top", "3"} + kLocal;
  const Said run = run_pleat(request);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\nnext best   #2 is "));
  const JsonValue json = answered_json(request + std::vector<std::string>{"--json"});
  ASSERT_EQ(json.find("best")->items().size(), 3u);
  const JsonValue& best = json.find("best")->items().front();
  EXPECT_EQ(run_pleat(request + std::vector<std::string>{"--out", file}).exit_code, 0);
  EXPECT_EQ(number(answered_json({"predict", "--plan", file, "--json"}), "step_s"),
            number(best, "step_s"));
}

TEST(HappyPath, PlanPlacesARecipeAmongTheBest) {
  const std::vector<std::string> request = std::vector<std::string>{"plan", "--json"} + kLocal;
  const JsonValue searched = answered_json(
      request + std::vector<std::string>{"--compare", "ep=1,micro-batch=1,sharding=none"});
  const JsonValue& recipe = searched.find("compared")->items().front();
  const double best = number(searched.find("best")->items().front(), "step_s");
  EXPECT_GE(number(recipe, "step_s"), best);
}

TEST(HappyPath, PlanByObjective) {
  std::vector<std::string> request = std::vector<std::string>{"plan", "--json"} + kLocal;
  *std::find(request.begin(), request.end(), "4") = "2";  // GPUs: the front of four takes long
  const auto plan = [&](const std::vector<std::string>& flags) {
    return answered_json(request + flags);
  };
  const JsonValue plain = plan({});
  const JsonValue fastest = plain.find("best")->items().front();

  const JsonValue lean = plan({"--objective", "memory-headroom", "--slack", "0.5"});
  const JsonValue& least_memory_plan = lean.find("best")->items().front();
  const auto peak = [](const JsonValue& plan) { return integer(plan, "peak_bytes"); };
  EXPECT_LE(peak(least_memory_plan), peak(fastest));
  EXPECT_LE(number(least_memory_plan, "step_s"), 1.5 * number(fastest, "step_s"));
  const auto& front = lean.find("front")->items();
  // The front is of the space that is searched; layouts beyond it may be a little faster.
  const double bound = number(*plain.find("certificate"), "bound_s");
  EXPECT_LE(bound, number(fastest, "step_s"));
  EXPECT_GE(number(front.front(), "step_s"), bound);
  EXPECT_LE(number(front.front(), "step_s"), 1.02 * bound);
  EXPECT_GE(number(front.front(), "step_s"), number(fastest, "step_s"));
  EXPECT_EQ(peak(front.back()), peak(least_memory_plan));

  const JsonValue cheap = plan({"--objective", "cost", "--min-gpus", "1"});
  double fewest = std::numeric_limits<double>::infinity();
  for (const JsonValue& size : cheap.find("sizes")->items()) {
    if (size.find("problem") == nullptr) {
      fewest = std::min(fewest, number(size, "gpu_hours_per_1t_tokens"));
    }
  }
  const double tokens = 64 * 8;  // of a step
  const double hours = 1e12 / tokens * number(cheap.find("best")->items().front(), "step_s") / 3600;
  EXPECT_NEAR(hours * static_cast<double>(integer(cheap, "gpus")), fewest, 1e-6 * fewest);
}

TEST(HappyPath, FewestGpusAreNoMoreThanAll) {
  const Said run = run_pleat(
      std::vector<std::string>{"plan", "--objective", "cost", "--min-gpus", "9"} + kLocal);
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("--min-gpus: 9 is more than the 4 GPUs of the job"));
}

TEST(HappyPath, NumbersFormatsAreAChoice) {
  const JsonValue json = answered_json({"plan",
                                        "--json",
                                        "--model",
                                        "mixtral-8x7b",
                                        "--cluster",
                                        "h100-sxm",
                                        "--gpus",
                                        "16",
                                        "--seq-len",
                                        "4096",
                                        "--global-batch",
                                        "64",
                                        "--precision",
                                        "bf16,fp8",
                                        "--top",
                                        "1",
                                        "--main-grads-dtype",
                                        "fp32,bf16",
                                        "--exp-avg-dtype",
                                        "bf16"});
  EXPECT_EQ(*json.find("precision")->as_string(), "bf16 or fp8");
  const JsonValue& plan = *json.find("best")->items().front().find("plan");
  EXPECT_EQ(*plan.find("precision")->as_string(), "fp8");
}

TEST(HappyPath, PinsAreKept) {
  const JsonValue json =
      answered_json(std::vector<std::string>{"plan", "--json", "--ep", "2", "--pp", "1"} + kLocal);
  for (const JsonValue& c : json.find("best")->items()) {
    EXPECT_EQ(integer(*c.find("plan")->find("expert"), "ep"), 2);
    EXPECT_EQ(integer(*c.find("plan")->find("attention"), "pp"), 1);
  }
}

TEST(HappyPath, ProgramOfALayer) {
  const Said run = run_pleat({"program", "--model", "tiny-moe", "--ep", "4", "--layer", "1"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  for (const char* op : {"router", "grouped_gemm", "all_to_all", "swiglu"})
    EXPECT_THAT(run.out, HasSubstr(op));
  const JsonValue json =
      answered_json({"program", "--model", "tiny-moe", "--ep", "4", "--layer", "1", "--json"});
  EXPECT_EQ(json.find("layers")->items().size(), 1u);
  const Said absent = run_pleat({"program", "--model", "tiny-moe", "--layer", "4"});
  EXPECT_EQ(absent.exit_code, 2);
  EXPECT_THAT(absent.err, HasSubstr("tiny-moe has layers 0 to 3"));
}

TEST(HappyPath, TrainAndCompare) {
  const std::string folder = test_folder();
  write_text(folder + "/text", std::string(4000, 'a') + std::string(4000, 'b'));
  const std::vector<std::string> plan = std::vector<std::string>{"--ep", "4"} + kLocal;
  const std::vector<std::string> train{
      "train",  "--json",         "--steps", "3",
      "--data", folder + "/text", "--trace", folder + "/measured.json"};
  const JsonValue json = answered_json(train + plan);
  const auto& steps = json.find("steps")->items();
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_LT(number(steps[2], "loss"), number(steps[0], "loss"));
  EXPECT_GT(integer(*json.find("measured"), "peak_bytes"), 0);
  answered_json(
      std::vector<std::string>{"predict", "--json", "--trace", folder + "/predicted.json"} + plan);
  // Every row: how far each operation is off, and so their order, depends on the machine's load.
  const Said joined = run_pleat({"compare", folder + "/measured.json", folder + "/predicted.json",
                                 "--rows", "1000"});
  EXPECT_EQ(joined.exit_code, 0) << joined.err;
  EXPECT_THAT(joined.out, HasSubstr("\nexperts.fc1.dgrad "));
  EXPECT_THAT(joined.out, HasSubstr("\nstep "));
  answered_json({"compare", folder + "/measured.json", folder + "/predicted.json", "--json"});
}

TEST(HappyPath, ADryRunOfTrainingLeavesNoFile) {
  const std::string out = test_folder() + "/out", folder = out + "/run";
  std::filesystem::create_directories(out);
  const Said run = run_pleat(
      std::vector<std::string>{"train", "--steps", "1", "--save", folder, "--log-json",
                               folder + ".jsonl", "--tensorboard", folder + ".tb", "--dry-run"} +
      kLocal);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  for (const char* what : {" (checkpoints)", ".jsonl (a line a step)", ".tb (TensorBoard events)"})
    EXPECT_THAT(run.err, HasSubstr("would write " + folder + what));
  EXPECT_THAT(files_in(out), ::testing::IsEmpty());
}

TEST(HappyPath, TheLearningRateFollowsItsSchedule) {
  const std::string folder = test_folder();
  write_text(folder + "/text", std::string(4000, 'a') + std::string(4000, 'b'));
  answered_json(std::vector<std::string>{"train",
                                         "--json",
                                         "--steps",
                                         "5",
                                         "--data",
                                         folder + "/text",
                                         "--ep",
                                         "2",
                                         "--optimizer",
                                         "sgd",
                                         "--lr",
                                         "0.25",
                                         "--min-lr",
                                         "0.125",
                                         "--lr-warmup-iters",
                                         "1",
                                         "--lr-decay-style",
                                         "WSD",
                                         "--lr-wsd-decay-iters",
                                         "2",
                                         "--lr-wsd-decay-style",
                                         "linear",
                                         "--weight-decay",
                                         "0.1",
                                         "--clip-grad",
                                         "2",
                                         "--log-json",
                                         folder + "/log"} +
                kLocal);
  std::istringstream log(read_text(folder + "/log"));
  std::vector<double> rates;
  for (std::string line; std::getline(log, line);)
    rates.push_back(number(parse_json(line, "log"), "lr"));
  EXPECT_EQ(rates, (std::vector<double>{0, 0.25, 0.25, 0.25, 0.1875}));
}

TEST(HappyPath, TheLossOnHeldOutDataIsLoggedWhenItIsDue) {
  const std::string folder = test_folder();
  write_text(folder + "/text", std::string(4000, 'a') + std::string(4000, 'b'));
  write_text(folder + "/held-out", std::string(2000, 'a'));
  answered_json(std::vector<std::string>{"train", "--json", "--steps", "3", "--data",
                                         folder + "/text", "--valid-data", folder + "/held-out",
                                         "--eval-iters", "2", "--eval-interval", "2", "--log-json",
                                         folder + "/log"} +
                kLocal);
  std::istringstream log(read_text(folder + "/log"));
  std::vector<bool> has;
  for (std::string line; std::getline(log, line);) {
    has.push_back(parse_json(line, "log").find("validation_loss") != nullptr);
  }
  EXPECT_EQ(has, (std::vector<bool>{false, true, true}));
}

TEST(HappyPath, MeasuredMemoryOfOneStepIsThePredictedOneToTheByte) {
  write_text(test_folder() + "/text", read_text(std::string(PLEAT_SOURCE_DIR) + "/CMakeLists.txt"));
  const JsonValue json =
      answered_json(std::vector<std::string>{"train", "--json", "--steps", "1", "--ep", "2",
                                             "--data", test_folder() + "/text"} +
                    kLocal);
  EXPECT_EQ(integer(*json.find("predicted"), "peak_bytes_recorded_routing"),
            integer(*json.find("measured"), "peak_bytes"));
}

TEST(HappyPath, RouterLossesAreTrainedAndReported) {
  write_text(test_folder() + "/text", read_text(std::string(PLEAT_SOURCE_DIR) + "/CMakeLists.txt"));
  const JsonValue json = answered_json(
      std::vector<std::string>{"train", "--json", "--steps", "1", "--ep", "2", "--data",
                               test_folder() + "/text", "--aux-loss", "0.01", "--z-loss", "0.001"} +
      kLocal);
  const JsonValue& step = json.find("steps")->items()[0];
  EXPECT_GT(number(step, "aux_loss"), 0.03 * 0.99);  // three layers, least where all loads are even
  EXPECT_GT(number(step, "z_loss"), 3 * 0.001 * 4);  // log(8)² a layer where all logits are zero
  EXPECT_EQ(step.find("seq_aux_loss"), nullptr);
  EXPECT_EQ(integer(*json.find("predicted"), "peak_bytes_recorded_routing"),
            integer(*json.find("measured"), "peak_bytes"));
}

}  // namespace
}  // namespace pleat::cli_test
