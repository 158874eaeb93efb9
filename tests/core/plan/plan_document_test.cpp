// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// plan.json: exact round trip, defaults, strictness, all problems at once, the shipped plans.
#include "core/plan/plan_document.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/diagnostics.hpp"
#include "core/json/parse.hpp"
#include "core/json/text_file.hpp"
#include "core/plan/constraints.hpp"
#include "core/spec/catalog.hpp"

namespace pleat {
namespace {

PlanDocument full_document() {
  PlanDocument d;
  d.model_name = "deepseek-v3";
  d.model_sha256 = std::string(64, 'a');
  ModelSpec& m = d.model;
  m.name = "deepseek-v3";
  m.model_type = "deepseek_v3";
  m.layers = 6;
  m.hidden = 7168;
  m.vocab = 129280;
  m.ffn = 18432;
  m.norm_eps = 1e-6;
  m.mtp_layers = 1;
  m.attention = {.kind = AttentionKind::mla,
                 .heads = 128,
                 .kv_groups = 128,
                 .rope_theta = 10000.125,
                 .q_lora_rank = 1536,
                 .kv_lora_rank = 512,
                 .qk_nope_head_dim = 128,
                 .qk_rope_head_dim = 64,
                 .v_head_dim = 128};
  m.moe = MoeSpec{.experts = 256,
                  .top_k = 8,
                  .ffn = 2048,
                  .shared_ffn = 2048,
                  .shared_gate = true,
                  .score = RouterScore::sigmoid,
                  .groups = 8,
                  .top_groups = 4,
                  .expert_bias = true,
                  .normalize_top_k = false,
                  .scaling_factor = 2.5};
  m.moe_layer = {false, false, true, true, false, true};
  d.workload = {
      .seq_len = 4096, .global_batch = 4096, .routing = Routing::natural, .capacity_factor = 1.25,
      .pad_to_capacity = true, .imbalance = 1.1};
  d.cluster = "gb300-nvl72";
  d.gpus = 256;
  d.runtime = Runtime::pleat;
  d.plan.attention = {.tp = 1, .cp = 1, .dp = 128, .pp = 2};
  d.plan.expert = {.etp = 1, .ep = 32, .edp = 4};
  d.plan.vpp = 3;
  d.plan.schedule = PipelineSchedule::dualpipe_v;
  d.plan.microbatch_group = 4;
  d.plan.layout = "Et|(t|)*4tmL";
  d.plan.micro_batch = 2;
  d.plan.sequence_parallel = false;
  d.plan.precision = Precision::nvfp4;
  d.plan.sharding = Sharding::zero3;
  d.plan.dispatcher = Dispatcher::hybridep;
  d.plan.cuda_graph = CudaGraph::full_iteration;
  d.plan.recompute = {Module::layernorm, Module::moe};
  d.plan.recompute_full = true;
  d.plan.recompute_layers = 2;
  d.plan.recompute_unit = 3;
  d.plan.stages = {{.stage = 0, .recompute = {}, .offload = {Offload::core_attn}},
                   {.stage = 1,
                    .recompute = {Module::moe},
                    .recompute_full = true,
                    .recompute_layers = 3,
                    .recompute_unit = 2,
                    .offload = {}}};
  d.plan.paged_stash = {.buffer = 1.1, .capacity = 1.5};
  d.workload.documents = {512, 4096};
  d.plan.dispatcher_sms = 20;
  d.plan.cp_comm = CpComm::a2a_p2p;
  d.plan.cp_a2a = 2;
  d.plan.fp8_dispatch = true;
  d.plan.fp8_combine = true;
  d.plan.optimizer_instances = 4;
  d.workload.straggler_slowdown = 0.0125;
  d.workload.unbound_ranks = true;
  d.plan.offload = {Offload::core_attn, Offload::moe_act};
  d.plan.offload_layers = 3;
  d.plan.fp8_params = false;
  d.plan.fsdp_group = 64;
  d.plan.loss_chunks = 8;
  d.plan.overlap = {
      .expert_parallel = true, .delay_wgrad = true, .grad_reduce = false, .param_gather = false,
      .gather_beside_step = true, .tensor_parallel = true, .shared_expert = true,
      .tile_level = true};
  d.plan.optimizer = {.kind = OptimizerKind::lamb,
                      .main_grads = DType::bf16, .main_params = DType::remainder16,
                      .exp_avg = DType::fp8, .exp_avg_sq = DType::fp16,
                      .grad_reduce = DType::bf16, .state_offload = 0.25,
                      .cpu_offload = 0.5, .cpu_offload_overlapped = true};
  d.predicted = PlanPrediction{.step_seconds = 0.1 + 0.2, .peak_bytes = 162'135'834'624};
  d.provenance = "pleat plan, with \"quotes\"\nand a second line";
  return d;
}

TEST(PlanDocument, RoundTripIsExact) {
  const PlanDocument d = full_document();
  const std::string text = write_plan_document(d);
  EXPECT_EQ(read_plan_document(text, "plan.json"), d);
  EXPECT_EQ(write_plan_document(read_plan_document(text, "plan.json")), text);
}

TEST(PlanDocument, RoundTripWithoutOptionalParts) {
  PlanDocument d = full_document();
  d.model_sha256.reset();
  d.predicted.reset();
  d.model.moe.reset();
  d.model.attention = {.heads = 32, .kv_groups = 8, .head_dim = 128, .qk_norm = true};
  d.model.moe_layer.assign(6, false);
  d.plan = {};
  EXPECT_EQ(read_plan_document(write_plan_document(d), "plan.json"), d);
}

// The document with one member of `parent` (a path of keys) replaced, as text.
std::string edited(const std::vector<std::string>& parent, const std::string& key,
                   JsonValue value) {
  JsonValue root = parse_json(write_plan_document(full_document()), "plan.json");
  JsonValue* at = &root;
  for (const std::string& step : parent) {
    for (JsonMember& member : at->mutable_members()) {
      if (member.key == step) {
        at = &member.value;
        break;
      }
    }
  }
  at->set(key, std::move(value));
  return root.dump();
}

std::vector<std::string> problems_of(const std::string& text) {
  std::vector<std::string> lines;
  try {
    static_cast<void>(read_plan_document(text, "plan.json"));
  } catch (const ConfigError& e) {
    EXPECT_EQ(e.exit_code(), ExitCode::bad_file);
    for (const Diagnostic& d : e.diagnostics()) lines.push_back(d.path + ": " + d.message);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(PlanDocument, UnknownFieldsAreRejectedWithTheNearestName) {
  const Lines lines = problems_of(edited({"plan"}, "expret", JsonValue::object()));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("plan.expret"), std::string::npos);
  EXPECT_NE(lines[0].find("did you mean expert?"), std::string::npos) << lines[0];
}

TEST(PlanDocument, RangesAndTypes) {
  EXPECT_EQ(problems_of(edited({"plan", "attention"}, "tp", 0)),
            (Lines{"plan.attention.tp: 0 is out of range"}));
  EXPECT_EQ(problems_of(edited({"plan", "expert"}, "ep", std::int64_t{1} << 40)),
            (Lines{"plan.expert.ep: 1099511627776 is out of range"}));
  EXPECT_EQ(problems_of(edited({"model", "resolved"}, "hidden", 1'000'000'000'000'000'000)),
            (Lines{"model.resolved.hidden: 1000000000000000000 is out of range"}));
  EXPECT_EQ(problems_of(edited({"model", "resolved", "moe"}, "top_k", 300)),
            (Lines{"model.resolved.moe.top_k: top-k 300 > 256 experts"}));
  EXPECT_EQ(problems_of(edited({"model"}, "sha256", "ABC")),
            (Lines{"model.sha256: must be 64 lower-case hexadecimal digits"}));
  EXPECT_EQ(problems_of(edited({"workload"}, "imbalance", 0.5)),
            (Lines{"workload.imbalance: 0.5 is out of range"}));
  EXPECT_EQ(problems_of(edited({"model", "resolved", "attention"}, "kv_lora_rank", 0)),
            (Lines{"model.resolved.attention.kv_lora_rank: mla attention needs at least 1"}));
}

JsonValue list(std::initializer_list<JsonValue> items) {
  JsonValue out = JsonValue::array();
  for (const JsonValue& item : items) out.push_back(item);
  return out;
}

TEST(PlanDocument, Lists) {
  EXPECT_EQ(
      problems_of(edited({"plan"}, "recompute", list({"moe_atc", "router", "moe", "moe"}))),
      (Lines{"plan.recompute[0]: \"moe_atc\" is no module to recompute; did you mean moe_act?",
             "plan.recompute[1]: \"router\" is no module to recompute",
             "plan.recompute[3]: moe is listed twice"}));
  EXPECT_EQ(problems_of(edited({"model", "resolved", "moe"}, "dense_layers", list({6, 0, 0}))),
            (Lines{"model.resolved.moe.dense_layers[0]: must be a layer, from 0 to 5, not 6",
                   "model.resolved.moe.dense_layers[2]: layer 0 is listed twice"}));
}

TEST(PlanDocument, OffloadAndPrecisionWords) {
  EXPECT_EQ(problems_of(edited({"plan"}, "offload", list({"core_atn", "moe_act", "moe_act"}))),
            (Lines{"plan.offload[0]: \"core_atn\" is no module to offload; did you mean core_attn?",
                   "plan.offload[2]: moe_act is listed twice"}));
  for (const char* word : {"fp16", "fp8_delayed", "fp8_block"}) {
    const PlanDocument d = read_plan_document(edited({"plan"}, "precision", word), "plan.json");
    EXPECT_EQ(name_of(d.plan.precision), word);
  }
  const auto stages = [](const char* text) {
    return problems_of(edited({"plan"}, "stages", parse_json(text, "stages")));
  };
  EXPECT_EQ(
      stages(R"([{"stage": 0, "offload": ["moe"]}, {"recompute_layers": -1}])"),
      (Lines{"plan.stages[0].offload[0]: \"moe\" is no module to offload; did you mean moe_act?",
             "plan.stages[1].stage: missing",
             "plan.stages[1].recompute_layers: -1 is out of range"}));
  EXPECT_EQ(stages(R"([{"stage": 0, "layers": 2}])"),
            (Lines{"plan.stages[0].layers: unknown field"}));
  EXPECT_EQ(problems_of(edited({"plan"}, "recompute_layers", -1)),
            (Lines{"plan.recompute_layers: -1 is out of range"}));
}

TEST(PlanDocument, AllMissingPartsAtOnce) {
  const Lines lines = problems_of(R"({"schema_version": 1})");
  EXPECT_EQ(lines,
            (Lines{"model: missing", "workload: missing", "cluster: missing", "plan: missing"}));
}

TEST(PlanDocument, AnotherSchemaVersionIsRejected) {
  EXPECT_EQ(problems_of(edited({}, "schema_version", 2)).size(), 1u);
}

TEST(PlanDocument, AbsentPlanFieldsHaveTheirDefaults) {
  JsonValue plan = JsonValue::object();
  plan.set("attention", JsonValue::object().set("tp", 1).set("cp", 1).set("dp", 2).set("pp", 1))
      .set("expert", JsonValue::object().set("etp", 1).set("ep", 2).set("edp", 1));
  const PlanDocument d = read_plan_document(edited({}, "plan", std::move(plan)), "plan.json");
  Plan expected;
  expected.attention.dp = 2;
  expected.expert.ep = 2;
  EXPECT_EQ(d.plan, expected);
}

TEST(ShippedPlans, AreValidCanonicalAndStandAlone) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PLEAT_SOURCE_DIR "/configs/plans")) {
    if (entry.path().extension() != ".json") continue;
    const std::string text = read_text_file(entry.path().string());
    const PlanDocument d = read_plan_document(text, entry.path().string());
    EXPECT_EQ(write_plan_document(d), text) << entry.path();
    EXPECT_FALSE(d.provenance.empty());
    const std::string model = PLEAT_SOURCE_DIR "/configs/models/" + d.model_name + ".json";
    EXPECT_EQ(load_model(model).model, d.model) << entry.path();
    EXPECT_NO_THROW(require_valid({d.model, d.workload, d.plan, d.gpus}, entry.path().string()));
    ++count;
  }
  EXPECT_GE(count, 1);
}

}  // namespace
}  // namespace pleat
