// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Context parallelism, windows and packed documents: each way of sharing the sequence computes what
// one rank computes, and holds as many bytes as predicted.
#include <gtest/gtest.h>

#include <ostream>

#include "backend/context_shard.hpp"
#include "core/plan/rank_map.hpp"
#include "simulator/estimate.hpp"
#include "tests/backend/train_runs.hpp"
#include "tests/support/changed_plans.hpp"

namespace pleat {
namespace {

using test::recomputing_all;
using test::two_samples;
using test::unsharded;

using test::fp32_plan;
using Ints = std::vector<std::int32_t>;

TEST(ContextShard, GivesEachRankAnEarlyAndALateChunk) {
  EXPECT_EQ(positions({.seq = 5}), (Ints{0, 1, 2, 3, 4}));
  EXPECT_EQ(positions({.seq = 8, .ranks = 2, .first = 0}), (Ints{0, 1, 6, 7}));
  EXPECT_EQ(positions({.seq = 8, .ranks = 2, .first = 1}), (Ints{2, 3, 4, 5}));
  EXPECT_EQ(positions({.seq = 16, .ranks = 4, .first = 2, .count = 2}),
            (Ints{4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(positions({.seq = 16, .ranks = 4, .first = 0, .count = 2}),
            (Ints{0, 1, 2, 3, 12, 13, 14, 15}));
  EXPECT_EQ(positions({.seq = 8, .ranks = 2, .first = 0, .count = 2}),
            (Ints{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(ContextShard, PacksDocumentsInTurn) {
  const std::vector<std::int64_t> lengths{2, 1, 9};
  Ints starts(6);
  packed_documents(lengths, 0, starts);
  EXPECT_EQ(starts, (Ints{0, 0, 2, 3, 3, 3}));
  packed_documents(lengths, 4, starts);
  EXPECT_EQ(starts, (Ints{0, 1, 1, 1, 1, 1}));
}

TEST(ContextShard, QueriesSeeEarlierKeysOfTheirDocumentInTheWindow) {
  const Ints queries{0, 1, 6, 7}, keys{2, 3, 4, 5}, documents{0, 0, 0, 3, 3, 3, 3, 7};
  RowRange rows[4];
  const auto seen = [&](const KeyMask& mask) {
    Ints all;
    visible_rows(queries, keys, mask, rows);
    for (const RowRange& r : rows) all.insert(all.end(), {r[0], r[1]});
    return all;
  };
  EXPECT_EQ(seen({}), (Ints{0, 0, 0, 0, 0, 4, 0, 4}));
  EXPECT_EQ(seen({.documents = documents}), (Ints{0, 0, 0, 0, 1, 4, 4, 4}));
  EXPECT_EQ(seen({.documents = {}, .window = 3}), (Ints{0, 0, 0, 0, 2, 4, 3, 4}));
  EXPECT_EQ(seen({.documents = {}, .chunk = 4}), (Ints{0, 0, 0, 0, 2, 4, 2, 4}));
  const Ints late{6, 7};
  EXPECT_FALSE(visible_rows(keys, late, {}, rows));
}

struct ContextLayout {
  const char* name;
  Plan plan;
  friend std::ostream& operator<<(std::ostream& out, const ContextLayout& l) {
    return out << l.name;
  }
};

Plan context(CpComm comm, int cp, int inner = 0, int dp = 1, int ep = 1, int pp = 1) {
  Plan p = fp32_plan(dp, ep, pp);
  p.attention.cp = cp;
  p.expert.edp = cp * dp / ep;
  p.sharding = Sharding::zero1;
  p.cp_comm = comm;
  p.cp_a2a = inner;
  return p;
}

std::vector<ContextLayout> context_layouts() {
  using enum CpComm;
  return {{"ring2", context(p2p, 2)},
          {"ring4", context(p2p, 4)},
          {"gather2_two_samples", two_samples(context(all_gather, 2))},
          {"heads2", context(all_to_all, 2)},
          {"heads4_two_ranks_a_group", two_samples(context(all_to_all, 4))},
          {"heads2_ring2", context(a2a_p2p, 4, 2)},
          {"heads2_ring2_two_samples", two_samples(context(a2a_p2p, 4, 2))},
          {"ring2_dp2", unsharded(context(p2p, 2, 0, 2))},
          {"ring2_ep2", context(p2p, 2, 0, 1, 2)},
          {"heads2_ep4_dp2", context(all_to_all, 2, 0, 2, 4)},
          {"ring2_ep2_pp2_dp2", context(p2p, 2, 0, 2, 2, 2)},
          {"ring2_recomputed", recomputing_all(context(p2p, 2))},
          {"heads2_recomputed", recomputing_all(context(all_to_all, 2))}};
}

ModelSpec windowed(ModelSpec model, bool chunked) {
  LayerTraits near;
  near.window = chunked ? 8 : 5;
  near.chunked = chunked;
  model.layer_traits = {near, {}, near, near};
  return model;
}

WorkloadSpec packed() {
  WorkloadSpec w = test::small_workload();
  w.documents = {5, 1, 9, 30};
  return w;
}

class Contexts : public testing::TestWithParam<ContextLayout> {
 protected:
  static void compare(const ModelSpec& model, const WorkloadSpec& workload,
                      std::uint64_t seed = 19) {
    TrainConfig config = test::small_config(1);
    test::skew(config);
    config.seed = seed;  // no router's decision is close
    const TrainResult one = train(compile(model, workload, fp32_plan(), Runtime::pleat), config);
    const TrainResult many =
        train(compile(model, workload, GetParam().plan, Runtime::pleat), config);
    EXPECT_GE(one.min_router_margin, 1e-4);
    EXPECT_NEAR(many.steps[0].loss, one.steps[0].loss, 1e-5 * one.steps[0].loss);
    EXPECT_NEAR(many.steps[0].grad_norm, one.steps[0].grad_norm, 1e-5 * one.steps[0].grad_norm);
    test::expect_close(many.gradients, one.gradients, 1e-5);
  }
};

TEST_P(Contexts, GroupedQueries) {
  compare(test::biased(test::small_moe()), test::small_workload());
}
TEST_P(Contexts, LatentAttention) { compare(test::small_mla(), test::small_workload()); }
TEST_P(Contexts, Windows) {
  compare(windowed(test::biased(test::small_moe()), false), test::small_workload(), 20);
}
TEST_P(Contexts, ChunksOfTheSequence) {
  compare(windowed(test::biased(test::small_moe()), true), test::small_workload());
}
TEST_P(Contexts, Documents) { compare(test::biased(test::small_moe()), packed()); }
TEST_P(Contexts, DocumentsOfLatentAttention) { compare(test::small_mla(), packed()); }

TEST_P(Contexts, MemoryIsPredictedToTheByte) {
  TrainConfig config = test::small_config(1);
  config.forced_routing = true;
  const Plan& plan = GetParam().plan;
  for (const ModelSpec& model : {test::small_moe(), test::small_mla()}) {
    const Program program = compile(model, packed(), plan, Runtime::pleat);
    const TrainResult result = train(program, config);
    const std::int64_t balanced = balanced_routed_tokens(model, packed(), plan);
    for (int r = 0; r < plan.world(); ++r) {
      const auto stage = static_cast<std::size_t>(attention_coordinates(plan, Rank{r}).pp);
      EXPECT_EQ(
          result.ranks[static_cast<std::size_t>(r)].peak_live_bytes,
          peak_live_bytes(program.stages[stage], [&](MicroBatch, LayerIndex) { return balanced; }))
          << "rank " << r;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, Contexts, testing::ValuesIn(context_layouts()),
                         [](const auto& info) { return std::string(info.param.name); });

// A window or chunk of the whole sequence, one document as long: the mask changes nothing.
TEST(Masks, ThatHideNothingChangeNothing) {
  const TrainConfig config = test::small_config(1);
  const TrainResult plain = test::run(test::small_moe(), fp32_plan(), config);
  ModelSpec wide = windowed(test::small_moe(), false);
  for (LayerTraits& t : wide.layer_traits) t.window = t.window > 0 ? 16 : 0;
  WorkloadSpec one_document = test::small_workload();
  one_document.documents = {16};
  test::expect_same_bits(test::run(wide, fp32_plan(), config).gradients, plain.gradients);
  const TrainResult whole =
      train(compile(test::small_moe(), one_document, fp32_plan(), Runtime::pleat), config);
  test::expect_same_bits(whole.gradients, plain.gradients);
}

// Two sequences packed into one are trained as if each were alone: nothing looks across, positions
// begin anew.
TEST(Masks, PackedDocumentsAreSequencesOfTheirOwn) {
  TrainConfig config = test::small_config(1);
  test::skew(config);
  const ModelSpec model = test::biased(test::small_moe());
  WorkloadSpec halves{.seq_len = 32, .global_batch = 4};
  halves.documents = {16};
  // The text of four sequences of 32 is that of eight of 16.
  const TrainResult packed = train(compile(model, halves, fp32_plan(), Runtime::pleat), config);
  const TrainResult apart = test::run(model, fp32_plan(), config);
  EXPECT_NEAR(packed.steps[0].loss, apart.steps[0].loss, 1e-6 * apart.steps[0].loss);
  test::expect_close(packed.gradients, apart.gradients, 1e-5);
}

// The same documents, found by the token that ends them.
TEST(Masks, DocumentsOfTheData) {
  TrainConfig config = test::small_config(1);
  for (std::size_t i = 0; i < config.text.size(); ++i) {
    config.text[i] = i % 16 == 15 ? 63 : config.text[i] % 63;
  }
  WorkloadSpec workload{.seq_len = 32, .global_batch = 4};
  workload.documents = {16};
  const TrainResult by_length =
      train(compile(test::small_moe(), workload, fp32_plan(), Runtime::pleat), config);
  workload.documents = {};
  config.packing = {.end_of_document = 63, .reset_positions = true, .reset_attention = true};
  const TrainResult by_token =
      train(compile(test::small_moe(), workload, fp32_plan(), Runtime::pleat), config);
  test::expect_same_bits(by_token.gradients, by_length.gradients);
  const TrainResult shared = train(
      compile(test::small_moe(), workload, context(CpComm::p2p, 2), Runtime::pleat), config);
  test::expect_close(shared.gradients, by_length.gradients, 1e-5);
}

TEST(Masks, ChangeTheLoss) {
  const TrainConfig config = test::small_config(1);
  const double plain = test::run(test::small_moe(), fp32_plan(), config).steps[0].grad_norm;
  const auto changed = [&](const ModelSpec& model, const WorkloadSpec& workload) {
    return train(compile(model, workload, fp32_plan(), Runtime::pleat), config).steps[0].grad_norm;
  };
  EXPECT_NE(changed(windowed(test::small_moe(), false), test::small_workload()), plain);
  EXPECT_NE(changed(windowed(test::small_moe(), true), test::small_workload()), plain);
  EXPECT_NE(changed(test::small_moe(), packed()), plain);
}

// Megatron-LM issue 673: the loss must not be scaled by the size of the context group.
TEST(ContextParallelism, ScalesTheLossByTokensOnly) {
  const TrainConfig config = test::small_config(1);
  const double one = test::run(test::small_moe(), fp32_plan(), config).steps[0].loss;
  for (int cp : {2, 4, 8}) {
    const double many =
        test::run(test::small_moe(), context(CpComm::p2p, cp), config).steps[0].loss;
    EXPECT_NEAR(many, one, 1e-6 * one) << cp;
  }
}

}  // namespace
}  // namespace pleat
