// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat validate` on small files of rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json/parse.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::HasSubstr;

struct Row {
  std::string id, tier = "B", model = "\"mixtral-8x7b\"", plan = "\"tp\": 2, \"pp\": 1, \"ep\": 8";
  std::string measured = "\"step_time_s\": 10", more = "", cluster = "h100-sxm";
  int gpus = 64;
};

std::string line(const Row& r) {
  return "{\"id\": \"" + r.id + "\", \"tier\": \"" + r.tier + "\", \"model\": " + r.model +
         ", \"cluster\": \"" + r.cluster + "\", \"gpus\": " + std::to_string(r.gpus) +
         ", \"workload\": {\"seq_len\": 4096, \"global_batch\": 256}, \"plan\": {" + r.plan +
         "}, \"measured\": {" + r.measured + "}" + (r.more.empty() ? "" : ", " + r.more) + "}\n";
}

std::string file_of(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) text += line(row);
  const std::string file = test_folder() + "/rows.jsonl";
  write_text(file, text);
  return file;
}

JsonValue validated(const std::vector<Row>& rows) {
  const Said run = run_pleat({"validate", "--rows", file_of(rows), "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return parse_json(run.out, "out");
}

const JsonValue& at(const JsonValue& value, const std::string& key) {
  const JsonValue* found = value.find(key);
  if (found == nullptr) throw std::runtime_error("no " + key);
  return *found;
}

double number_of(const JsonValue& value) {
  return value.as_integer() ? static_cast<double>(*value.as_integer()) : *value.as_double();
}

const JsonValue& row_of(const JsonValue& document, std::size_t i) {
  return at(document, "rows").items().at(i);
}

TEST(Validate, ErrorIsPredictedOverMeasured) {
  const JsonValue d = validated({{.id = "a"}});
  const JsonValue& row = row_of(d, 0);
  EXPECT_EQ(*at(row, "id").as_string(), "a");
  EXPECT_EQ(number_of(at(row, "measured_step_s")), 10);
  const double predicted = number_of(at(row, "predicted_step_s"));
  EXPECT_NEAR(number_of(at(row, "error")), predicted / 10 - 1, 1e-12);
  EXPECT_LT(number_of(at(row, "low")), predicted);
  EXPECT_GT(number_of(at(row, "high")), predicted);
  double parts = 0;
  for (const JsonMember& part : at(row, "parts_s").members()) parts += number_of(part.value);
  EXPECT_NEAR(parts, predicted, 1e-6 * predicted);
  EXPECT_EQ(number_of(at(at(d, "summary"), "predicted")), 1);
}

// A plan does not say what a release tuned: both rows have one prediction, and none is a headline.
TEST(Validate, RunsThatAPlanDoesNotTellApartAreListed) {
  const std::string plan = "\"tp\": 2, \"pp\": 1, \"ep\": 8, \"software\": ";
  const std::vector<Row> rows{
      {.id = "a", .plan = plan + "\"base\"", .more = "\"headline\": \"published A\""},
      {.id = "b",
       .plan = plan + "\"tuned\"",
       .measured = "\"step_time_s\": 8",
       .more = "\"headline\": \"published B\""},
      {.id = "c", .plan = plan + "\"base\", \"router_fusion\": false",
       .more = "\"headline\": \"published C\""}};
  const JsonValue d = validated(rows);
  const JsonValue& sets = at(at(d, "summary"), "not_told_apart");
  ASSERT_EQ(sets.items().size(), 1u);
  ASSERT_EQ(sets.items()[0].items().size(), 2u);
  EXPECT_EQ(*sets.items()[0].items()[0].as_string(), "a");
  EXPECT_EQ(*sets.items()[0].items()[1].as_string(), "b");
  const std::string text = run_pleat({"validate", "--rows", file_of(rows)}).out;
  const std::size_t headlines = text.find("Headlines"), apart = text.find("Not told apart");
  ASSERT_LT(headlines, apart);
  ASSERT_NE(apart, std::string::npos);
  const std::string told = text.substr(headlines, apart - headlines);
  EXPECT_THAT(told, HasSubstr("published C"));
  EXPECT_THAT(told, ::testing::Not(HasSubstr("published A")));
  EXPECT_THAT(text.substr(apart), HasSubstr("published B"));
}

TEST(Validate, WhatIsLeftOpenIsChosen) {
  const JsonValue d =
      validated({{.id = "stated", .plan = "\"tp\": 2, \"pp\": 1, \"ep\": 8, \"etp\": 1"},
                 {.id = "open", .plan = "\"cp\": 1"},
                 {.id = "etp", .plan = "\"tp\": 2, \"pp\": 1, \"ep\": 8"}});
  EXPECT_LE(number_of(at(row_of(d, 1), "predicted_step_s")),
            number_of(at(row_of(d, 0), "predicted_step_s")));
  EXPECT_THAT(*at(row_of(d, 2), "plan").as_string(), HasSubstr("ETP2 EP8"));  // Megatron: TP
}

TEST(Validate, RecomputeLeftOpenIsTheCheapestThatFits) {
  // On one node the 70B model needs recompute or does not fit; at 8B nothing is recomputed.
  const JsonValue d = validated(
      {{.id = "small", .model = "\"llama3-8b\"", .plan = "\"tp\": 1, \"pp\": 1"},
       {.id = "named",
        .model = "\"llama3-8b\"",
        .plan =
            "\"tp\": 1, \"pp\": 1, \"recompute\": {\"granularity\": \"full\", \"modules\": []}"}});
  EXPECT_THAT(*at(row_of(d, 0), "plan").as_string(), ::testing::Not(HasSubstr("recompute")));
  EXPECT_THAT(*at(row_of(d, 1), "plan").as_string(), HasSubstr("recompute=full"));
}

TEST(Validate, WholeLayersAsFewAsFit) {
  // 70B on 64 GPUs with stages of 20 layers: two sequences a microbatch fit when some are
  // recomputed.
  const std::string plan = "\"micro_batch\": 2, \"tp\": 1, \"pp\": 4, \"vpp\": 5, \"cp\": 1";
  const auto text = [&](const JsonValue& d) { return *at(row_of(d, 0), "plan").as_string(); };
  const JsonValue open =
      validated({{.id = "a", .model = "\"llama3-70b\"", .plan = plan, .cluster = "gb200-nvl72"}});
  EXPECT_THAT(text(open), HasSubstr("recompute=full:"));
  const JsonValue whole =
      validated({{.id = "a",
                  .model = "\"llama3-70b\"",
                  .plan = plan + ", \"recompute\": {\"granularity\": \"full\", \"modules\": []}",
                  .cluster = "gb200-nvl72"}});
  EXPECT_LT(number_of(at(row_of(open, 0), "predicted_step_s")),
            number_of(at(row_of(whole, 0), "predicted_step_s")));
}

TEST(Validate, AStatedShardGroupMeansSharding) {
  const std::string plan = "\"tp\": 1, \"pp\": 1, \"fsdp_group\": ";
  const JsonValue d =
      validated({{.id = "a", .model = "\"llama3-8b\"", .plan = plan + "8", .gpus = 8},
                 {.id = "wide", .model = "\"llama3-8b\"", .plan = plan + "16", .gpus = 8},
                 {.id = "none", .model = "\"llama3-8b\"", .plan = plan + "1", .gpus = 8}});
  EXPECT_THAT(*at(row_of(d, 0), "plan").as_string(), HasSubstr("zero3"));
  EXPECT_THAT(*at(row_of(d, 1), "plan").as_string(), HasSubstr("zero3"));
  EXPECT_THAT(*at(row_of(d, 2), "plan").as_string(), HasSubstr("zero1"));
}

TEST(Validate, PapersOnMegatronHalveCausalScoresFrom2025) {
  const auto era = [](const char* name) { return std::string("\"era\": \"") + name + "\""; };
  const JsonValue d = validated(
      {{.id = "new", .measured = "\"mfu\": 0.4", .more = era("Megatron-Core (2504.14960)")},
       {.id = "old", .measured = "\"mfu\": 0.4", .more = era("Megatron-Core (2404.14960)")}});
  const auto seconds = [&](std::size_t i) {
    return number_of(at(row_of(d, i), "measured_step_s"));
  };
  // Mixtral-8x7B's scores: 2 s h, and half of that, for each of 32 layers, of 4096 tokens, three
  // passes.
  const double scores = 3.0 * 32 * 4 * 4096 * 4096 * (4096.0 * 256 / 64) / (0.4 * 989.4e12);
  EXPECT_NEAR(seconds(1) - seconds(0), scores / 2, 0.01 * scores);
}

TEST(Validate, TimeFromThroughputOrMfu) {
  const JsonValue d = validated(
      {{.id = "flops", .measured = "\"tflops_per_gpu\": 400", .more = "\"flop_per_token\": 8e10"},
       {.id = "mfu", .measured = "\"mfu\": 0.5", .more = "\"flop_per_token\": 8e10"},
       {.id = "nothing", .measured = "\"step_time_s\": null"}});
  // 8e10 FLOP x 4096 x 256 tokens / 64 GPUs / 400 TFLOP/s
  EXPECT_NEAR(number_of(at(row_of(d, 0), "measured_step_s")), 3.2768, 1e-9);
  EXPECT_NEAR(number_of(at(row_of(d, 1), "measured_step_s")), 3.2768 * 400 / (0.5 * 989.4), 0.01);
  EXPECT_TRUE(at(row_of(d, 2), "measured_step_s").is_null());
  EXPECT_TRUE(at(row_of(d, 2), "error").is_null());
  EXPECT_EQ(number_of(at(at(at(d, "summary"), "error"), "count")), 2);
}

TEST(Validate, MissesAreCountedWithTheirReason) {
  const JsonValue d = validated({{.id = "model", .model = "\"no-such-model\""},
                                 {.id = "cluster", .cluster = "no-such-cluster"},
                                 {.id = "grid", .plan = "\"tp\": 3, \"pp\": 1, \"ep\": 8"},
                                 {.id = "word", .plan = "\"precision\": \"int4\""},
                                 {.id = "good"}});
  const auto reason = [&](std::size_t i) { return *at(row_of(d, i), "reason").as_string(); };
  EXPECT_THAT(reason(0), HasSubstr("no model named \"no-such-model\""));
  EXPECT_THAT(reason(1), HasSubstr("no cluster named \"no-such-cluster\""));
  EXPECT_THAT(reason(2), HasSubstr("world: 64 is not a multiple of TP*PP*CP = 3"));
  EXPECT_EQ(reason(3), "not modelled: precision int4");
  EXPECT_TRUE(at(row_of(d, 0), "predicted_step_s").is_null());
  EXPECT_EQ(number_of(at(at(d, "summary"), "missed")), 4);
  EXPECT_EQ(number_of(at(at(d, "summary"), "predicted")), 1);
}

TEST(Validate, ARunMayBreakARuleOfOurs) {
  const JsonValue d = validated(
      {{.id = "a", .plan = "\"tp\": 1, \"pp\": 2, \"ep\": 8, \"ep_overlap\": true"}});
  const auto& broken = at(row_of(d, 0), "broken_rules").items();
  ASSERT_EQ(broken.size(), 1u);
  EXPECT_THAT(*broken[0].as_string(), HasSubstr("ep-overlap-needs-interleaving"));
  EXPECT_FALSE(at(row_of(d, 0), "predicted_step_s").is_null());
}

TEST(Validate, OverridesCutTheModel) {
  const JsonValue d = validated({{.id = "full"},
                                 {.id = "same", .more = "\"overrides\": {\"num_layers\": 32}"},
                                 {.id = "half", .more = "\"overrides\": {\"num_layers\": 16}"}});
  const auto predicted = [&](std::size_t i) {
    return number_of(at(row_of(d, i), "predicted_step_s"));
  };
  EXPECT_EQ(predicted(0), predicted(1));
  EXPECT_LT(predicted(2), 0.6 * predicted(0));
}

TEST(Validate, AModelWrittenOut) {
  const std::string config =
      read_text(std::string(PLEAT_SOURCE_DIR) + "/configs/models/mixtral-8x7b.json");
  std::string one_line;
  for (const char c : config) one_line += c == '\n' ? ' ' : c;
  const JsonValue d = validated({{.id = "name"}, {.id = "inline", .model = one_line}});
  EXPECT_EQ(number_of(at(row_of(d, 0), "predicted_step_s")),
            number_of(at(row_of(d, 1), "predicted_step_s")));
}

TEST(Validate, PeersAndChoosing) {
  const auto row = [](const char* id, const char* tp, const char* time, const char* peer) {
    return Row{
        .id = id,
        .plan = std::string("\"pp\": 1, \"ep\": 8, \"tp\": ") + tp,
        .measured = std::string("\"step_time_s\": ") + time,
        .more = std::string("\"group\": \"g\", \"peers_predicted_s\": {\"other\": ") + peer + "}"};
  };
  const JsonValue d = validated({row("a", "1", "8", "10"), row("b", "2", "10", "9")});
  const auto& tables = at(at(d, "summary"), "peers").items();
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(number_of(at(tables[0], "choice_groups")), 1);
  EXPECT_EQ(number_of(at(tables[0], "choice_pairs")), 1);
  const auto& peers = at(tables[0], "predictors").items();
  ASSERT_EQ(peers.size(), 2u);
  EXPECT_EQ(*at(peers[0], "name").as_string(), "pleat");
  const JsonValue& other = peers[1];
  EXPECT_NEAR(number_of(at(at(other, "gpus_64_to_512"), "mean")), (0.25 + 0.1) / 2, 1e-12);
  EXPECT_EQ(number_of(at(at(other, "gpus_2_to_8"), "count")), 0);
  EXPECT_NEAR(number_of(at(other, "mean_regret")), 0.25, 1e-12);
  EXPECT_EQ(number_of(at(other, "concordance")), 0);
}

// Without peers too. Plans of one size only are compared: "c" runs on twice the GPUs.
TEST(Validate, ChoosingAmongPlansOfAGroup) {
  const auto row = [](const char* id, const char* tp, const char* time, int gpus) {
    return Row{.id = id, .plan = std::string("\"pp\": 1, \"ep\": 8, \"tp\": ") + tp,
               .measured = std::string("\"step_time_s\": ") + time, .more = "\"group\": \"g\"",
               .gpus = gpus};
  };
  const JsonValue d =
      validated({row("a", "1", "8", 64), row("b", "8", "6", 64), row("c", "2", "1", 128)});
  const bool right = number_of(at(row_of(d, 1), "predicted_step_s")) <
                     number_of(at(row_of(d, 0), "predicted_step_s"));
  const JsonValue& choosing = at(at(d, "summary"), "choosing");
  EXPECT_EQ(number_of(at(choosing, "groups")), 1);
  EXPECT_EQ(number_of(at(choosing, "pairs")), 1);
  EXPECT_NEAR(number_of(at(choosing, "mean_regret")), right ? 0 : 8.0 / 6 - 1, 1e-12);
  EXPECT_EQ(number_of(at(choosing, "concordance")), right ? 1 : 0);
  const std::string file = file_of({row("a", "1", "8", 64), row("b", "8", "6", 64)});
  const std::string page = test_folder() + "/page.md";
  const Said text = run_pleat({"validate", "--rows", file, "--out", page});
  EXPECT_THAT(text.out + read_text(page), HasSubstr("## Choosing"));
  const Said apart = run_pleat({"validate", "--rows", file_of({row("a", "1", "8", 64)})});
  EXPECT_EQ(apart.out.find("Choosing"), std::string::npos);
}

TEST(Validate, NoiseFloorOfRepeatedRuns) {
  const JsonValue d = validated(
      {{.id = "a", .more = "\"era\": \"nemo-25.11\""},
       {.id = "b", .measured = "\"step_time_s\": 11", .more = "\"era\": \"nemo-25.11\""},
       {.id = "c", .measured = "\"step_time_s\": 12", .more = "\"era\": \"nemo-26.02\""}});
  const JsonValue& noise = at(at(d, "summary"), "noise_floor");
  EXPECT_NEAR(number_of(at(at(noise, "same_era"), "worst")), 0.1, 1e-12);
  EXPECT_NEAR(number_of(at(at(noise, "any_era"), "worst")), 0.2, 1e-12);
}

TEST(Validate, TiersAndWrittenReports) {
  const std::string rows = file_of({{.id = "a", .tier = "A"}, {.id = "b", .tier = "C|D"}});
  const std::string page = test_folder() + "/page.html", out = test_folder() + "/V.md";
  const Said run = run_pleat({"validate", "--rows", rows, "--html", page, "--out", out});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("biggest terms"));
  EXPECT_THAT(run.out, HasSubstr("2 rows: 2 predicted, 0 missed."));
  EXPECT_THAT(read_text(page), HasSubstr("<h2>By tier</h2>"));
  EXPECT_THAT(read_text(out), HasSubstr("## By tier"));
  EXPECT_THAT(read_text(out), HasSubstr("| C\\|D |"));
  EXPECT_EQ(read_text(out).find("## Tier"), std::string::npos);  // rows are printed
  const Said only = run_pleat({"validate", "--rows", rows, "--tier", "A"});
  EXPECT_THAT(only.out, HasSubstr("1 rows: 1 predicted"));
  const Said none = run_pleat({"validate", "--rows", rows, "--tier", "Z"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("no row has tier 'Z'"));
}

TEST(Validate, BadFiles) {
  const std::string file = test_folder() + "/bad.jsonl";
  write_text(file, line({.id = "a"}) + "{\"id\": 3}\n");
  const Said bad = run_pleat({"validate", "--rows", file});
  EXPECT_EQ(bad.exit_code, 3);
  EXPECT_THAT(bad.err, HasSubstr("bad.jsonl:2:"));
  EXPECT_EQ(run_pleat({"validate", "--rows", test_folder() + "/none.jsonl"}).exit_code, 5);
}

}  // namespace
}  // namespace pleat::cli_test
