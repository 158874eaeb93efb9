// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The kernels a device offers, one function an OpKind that computes. CUDA-free: the CPU reference
// (kernels/cpu) and the CUDA set implement the same interface and pass the same conformance suite.
// Contract: inputs and outputs do not alias unless the function says so; kernels allocate nothing;
// calls are enqueued on the set's stream (the CPU runs them at once); results are deterministic.
// Types: activations, weights and their gradients are fp32 or bf16, each operand by itself; a
// kernel computes and sums in fp32 and rounds a bf16 result once, to nearest even. Statistics
// (rstd, lse, stats), router logits and probabilities, losses and the loads of experts are fp32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/dtype.hpp"
#include "core/elementwise.hpp"
#include "core/program/losses.hpp"
#include "core/spec/model.hpp"
#include "kernels/quantized.hpp"

namespace pleat {

// A row-major matrix or vector in device memory; columns are contiguous.
struct View {
  void* data = nullptr;
  DType dtype = DType::fp32;
  std::int64_t rows = 0, cols = 0;
  BlockScales* scales = nullptr;  // of fp8, mxfp8 and nvfp4, whose data are codes
  [[nodiscard]] std::int64_t elements() const { return rows * cols; }
  [[nodiscard]] std::byte* at(std::int64_t element) const {
    return static_cast<std::byte*>(data) + bytes_of(dtype, element);
  }
  [[nodiscard]] float* f32() const { return static_cast<float*>(data); }
  [[nodiscard]] std::int32_t* i32() const { return static_cast<std::int32_t*>(data); }
};

struct AttentionShape {
  std::int64_t batch = 1, seq = 0, heads = 0, kv_groups = 0, head_dim = 0;
  double scale = 1;
  std::int64_t v_dim = 0;  // columns of a value; 0: head_dim
  [[nodiscard]] std::int64_t value_dim() const { return v_dim > 0 ? v_dim : head_dim; }
  [[nodiscard]] std::int64_t columns() const {  // of packed qkv
    return (heads + kv_groups) * head_dim + kv_groups * value_dim();
  }
};
struct MlaShape {
  std::int64_t batch = 1, seq = 0, heads = 0, nope = 0, rope = 0, v = 0, kv_lora = 0;
  double scale = 1;
};
struct RopeShape {  // rotates columns [offset, offset+dim) of each of `heads` blocks of `stride`
  std::int64_t seq = 0, heads = 0, stride = 0, first = 0, offset = 0, dim = 0;
  double theta = 10000;
  RopeScaling scaling = {};
  bool interleaved = false;  // pairs are neighbouring columns
  const std::int32_t* positions = nullptr;  // of every row; none: row r is position r % seq
};
// Columns of x by head: those of head h are [first + (h / share) * stride, + width). No width: none.
struct HeadColumns {
  View x;
  std::int64_t first = 0, stride = 0, width = 0, share = 1;
};
// Attention of `batch` equal runs of query rows to as many runs of key rows, pieces of sequences.
// A query's key has two parts (MLA: without and with position), or one. visible[r] = [first, last):
// the rows, in its sequence's run of keys, that query r sees; [0, 0) is none.
struct AttentionPiece {
  std::int64_t batch = 1, heads = 0;
  double scale = 1;
  HeadColumns q[2], k[2], v;
  const std::int32_t (*visible)[2] = nullptr;
  // fp8, mxfp8: queries, keys, values and the gradient of o are rounded to it before products read
  // them (kernels/cpu/mixed_attention.cpp). A set without quantisation is not asked.
  DType math = DType::fp32;
};
struct AttentionPieceGradient {
  HeadColumns dq[2], dk[2], dv;
};
// Column blocks: to[:, to_first + i * to_stride + (0 … width)] = the same of `from`, i < blocks.
struct ColumnBlocks {
  std::int64_t blocks = 1, width = 0, from_first = 0, from_stride = 0, to_first = 0, to_stride = 0;
  bool add = false;  // to += from, blocks ascending
};
struct RouterShape {
  std::int64_t experts = 0, top_k = 0, groups = 1, top_groups = 1;
  RouterScore score = RouterScore::softmax;
  bool normalize = true;
  double scaling = 1;
};
// Of every `every` rows all but the first part are those of `depths` prediction depths: that of depth d
// is scaled by `scale` * (seq - 1) / (seq - d), and their losses are loss[1]. 0: none is.
struct DepthRows {
  std::int64_t every = 0;
  double scale = 0;
  std::int64_t depths = 1, seq = 0;
  [[nodiscard]] std::int64_t part_of(std::int64_t row) const {  // 0: the model's own
    return every > 0 ? row % every / (every / (1 + depths)) : 0;
  }
  [[nodiscard]] double scale_of(std::int64_t depth) const {
    if (depth == 1 || depth >= seq) return scale;
    return scale * static_cast<double>(seq - 1) / static_cast<double>(seq - depth);
  }
};
// Rows [first, first + rows) of the vocabulary on this rank; tokens from `size` on are padding.
struct VocabShard {
  std::int64_t first = 0, size = 0;
};
// Local experts [first_expert, first_expert + local), sources of `peers` ranks each.
struct ChunkShape {
  std::int64_t first_expert = 0, local = 0, peers = 1;
};
// Where the rows of a matrix lie in the microbatch: `first` in its order, `rows` of each sequence.
struct RouterRows {
  std::int64_t first = 0, rows = 1;
};
struct AdamW {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0;
  std::int64_t step = 1;  // 1-based
};

inline constexpr std::int64_t kMomentBlockElements = 128;
// A moment in its own type: element i is scales[i / kMomentBlockElements] * values[i] in fp16 and fp8 (E4M3),
// values[i] in fp32 and bf16. Scales are powers of two; written, the largest element of a block lies in
// the upper half of what its type holds.
struct Moment {
  View values;
  float* scales = nullptr;
};
struct ElementSpan {
  std::int64_t first = 0, elements = 0;
};
struct Sgd {
  double lr = 1e-3, momentum = 0.9, weight_decay = 0;
};

// A matrix' codes, with codes.scales, and how quantize makes them.
struct QuantizedCopy {
  View codes;
  Quantization how;
};

class KernelSet {
 public:
  virtual ~KernelSet() = default;

  // tokens[S] i32, w[rows,h] of the vocabulary from `first` -> x[S,h]; zeros for other shards' tokens
  virtual void embedding(View tokens, View w, std::int64_t first, View x) = 0;
  virtual void embedding_bwd(View dx, View tokens, std::int64_t first, View dw) = 0;  // dw += scatter(dx), token order
  // y = x * rstd * w, rstd = 1/sqrt(mean(x²)+eps) per row
  virtual void rms_norm(View x, View w, View y, View rstd, double eps) = 0;
  // dx = d(rms_norm)/dx (+ dresidual if it has data); dw += …
  virtual void rms_norm_bwd(View dy, View x, View w, View rstd, View dresidual, View dx, View dw) = 0;
  // w[2,h]: scale and shift; y = (x - mean) * rstd * scale + shift
  virtual void layer_norm(View x, View w, View y, View rstd, double eps) = 0;
  virtual void layer_norm_bwd(View dy, View x, View w, View rstd, View dresidual, View dx, View dw) = 0;
  // Packed qkv [S,(n+g)d+g*dv]: q heads normalised with wq[d], k heads with wk[d], v copied.
  virtual void head_norm(View x, View wq, View wk, View y, View rstd, const AttentionShape&, double eps) = 0;
  virtual void head_norm_bwd(View dy, View x, View wq, View wk, View rstd, View dx, View dwq, View dwk,
                             const AttentionShape&) = 0;
  // RMSNorm of the first w.cols columns of x into y; the others are left alone.
  virtual void slice_norm(View x, View w, View y, View rstd, double eps) = 0;
  virtual void slice_norm_bwd(View dy, View x, View w, View rstd, View dx, View dw) = 0;
  // c = op(a) op(b) (+ c). op transposes when asked. Shapes follow from the views.
  virtual void gemm(View a, bool transpose_a, View b, bool transpose_b, View c, bool accumulate) = 0;
  virtual void add_bias(View b, double scale, View y) = 0;          // every row of y += scale * b
  virtual void add_bias_bwd(View dy, double scale, View db) = 0;    // db += scale * sum of the rows
  // x[S,h] += scale * w[position]; row r is position r % seq. dw += …
  virtual void add_positions(View w, std::int64_t seq, double scale, View x) = 0;
  virtual void add_positions_bwd(View dx, std::int64_t seq, double scale, View dw) = 0;
  // Rows of `a` in `groups` runs of counts[i] rows. b is [groups*n, k] (one [n,k] an expert):
  //   forward: c[R,n] = a[R,k] b_i^T          dgrad (transpose_b false): c[R,k] = a[R,n] b_i
  virtual void grouped_gemm(View a, View b, bool transpose_b, View counts, View c) = 0;
  // c_i[n,k] (+)= a_i[rows,n]^T b_i[rows,k]; an empty group adds zero.
  virtual void grouped_wgrad(View a, View b, View counts, View c, bool accumulate) = 0;
  // Biases of experts, b[groups, n]: rows of y += scale * p * b of their group; p may have no data.
  // A set without them is not asked.
  virtual void grouped_bias(View b, View counts, View p, double scale, View y);
  virtual void grouped_bias_bwd(View dy, View counts, View p, View db);  // db += p * dy, by group
  virtual void grouped_bias_probs(View dy, View b, View counts, double scale, View dp);  // = scale dy·b
  virtual void rope(View x, const RopeShape&, bool inverse) = 0;  // in place
  // qkv packed [S,(n+g)d+g*dv] -> o[S,n*dv], lse[S,n]; causal in each of `batch` sequences.
  virtual void attention(View qkv, View o, View lse, const AttentionShape&) = 0;
  virtual void attention_bwd(View d_o, View qkv, View o, View lse, View dqkv, const AttentionShape&) = 0;
  // q[S,n*(nope+rope)], kv[S,n*(nope+v)], kpe[S,kv_lora+rope]: the last `rope` columns are k's rotary part.
  virtual void mla_attention(View q, View kv, View kpe, View o, View lse, const MlaShape&) = 0;
  virtual void mla_attention_bwd(View d_o, View q, View kv, View kpe, View o, View lse, View dq, View dkv,
                                 View dkpe, const MlaShape&) = 0;  // dkpe: only its last `rope` columns
  // y[T,2c] = a | b, and back
  virtual void concat_columns(View a, View b, View y) = 0;
  virtual void concat_columns_bwd(View dy, View da, View db) = 0;
  // One piece of the keys after another: `resume` goes on from the o and lse of the pieces before, as
  // if they were one. A query that has seen no key yet has o = 0, lse = -inf.
  virtual void attention_piece(const AttentionPiece&, HeadColumns o, View lse, bool resume) = 0;
  // lse and o of all pieces; adds to the gradients.
  virtual void attention_piece_bwd(const AttentionPiece&, HeadColumns d_o, HeadColumns o, View lse,
                                   const AttentionPieceGradient&) = 0;
  // o = 0, lse = the sink of its head: what attention_piece goes on from where every head has a key
  // with this score and no value. And their gradient, with o and lse of all pieces: dsinks += …
  // A set without them is not asked.
  virtual void start_at_sinks(View sinks, View o, View lse);
  virtual void sinks_bwd(View d_o, View o, View lse, View sinks, View dsinks);
  virtual void copy_columns(View from, View to, const ColumnBlocks&) = 0;
  virtual void add(View a, View b, View c, View y) = 0;  // c may have no data; y may be a
  virtual void swiglu(View u, View p, View y) = 0;       // p may have no data (no probability)
  virtual void swiglu_bwd(View dy, View u, View p, View du, View dp) = 0;
  virtual void gelu(View u, View y) = 0;                 // tanh approximation
  virtual void gelu_bwd(View dy, View u, View du) = 0;
  // b: the second operand, or a probability for each row, or no data (core/elementwise.hpp).
  virtual void pointwise(Elementwise, View a, View b, View y) = 0;
  virtual void pointwise_bwd(Elementwise, View dy, View a, View b, View da, View db) = 0;
  virtual void sigmoid_gate(View y, View gate, View z) = 0;
  virtual void sigmoid_gate_bwd(View dz, View y, View gate, View dy, View dgate) = 0;
  // Ties go to the lower expert index. bias may have no data.
  virtual void router_topk(View logits, View bias, View probs, View experts, const RouterShape&) = 0;
  virtual void router_topk_bwd(View dprobs, View logits, View probs, View experts, View dlogits,
                               const RouterShape&) = 0;
  // stats[b,2E+1]: of each sequence the assignments F and summed scores P of every expert, and the sum
  // of squared log-sum-exps Z. Row r belongs to sequence (first + r) / rows; sigmoid scores are
  // normalised over the experts.
  virtual void router_stats(View logits, View experts, View stats, const RouterShape&,
                            const RouterRows&) = 0;
  // values[3] += scale * (aux sum_e sum_b F sum_b P, seq_aux sum_b,e F P, z sum_b Z).
  virtual void router_losses(View stats, const RouterLossFactors&, double scale, View values) = 0;
  virtual void router_losses_bwd(View logits, View stats, View dlogits, const RouterShape&,
                                 const RouterRows&, const RouterLossFactors&) = 0;  // dlogits += …
  virtual void expert_counts(View experts, View counts) = 0;
  virtual void count_load(View experts, View load) = 0;  // load[E] f32 += how often each is there
  // Runs of `experts`: bias += step * sign(mean(load) - load).
  virtual void update_bias(View load, View bias, std::int64_t experts, double step) = 0;
  // Each expert keeps its `capacity` copies of the largest probability, ties go to the lower token.
  // kept[t*k+j] = experts[t*k+j], or -1; counts: the copies kept of each expert.
  virtual void drop_tokens(View probs, View experts, std::int64_t capacity, View kept, View counts) = 0;
  // Copies rows of the experts [first, first + counts) in expert order, within an expert in token
  // order; row_map[t*k+j] = row of copy j of token t, -1 where it has none. Rows that an expert
  // counts and no copy fills are zero.
  virtual void permute(View x, View probs, View experts, View counts, std::int64_t first, View px, View pp,
                       View row_map) = 0;
  virtual void permute_bwd(View dpx, View dpp, View row_map, View dx, View dprobs, bool accumulate) = 0;
  // all_counts[ranks,E]: rows that a rank sends to expert e. Ranks are `peers` beside each other for
  // every source. x is in (peer, source, expert) order, y in (expert, peer, source) order.
  virtual void sort_chunks(View x, View all_counts, const ChunkShape&, View y) = 0;
  virtual void unsort_chunks(View y, View all_counts, const ChunkShape&, View x) = 0;
  virtual void local_counts(View all_counts, std::int64_t first_expert, std::int64_t local, View counts) = 0;
  virtual void unpermute(View px, View row_map, View y) = 0;      // sum over the k copies, j ascending
  virtual void unpermute_bwd(View dy, View row_map, View dpx) = 0;  // zeros in rows of no copy
  // stats[S,3]: max, sum exp(logit - max), target logit (0 if the label is in another shard). Columns
  // of padding are left out.
  virtual void ce_stats(View logits, View labels, VocabShard, View stats) = 0;
  // gathered[shards*S,3]; logits become scale*(softmax - onehot), 0 in columns of padding;
  // loss[0] += scale * sum of token losses. A row with a negative label does not count: its logits
  // become 0.
  virtual void ce_loss(View logits, View labels, VocabShard, View gathered, double scale,
                       const DepthRows&, View loss) = 0;
  // y = codes of x, with y.scales. counts: rows of each group, quantised by itself; no data: all.
  // Products take quantised operands in place of others: of codes times scales, summed in fp32.
  // The reference has it; a set without it is not asked.
  virtual void quantize(View x, View counts, View y, const Quantization&);
  // quantize for each copy, to the bit; a set may read x once for all.
  virtual void quantize_copies(View x, View counts, std::span<const QuantizedCopy>);
  // x + residual -> sum where residual has data (sum may be x), rms_norm of that (or of x) -> y, and
  // y's copies: the bits of three calls. !keep: y is a shape and a type, nothing is written there and
  // it may have no data.
  virtual void rms_norm_quantize(View x, View residual, View sum, View w, View y, bool keep,
                                 View rstd, double eps, std::span<const QuantizedCopy>);
  // swiglu -> y, and y's copies, in the same way. A set without quantisation is not asked for either.
  virtual void swiglu_quantize(View u, View p, View counts, View y, bool keep,
                               std::span<const QuantizedCopy>);
  // amax[g] = the largest of row g of history[groups, length], none negative: Quantization::past_amax.
  // As quantize, a set without it is not asked.
  virtual void largest_of_history(View history, View amax);
  // For what moves scales between ranks: from the device's memory to the vectors of y.scales, which
  // waits, and from the vectors to the device's memory. Nothing where the vectors are what kernels use.
  virtual void read_scales(View y);
  virtual void write_scales(View y);
  virtual void zero(View x) = 0;
  virtual void copy(View x, View y) = 0;      // converts between fp32 and bf16
  virtual double sum_of_squares(View x) = 0;  // fp64 accumulation, fixed order
  virtual void adamw(View g, View m, View v, View w, double grad_scale, const AdamW&) = 0;
  // LAMB's direction: moments as AdamW's, g = mean / (root + eps) + weight_decay * w. w stays.
  virtual void lamb(View g, View m, View v, View w, double grad_scale, const AdamW&) = 0;
  // AdamW in fp32 arithmetic on moments that are stored in other types, rounded to nearest even.
  // `undecayed`, in order: elements without weight decay.
  virtual void adamw_narrow(View g, Moment m, Moment v, View w, double grad_scale, const AdamW&,
                            std::span<const ElementSpan> undecayed) = 0;
  virtual void read_moment(Moment from, View to) = 0;   // to fp32
  virtual void write_moment(View from, Moment to) = 0;  // from fp32
  // fp32 numbers and their halves (kernels/cpu/optimizer.cpp): bf16 weights, 16 bits of rest each.
  virtual void join_halves(View weights, View rests, View to) = 0;
  virtual void split_halves(View from, View weights, View rests) = 0;
  // m = momentum * m + (grad_scale * g + weight_decay * w); w -= lr * m.
  virtual void sgd(View g, View m, View w, double grad_scale, const Sgd&) = 0;
  // Muon: m = beta * m + (1 - beta) * grad_scale * g; g = m, with nesterov
  // beta * m + (1 - beta) * grad_scale * g.
  virtual void muon_momentum(View g, View m, double grad_scale, double beta, bool nesterov) = 0;
  // x[m,n] = x / |x|, then five times a x + (b y + c y y) x with y = x x^T (or, with more rows than
  // columns, from the right with x^T x). `work` has 2 m n elements.
  virtual void newton_schulz(View x, View work) = 0;
  virtual void scaled_step(View u, View w, double keep, double rate) = 0;  // w = keep * w - rate * u
};

[[nodiscard]] std::unique_ptr<KernelSet> cpu_kernels();

}  // namespace pleat
