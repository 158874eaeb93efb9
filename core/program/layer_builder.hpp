// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Builds a layer program by recording: each call appends a forward operation and remembers how to
// emit its backward operations. `finish` replays the record in reverse, like an autograd tape.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/program/layer_program.hpp"
#include "core/program/used_names.hpp"
#include "core/spec/model.hpp"
#include "core/spec/workload.hpp"

namespace pleat {

// Sizes of one rank's share, derived once from model, workload and plan.
struct LocalShape {
  LocalShape(const ModelSpec&, const WorkloadSpec&, const Plan&);
  const ModelSpec& model;
  const Plan& plan;
  std::int64_t seq = 0, batch = 0;   // tokens of a sequence, sequences of a microbatch
  std::int64_t S = 0;                // tokens of the microbatch on this context shard
  std::int64_t T = 0;                // S / tp under sequence parallelism, else S
  int tp = 1, cp = 1, ep = 1, etp = 1;
  std::int64_t slots = 0, local_experts = 0;  // experts of a layer, copies included; of this rank
  bool sp = false;                   // tp > 1 and sequence parallelism
  DType act = DType::bf16;           // activations and weights
  DType grad = DType::fp32;          // main gradients
  double loss_scale = 1;             // 1 / tokens of the global batch
  std::int64_t global_batch = 0;     // sequences
  double packed = 0;                 // mean length of a token's document; 0: seq
  double slowest = 1;                // scores of the slowest rank over the mean
  std::int64_t residual = 0;         // width between layers: h, times the streams
  std::int64_t capacity = 0;         // rows an expert takes of this rank's tokens; 0: all
  bool padded = false;               // and has, whatever routing decides
};

// A norm's parameters: a scale, and for LayerNorm a shift.
[[nodiscard]] std::vector<Dim> norm_dims(const ModelSpec&, std::int64_t width);

// `bias` is a weight as long as the output is wide. `rows`: x has another shape, of as many
// elements.
struct GemmOptions {
  std::optional<TensorId> bias;
  std::optional<Dim> rows;
  double bias_scale = 1;  // 1 / ranks where their outputs are summed afterwards
};

// `bias` has a row for each expert; `probs`: it counts times the row's probability.
struct GroupedBias {
  std::optional<TensorId> bias, probs;
  double scale = 1;  // 1 / ranks where their outputs are summed afterwards
};

// How often element-wise work moves its operands: once when one kernel does it all.
struct Passes {
  double forward = 1, backward = 1;
};

// A tensor that stands for another one, for some of a layer's tensors.
class TensorTable {
 public:
  [[nodiscard]] std::optional<TensorId> at(TensorId of) const {
    return of.index() < ids_.size() ? ids_[of.index()] : std::nullopt;
  }
  void set(TensorId of, TensorId id) {
    if (of.index() >= ids_.size()) ids_.resize(of.index() + 1);
    ids_[of.index()] = id;
  }

 private:
  std::vector<std::optional<TensorId>> ids_;
};

class LayerBuilder {
 public:
  LayerBuilder(LayerKind kind, const LocalShape& shape);
  [[nodiscard]] const LocalShape& shape() const { return shape_; }

  // --- tensors
  TensorId activation(const std::string& name, std::vector<Dim> dims, DType dtype);
  // Replicated over tp, or over etp where it is the experts'.
  TensorId weight(const std::string& name, std::vector<Dim> dims, Bucket bucket,
                  bool replicated = false, bool buffer = false);
  [[nodiscard]] const std::vector<Dim>& dims(TensorId t) const { return layer_.tensor(t).shape; }
  // How the weight is cut over tp (over etp if it is the experts'): in bands of its rows, or by its
  // columns.
  void cut_rows(TensorId weight, std::vector<Band> bands);
  void cut_columns(TensorId weight, std::int64_t whole);
  // A replicated weight that works on this rank's heads only: its gradient is a part of the sum
  // even where every rank holds all tokens.
  void sum_over_tp(TensorId weight);
  TensorId loss_accumulator();  // stands for StageProgram::loss
  TensorId set_input(std::vector<Dim> dims);  // "x"

  // --- recorded operations; each returns its output
  using GemmOptions = pleat::GemmOptions;
  TensorId gemm(const std::string& name, Module, TensorId x, TensorId w, DType out,
                const GemmOptions& = {});
  TensorId grouped_gemm(const std::string& name, Module, TensorId x, TensorId w, TensorId counts,
                        const GroupedBias& = {});
  // Element-wise work, priced by its bytes. The backward reads what the forward read.
  TensorId pointwise(const std::string& name, Module, std::vector<TensorId> in,
                     std::vector<Dim> dims, const Passes& = {}, Elementwise = Elementwise::none);
  // A recurrence, or attention over compressed keys, of so many FLOPs on this rank, forward and
  // backward.
  TensorId token_mixing(const std::string& name, Module, std::vector<TensorId> in,
                        std::vector<Dim> dims, double forward_flops, double backward_flops);
  // The same for attention over the keys that an indexer picked.
  TensorId selected_attention(const std::string& name, Module, std::vector<TensorId> in,
                              std::vector<Dim> dims, double forward_flops, double backward_flops);
  // `of_heads`: what follows is this rank's heads' work (sum_over_tp).
  TensorId rms_norm(const std::string& name, TensorId x, std::int64_t width, bool of_heads = false);
  TensorId add(const std::string& name, std::vector<TensorId> terms);
  // Sequence-parallel gather before, and reduction after, a tensor-parallel region. No-ops at tp 1.
  // The gathered tensor is not saved: the backward gathers again, as Megatron does.
  TensorId gather_tokens(const std::string& name, Module, TensorId x);
  TensorId reduce_tokens(const std::string& name, Module, TensorId x);

  // --- generic recording
  Op& push(OpKind kind, const std::string& name, Module module, std::vector<TensorId> in,
           std::vector<TensorId> out);
  void on_backward(std::function<void()> emit) {
    tape_.push_back({in_attention_, std::move(emit)});
  }
  // What is recorded until it is turned off, and its backward operations, are of the first half.
  void in_attention(bool on) { in_attention_ = on; }

  // --- during the replay
  Op& push_backward(OpKind kind, const std::string& name, Module module, Phase phase,
                    std::vector<TensorId> in, std::vector<TensorId> out);
  [[nodiscard]] bool has_gradient(TensorId of) const { return gradient_.at(of).has_value(); }
  [[nodiscard]] TensorId gradient(TensorId of) const;       // must exist
  TensorId new_gradient(TensorId of);                       // "d.<name>", same shape
  void set_gradient(TensorId of, TensorId gradient) { gradient_.set(of, gradient); }
  // The gradient to accumulate into (second: true), or a new one to overwrite (second: false).
  std::pair<TensorId, bool> gradient_to_accumulate(TensorId of);
  // New gradients of the tensors `of` that have one; `read` gets what is there of them so far.
  std::vector<TensorId> gradients_of(std::vector<TensorId>& read, const std::vector<TensorId>& of);
  [[nodiscard]] TensorId weight_gradient(TensorId weight);
  // What stands for `x` in the backward pass (re-gathered tensors); x itself by default.
  [[nodiscard]] TensorId in_backward(TensorId x);

  // Replays the record from the gradient of `output` (none: the head) and returns the program,
  // without lifetimes: passes come first.
  LayerProgram finish(std::optional<TensorId> output);

 private:
  TensorId add_tensor(Tensor t);
  struct MixingKinds {
    OpKind forward, backward;
  };
  TensorId mix(MixingKinds, const std::string& name, Module, std::vector<TensorId> in,
               std::vector<Dim> dims, double forward_flops, double backward_flops);
  Weight& weight_of(TensorId weight);
  void cut(TensorId weight, bool columns, std::vector<Band> bands);

  LocalShape shape_;
  LayerProgram layer_;
  struct Recorded {
    bool in_attention;
    std::function<void()> emit;
  };
  std::vector<Recorded> tape_;
  bool in_attention_ = false;
  TensorTable gradient_;
  std::map<TensorId, std::function<TensorId()>> regather_;  // gathered -> emits the gather again
  std::map<TensorId, TensorId> regathered_;
  UsedNames names_;
};

// How context parallelism shares an attention core: `heads` ranks split the heads and hold all of
// each other's tokens, `ring` such groups pass keys and values around (or gather them).
struct ContextShares {
  explicit ContextShares(const Plan&);
  int heads = 1, ring = 1;
  Group heads_group = Group::cp, ring_group = Group::cp;
};
// Columns of what is exchanged, of all heads of a tensor-parallel rank. With kv_groups: packed
// [heads * key | kv_groups * key | kv_groups * value], else heads * (key + rope + value), where the
// rotary part is in the exchanged tensor only and comes from another one.
struct HeadColumnsPlan {
  std::int64_t heads = 0, kv_groups = 0, key = 0, rope = 0, value = 0;
};
// An exchange of heads against sequence: x, of this rank's tokens or heads, becomes [dims]. The
// backward is the opposite exchange. `with`: the tensor that has the rotary part.
TensorId exchange_heads(LayerBuilder&, const std::string& name, TensorId x, std::vector<Dim> dims,
                        bool to_heads, const HeadColumnsPlan&, std::optional<TensorId> with = {});
// The same for a recurrence, whatever the plan's kind of context parallelism: x[S,c], of this
// rank's tokens, becomes [S*cp,channels], all tokens and this rank's channels, or the other way
// round.
TensorId exchange_channels(LayerBuilder&, const std::string& name, TensorId x,
                           std::int64_t channels, bool to_channels);
// What every rank of the context needs of all others' tokens: x[n,c] -> [n*cp,c]. The backward sums
// what they contributed. x itself without context parallelism.
TensorId gather_context(LayerBuilder&, const std::string& name, Module, TensorId x);
// All-gather dispatcher: all ranks that share the experts see all tokens. A gather whose backward
// is the reduce-scatter of the gradient, or the other way round. `moved`: elements that travel
// where the gathered side holds only rows of this rank's experts (a fused kernel picks or sums
// them); 0: all. `beside_rows`: it travels in the kernel that moves the rows.
TensorId share_tokens(LayerBuilder&, const std::string& name, Module, TensorId x,
                      const std::vector<Dim>& dims, DType, bool gather, std::int64_t moved = 0,
                      bool beside_rows = false);

// "Blocks": each appends one half of a layer to a builder and returns its output.
TensorId build_gqa(LayerBuilder&, TensorId x, const LayerTraits&);
TensorId build_mla(LayerBuilder&, TensorId x, const LayerTraits&);
TensorId build_compressed_attention(LayerBuilder&, TensorId x, const LayerTraits&);
TensorId build_recurrence(LayerBuilder&, TensorId x, Mixer);
TensorId build_mamba1(LayerBuilder&, TensorId x);
TensorId build_short_conv(LayerBuilder&, TensorId x);
TensorId build_mlp(LayerBuilder&, TensorId x);
TensorId build_moe(LayerBuilder&, TensorId x);

// What surrounds a half: it reads `in`, of width h, and `close_half` adds its terms to the
// residual. With hyper-connections `in` mixes the streams and the result is spread over them again.
struct Half {
  TensorId residual, in;
  std::optional<TensorId> mix;
};
Half open_half(LayerBuilder&, const std::string& name, TensorId x);
TensorId close_half(LayerBuilder&, const std::string& name, const Half&,
                    std::vector<TensorId> terms);
// h to all streams, and the streams to h by learned weights. x itself with one stream.
TensorId spread_streams(LayerBuilder&, const std::string& name, TensorId x);
TensorId join_streams(LayerBuilder&, const std::string& name, TensorId x, std::int64_t rows,
                      bool learned);

// The keys that an indexer keeps for every token [S, K]. `query` is what its queries are projected
// from, `all` all tokens' normed input; `keys` the key of every position (none: projected here).
TensorId build_indexer(LayerBuilder&, const LayerTraits&, TensorId query, TensorId all,
                       std::optional<TensorId> keys);

// What its MLPs and experts apply if no operation of its own does; none: not executed.
Elementwise activation_function(const ModelSpec&);

// The model's activation, gated (u holds gate | up) or plain; u has `rows` rows, the result `width`
// columns.
TensorId record_activation(LayerBuilder&, const std::string& name, Module, TensorId u, Dim rows,
                           std::int64_t width);

// Whole layers.
// Whether the model's final norm is in the prediction layer, which reads what it makes, rather than
// in the head. (With hyper-connections the head sums their streams first.)
[[nodiscard]] bool norm_before_depth(const ModelSpec&);
LayerProgram build_embedding_layer(const LocalShape&);
LayerProgram build_decoder_layer(const LocalShape&, bool moe, const LayerTraits& = {});
LayerProgram build_mtp_layer(const LocalShape&, bool moe, Runtime, int depth);
LayerProgram build_head_layer(const LocalShape&, bool mtp);
LayerProgram build_recv_layer(const LocalShape&, std::int64_t rows_factor);
LayerProgram build_send_layer(const LocalShape&, std::int64_t rows_factor);

}  // namespace pleat
