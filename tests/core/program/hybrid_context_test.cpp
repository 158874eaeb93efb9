// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Context parallelism of what is not plain attention: what a layer's exchanges move, counted here
// by hand from the sizes of the published models.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <ostream>

#include "core/program/program.hpp"
#include "core/spec/catalog.hpp"
#include "tests/support/small_models.hpp"

namespace pleat {
namespace {

constexpr std::int64_t kLongSeq = 4096;

struct Moved {
  OpKind kind;
  std::int64_t elements;  // that a rank sends, or holds of its own before a gather
  bool operator==(const Moved&) const = default;
};
void PrintTo(const Moved& m, std::ostream* out) {
  *out << name_of(m.kind) << " " << m.elements;
}

using Exchanges = std::map<std::string, Moved>;

// Exchanges over cp of the first layer with these traits, of the forward or the backward pass.
Exchanges exchanges(const std::string& model, int tp, int cp, bool backward,
                    const std::function<bool(const LayerTraits&)>& wanted) {
  const ModelSpec m = load_model(model).model;
  Plan plan = test::fp32_plan();
  plan.precision = Precision::bf16;
  plan.attention.tp = tp;
  plan.attention.cp = cp;
  plan.cp_comm = CpComm::all_gather;
  const Program program =
      compile(m, {.seq_len = kLongSeq, .global_batch = 1}, plan, Runtime::megatron);
  const StageProgram& stage = program.stages[0];
  Exchanges found;
  for (const LayerInstance& instance : stage.chunks[0].instances) {
    const LayerProgram& layer = stage.program(instance);
    if (instance.layer.value < 0 || instance.layer.value >= m.layers ||
        !wanted(m.traits(instance.layer.value))) continue;
    for (const Op& op : backward ? layer.backward : layer.forward) {
      if (op.group != Group::cp || !is_collective(op.kind)) continue;
      const bool scatters = op.kind == OpKind::reduce_scatter ||
                            op.kind == OpKind::reduce_key_gradients;
      const Tensor& t = layer.tensor(scatters ? op.out.front() : op.in.front());
      std::int64_t elements = 1;
      for (const Dim& d : t.shape) elements *= d.n;
      found[op.name] = {op.kind, elements};
    }
    break;
  }
  return found;
}

// Gated DeltaNet of Qwen3-Next-80B: 16 key heads and 32 value heads of 128 (Megatron-LM
// gated_delta_net.py: q, k, v, gate, beta and alpha to heads, the gated norm's result back).
TEST(HybridContext, GatedDeltaNetExchangesChannelsForTokens) {
  const auto gdn = [](const LayerTraits& t) { return t.mixer == Mixer::gated_delta_net; };
  const std::int64_t rows = kLongSeq / 4, heads = 32 / 2;
  const std::int64_t keys = 16 * 128 / 2, values = 32 * 128 / 2;
  const Exchanges forward{
      {"in_proj.heads", {OpKind::all_to_all, rows * (2 * keys + values)}},
      {"out_gate.heads", {OpKind::all_to_all, rows * values}},
      {"steer0.heads", {OpKind::all_to_all, rows * 2 * heads}},
      {"scan.tokens", {OpKind::all_to_all_back, rows * values}}};
  EXPECT_EQ(exchanges("qwen3-next-80b-a3b", 2, 4, false, gdn), forward);
  const Exchanges backward{
      {"in_proj.heads.bwd", {OpKind::all_to_all_back, rows * (2 * keys + values)}},
      {"out_gate.heads.bwd", {OpKind::all_to_all_back, rows * values}},
      {"steer0.heads.bwd", {OpKind::all_to_all_back, rows * 2 * heads}},
      {"scan.tokens.bwd", {OpKind::all_to_all, rows * values}}};
  EXPECT_EQ(exchanges("qwen3-next-80b-a3b", 2, 4, true, gdn), backward);
}

// Mamba-2 of Nemotron-3-Nano: 64 heads of 64, 8 groups with a state of 128. On 16 ranks a group's B
// and C are copied to two (mamba_context_parallel.py, group_repeat_count).
TEST(HybridContext, MambaCopiesGroupsThatSeveralRanksNeed) {
  const auto mamba = [](const LayerTraits& t) { return t.mixer == Mixer::mamba2; };
  const std::int64_t inner = 64 * 64, state = 128;
  for (const auto& [cp, groups] : {std::pair{8, 8}, std::pair{16, 16}}) {
    const std::int64_t rows = kLongSeq / cp;
    const Exchanges forward{
        {"in_proj.heads", {OpKind::all_to_all, rows * (inner + 2 * groups * state)}},
        {"out_gate.heads", {OpKind::all_to_all, rows * inner}},
        {"steer0.heads", {OpKind::all_to_all, rows * 64}},
        {"scan.tokens", {OpKind::all_to_all_back, rows * inner}}};
    EXPECT_EQ(exchanges("nemotron-3-nano", 1, cp, false, mamba), forward) << cp;
  }
}

// DeepSeek-V3.2: the latent of 512 with a rotary part of 64, and the indexer's key of 128 (dsa.py).
TEST(HybridContext, SparseAttentionGathersLatentsAndIndexKeys) {
  const auto sparse = [](const LayerTraits& t) { return t.sparse; };
  const std::int64_t rows = kLongSeq / 2;
  EXPECT_EQ(exchanges("deepseek-v3.2", 1, 2, false, sparse),
            (Exchanges{{"kv.cp", {OpKind::all_gather, rows * 576}},
                       {"index.k.cp", {OpKind::all_gather, rows * 128}}}));
  EXPECT_EQ(exchanges("deepseek-v3.2", 1, 2, true, sparse),
            (Exchanges{{"kv.cp.bwd", {OpKind::reduce_scatter, rows * 576}},
                       {"index.k.cp.bwd", {OpKind::reduce_scatter, rows * 128}}}));
}

}  // namespace
}  // namespace pleat
