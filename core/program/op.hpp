// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One operation of a program. Kinds are exact: each has one meaning, one executor in the backend
// and one price. Nobody has to look at the number of operands to know what an operation does.
//
// How to read a kind's comment: `operands -> results`, both by position. What stands in brackets is
// optional: an operation without it leaves that part out and is otherwise the same.
// Shapes: S tokens of the microbatch on this context shard, T = S/tp under sequence parallelism,
// R routed tokens received, h hidden, E experts, El local experts, k top-k.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/elementwise.hpp"
#include "core/ids.hpp"
#include "core/plan/plan.hpp"
#include "core/program/tensor.hpp"

namespace pleat {

enum class OpKind : std::uint8_t {
  // --- data
  load_tokens,  // () -> tokens[S] i32; `ahead`: the tokens that stand so many positions later
  load_labels,  // () -> labels[S] i32, or a part of them from number `first` on. With prediction
                // depths labels[(1+depths)S]: of every `depth_rows` rows there is a part for the
                // model's own label and one for each depth, d positions later; -1 where the
                // sequence has no more
  // --- embedding
  embedding,      // tokens[S], W[V/t,h] [, P[L,h]] -> x[S,h]: rows of W, zeros for tokens of other
                  // shards; plus bias_scale * P[position]
  embedding_bwd,  // dx[S,h], tokens[S] -> dW[V/t,h] [, dP] (both accumulate)
  // --- norms. rstd: 1/rms (layer_norm: 1/deviation) of each row, f32
  rms_norm,        // x[T,h], w[h] -> y[T,h], rstd[T]
  rms_norm_bwd,    // dy, x, w, rstd [, dresidual] -> dx[T,h], dw[h] (accumulates); dx += dresidual
  layer_norm,      // x[T,h], w[2,h] -> y[T,h], rstd[T]: w is a scale and a shift
  layer_norm_bwd,  // dy, x, w, rstd [, dresidual] -> dx[T,h], dw[2,h] (accumulates); dx +=
                   // dresidual
  rms_norm_quantize,  // x, w [, more] -> row[T,h], col[T,h], rstd[T] [, x + more]: the norm of x +
                      // more,
  // stored only as the two copies that `quantize` would make of it. The norm's own
  // result, the tensor `source`, is not stored
  head_norm,       // x[S,c], wq[d], wk[d] -> y[S,c], rstd[S,n+g]   q/k norm on packed qkv, v copied
  head_norm_bwd,   // dy, x, wq, wk, rstd -> dx, dwq, dwk (accumulate)
  slice_norm,      // x[S,c], w[r] -> y[S,r], rstd[S]: norm of the first r columns (MLA kv latent)
  slice_norm_bwd,  // dy, x, w, rstd -> dx[S,c] (first r columns; the rest is left), dw
                   // (accumulates)
  // --- matrix products, C[m,n] = op(A) op(B) (+ C if accumulate)
  gemm,          // A, B [, bias] -> C: the bias, times bias_scale, is added to every row.
                 // A weight's gradient (transpose_a): A, B [, A's row-wise copy] -> C [, dbias],
                 // dbias accumulates; in nvfp4 it is the sum of the copy's rows, which no Hadamard
                 // matrix has mixed
  grouped_gemm,  // A[R,k], B[El,n,k], counts [, bias[El,n] [, p[R]]] -> C: rows of each expert
                 // times
                 // its matrix, plus bias_scale * p * its bias. An input's gradient:
                 // A, B, counts [, bias] -> C [, dp[R]]. A weight's gradient (transpose_a):
                 // A[R,n], B[R,k], counts [, p] [, A's row-wise copy] -> C[El,n,k] [, dbias], where
                 // dbias accumulates rows times p, without bias_scale
  // --- attention
  rope,       // x[S,c] -> x (in place): turns the rotary columns
  rope_bwd,   // dx -> dx (in place)
  attention,  // qkv[S,(n+2g)d] [, keys] [, sinks] -> o[S,n*d], lse[S,n] f32: causal, b sequences
              // of s. keys: of the other context shards. sinks (last): a score for each head,
              // of a key without a value
  attention_bwd,  // do, qkv, o, lse [, keys] [, sinks] -> dqkv [, dkeys] [, dsinks (accumulates)]
  mla_attention,  // q[S,n*(dn+dr)], kv[S,n*(dn+dv)], kpe[S,rkv+dr] [, keys] -> o[S,n*dv], lse
  mla_attention_bwd,  // do, q, kv, kpe, o, lse [, keys] -> dq, dkv, dkpe (its rotary columns) [,
                      // dkeys]
  // --- context parallelism over heads: n ranks, S tokens of each
  split_heads,  // x[S,c] [, kpe] -> y[S*n,c/n]: each rank's share of the heads, by rank. MLA's kpe
                // has its rotary columns put between a head's keys and values
  join_heads,  // y[S*n,c/n] -> x[S,c] [, kpe]: the inverse; what several ranks were given is summed
  order_tokens,  // x[S*n,c] -> y: from the order of the ranks to the order of the sequence
  order_ranks,   // y -> x: the inverse
  // --- context parallelism by a ring: keys and values as gather_keys packs them
  pack_keys,    // qkv, or kv [, kpe] -> y[S,c]
  unpack_keys,  // dy[S,c] -> dqkv (its last columns), or dkv [, dkpe]
  // --- element-wise
  add,          // a, b [, c] -> y
  swiglu,       // u[T,2f] (gate | up) -> a[T,f]; attr.function if it is not silu(gate)*up, here and
                // below
  swiglu_bwd,   // da, u -> du
  gelu,         // u[T,f] -> a[T,f]
  gelu_bwd,     // da, u -> du
  swiglu_prob,  // u[R,2f], p[R] -> a[R,f] = silu(gate)*up*p
  swiglu_quantize,   // u[T,2f] [, p[R], counts] -> row[T,f], col[T,f]: swiglu's or swiglu_prob's
                     // result,
                     // stored only as the two copies that `quantize` would make of it. The result
                     // itself, the tensor `source`, is not stored
  swiglu_prob_bwd,   // da, u, p [, dp so far] -> du[R,2f], dp[R]
  sigmoid_gate,      // y[T,h], gate_logit[T,1] -> z = y*sigmoid(gate)
  sigmoid_gate_bwd,  // dz, y, gate_logit -> dy, dgate_logit
  // --- hybrid and other models (priced; the backend refuses what has no `function`)
  pointwise,      // any … -> y: element by element, attr.function of one or two operands
  pointwise_bwd,  // dy, the same … [, gradients so far] -> their gradients
  token_mixing,   // any … -> y [, lse]: a recurrence, an indexer, attention over compressed keys
  token_mixing_bwd,  // dy, the same …, y -> their gradients
  selected_attention,      // any … -> y: attention over the keys that an indexer picked
  selected_attention_bwd,  // dy, the same …, y -> their gradients
  wire_conversion,   // x -> (): the pass that converts rows for a narrow exchange, or back. Priced;
                     // the
                     // backend's exchange converts them itself
  // --- mixture of experts
  router_topk,      // logits[T,E] f32 [, bias[E]] -> probs[T,k] f32, experts[T,k] i32
  router_topk_bwd,  // dprobs[T,k], logits, probs, experts -> dlogits[T,E]
  router_stats,   // logits, experts -> stats[b,2E+1] f32: for each sequence the assignments and the
                  // summed scores of every expert, and the sum of squared log-sum-exps
  router_losses,  // stats -> loss (accumulates), times `scale`
  router_losses_bwd,  // dlogits, logits, stats -> dlogits (in place): their gradient added
  count_load,         // experts[T,k] -> load[E] f32 (accumulates)
  drop_tokens,    // probs[T,k], experts[T,k] -> kept[T,k] i32, counts[E] i32: -1 for a copy whose
                  // expert
                  // has attr.capacity better ones. Padded: every expert counts its capacity
  place_experts,  // experts[T,k] -> slots[T,k] i32: where the plan places them by load. Tokens of
                  // an expert with copies go to each in turn; -1 stays. E are slots from there on
  expert_counts,  // experts[T,k] -> counts[E] i32. Padded: attr.capacity for each of [ranks,E]
  permute,      // x[T,h], probs[T,k], experts[T,k], counts -> px[T*k,h], pp[T*k], row_map[T*k] i32:
                // a row for each copy, in the order of the experts. counts[El]: the copies for this
                // rank's experts only, row_map -1 for the others. Rows that a padded expert has
                // left are zero
  permute_bwd,  // dpx[T*k,h], dpp[T*k], row_map -> dx[T,h] (accumulates if asked), dprobs[T,k]
  sort_chunks,  // x[C,c], all_counts[ranks,E] -> y[C,c]: (etp peer, source, expert) order to
                // (expert, peer, source); ranks: etp fastest
  unsort_chunks,  // y[C,c], all_counts -> x[C,c]: the inverse
  local_counts,   // all_counts[ranks,E] -> group_counts[El] i32: rows per local expert
  unpermute,      // px[T*k,h], row_map -> y[T,h]: sum over the k copies
  unpermute_bwd,  // dy[T,h], row_map -> dpx[T*k,h]: copies
  // --- multi-token prediction
  concat_columns,      // a[T,c], b[T,c] -> y[T,2c]
  concat_columns_bwd,  // dy[T,2c] -> da[T,c], db[T,c]
  concat_rows,         // a[n,c], b[m,c] … -> y[n+m+…,c]
  concat_rows_bwd,     // dy[n+m+…,c] -> da[n,c], db[m,c] …
  // --- loss head
  ce_stats,  // logits[S,V/t], labels -> stats[S,3] f32: max, sum of exp, target logit (local)
  ce_loss,   // logits, labels, stats[t,S,3] -> logits (in place: dlogits), loss (accumulates). The
             // rows are those of the microbatch from `first` on. Of every `depth_rows` of these all
             // but the first part are of prediction depths: the gradient of depth d is scaled by
             // mtp_scale * (seq - 1) / (seq - d)
  // --- narrow operands of products. row: quantised along its columns, for products over these;
  // col: along its rows
  quantize,  // x [, counts] [, amax] -> row, col; or one of them alone: row, or col if `by_rows`.
             // counts: rows of each expert, which are quantised by themselves
  quantize_weight,   // W -> one copy, for a weight that was gathered for the layer
  quantize_weights,  // weights of a bucket -> narrow_copies of them, or weights in place
  transpose_codes,   // row -> col: the same codes for products over the rows
  // --- collectives (group in `group`). Kinds of one family (family_of) send the same messages
  all_gather,     // x[n,...] -> y[size*n,...]
  gather_keys,    // over cp or cp_ring: qkv (its last columns), or kv [, kpe] as split_heads packs
                  // them
                  // -> keys and values of every shard, in rank order
  gather_counts,  // counts[E] -> all_counts[ranks,E]: the host learns here how many rows arrive
  gather_peer_rows,    // over etp: x[R,c], all_counts -> y[C,c]: members have different numbers of
                       // rows
  gather_picked_rows,  // x[T,c], experts[T,k], group_counts[El] -> y[C,c]: of all ranks' tokens the
                       // copies
                       // for this rank's experts, in their order
  gather_weights,      // this rank's share of a layer's weights -> all of them (ZeRO-3)
  gather_bucket,   // weights, or Muon's momentum, of a bucket, in place: every rank's shard to all
  gather_matrix,   // momentum -> workspace: the parts of matrix number `first` that tp or etp has
                   // cut
  reduce_scatter,  // x[size*n,...] -> y[n,...]; if it accumulates, x is used up
  reduce_key_gradients,  // gradients of what gather_keys made -> those of this rank's keys and
                         // values
  reduce_peer_rows,      // over etp: y[C,c], all_counts -> x[R,c]: the opposite of gather_peer_rows
  reduce_picked_rows,    // y[C,c], experts[T,k], group_counts[El] -> x[T,c]: copies summed by token
  reduce_gradients,   // gradients of a layer's weights -> this rank's share is added to its shard,
                      // or written there (ZeRO-2, 3)
  reduce_bucket,      // gradients of a bucket, in place: each rank gets the sums of its shard
  all_reduce,         // x -> x (in place), or n elements of it from `first`
  all_reduce_amax,    // buffers, in place: the largest of n elements from `first`, none negative
  all_reduce_bucket,  // gradients of a bucket, in place
  all_reduce_replicated,  // gradients, in place: n elements of the bucket from `first`, of
                          // parameters that
                          // several ranks of tp hold alike, or of a table that several stages hold
  sum_expert_copies,  // gradients of a bucket, in place: those of copies of experts are added to
                      // the expert's own, at its home, and cleared
  spread_experts,     // weights of a bucket, in place: from the homes of experts to their copies
  all_to_all,          // over cp or cp_heads: x[S*n,c] -> y[S*n,c]  S rows to and from every rank
  all_to_all_back,     // the same, on the way back
  exchange_rows,       // x[T*k,c], all_counts -> y[R,c]: rows to the ranks that have their experts
  exchange_rows_back,  // y[R,c], all_counts -> x[T*k,c]
  exchange_sorted,     // exchange_rows whose result is in sort_chunks' order (tile-level overlap)
  exchange_sorted_back,  // y in sort_chunks' order, all_counts -> x[T*k,c]
  exchange_tokens,       // x[T,c], all_counts, experts[T,k] -> y[R,c]: copies are made on the way
                         // (DeepEP)
  exchange_tokens_back,  // y[R,c], all_counts, experts[T,k] -> x[T,c]: copies are summed on the way
  ring_shift,            // x -> y: to the next member of the group, from the one before
  send,                  // x -> ()   to the neighbouring stage
  recv,                  // () -> x
  // --- host memory
  offload,            // x -> ()   to host memory until `reload`
  reload,             // () -> x
  release,            // x -> ()   nothing; x is needed no longer
  offload_state,      // optimizer state -> its place in host memory, after the step
  reload_state,       // and back, before it
  offload_gradients,  // gradients -> host memory: of this rank's shard, n elements from `first`
  reload_weights,     // weights that the host has stepped -> their place on the device
  // --- step
  zero,       // () -> x: set to zero; n elements from `first` where it names them
  grad_norm,  // gradients … -> norm2[1] f32 (this rank's part, duplicates counted once)
  clip,       // norm2[1] -> scale[1]
  adamw,  // g, m, v, master, scale [, weights] [, scales of m] [, of v] -> m, v, master [, weights]
          // [, the scales]. weights: those that training reads, which the step rounds from master;
          // read, too, where master has their lower 16 bits (remainder16)
  lamb,   // g, m, v, master, scale -> m, v, g: the direction
  lamb_norms,  // g, master … -> norms[2,P] f32: squares of every parameter and of its direction, of
               // what this rank steps of them and no other rank of tp counts
  lamb_step,      // g, master, norms -> master
  momentum,       // g, m, master, scale -> m, master: SGD's step
  muon_momentum,  // g, m, scale -> m [, g, which is then the direction]
  newton_schulz,  // workspace -> workspace: five iterations on `experts` matrices [m, n]. Of a
                  // rank's
                  // matrix number `first`: g, or workspace with the parts of its peers -> workspace
  step_matrix,    // workspace, master -> master: by an orthogonal matrix, in what the rank steps of
                  // it
  copy,           // x -> y, converting the type
  cast_weights,   // master -> weights: of this rank's shard, n elements from `first`
  update_bias,    // buffers -> buffers (in place): n biases from `first`, after them their loads:
                  // bias += scale * sign(mean load of its `experts` - load)
  // Delayed scaling (core/program/amax_buffers.hpp), buffers in place: what the history says, and
  // what this step has seen into the history.
  past_amax, keep_amax,
};
inline constexpr std::size_t kOpKinds = static_cast<std::size_t>(OpKind::keep_amax) + 1;

enum class Phase : std::uint8_t { forward, backward, wgrad, recompute, step };

// Communication groups of one rank; see plan/rank_map.hpp for their members.
enum class Group : std::uint8_t {
  none, tp, cp, dp, dp_cp, ep, etp, edp, pp_next, pp_prev, embedding, world,
  cp_heads, cp_ring,        // hierarchical context parallelism: heads inside, a ring across
  etp_ep,                   // all ranks that hold a share of the experts (all-gather dispatcher)
  dp_shard, dp_replicas,    // of dp_cp: one set of shards, and the ranks that hold the same shard
  edp_shard, edp_replicas,  // of edp
  copies                    // DualPipe: the stages from both ends that hold the same layers
};
inline constexpr std::size_t kGroups = 20;

enum class Stream : std::uint8_t { compute, comm, copy };  // copy: to and from host memory
inline constexpr std::size_t kStreams = 3;

// Kind-specific numbers; unused ones stay zero.
struct OpAttributes {
  Dim m, n, k;  // gemm: rows, columns, depth; grouped: per rank totals. adamw, momentum,
                // copy: n elements of each operand
  bool transpose_a = false, transpose_b = false;
  bool accumulate = false;    // out[0] += result
  // But in the first microbatch of a step out[0] = result: a gradient that nothing has to clear
  // (passes/written_gradients.cpp, OpSite::first). reduce_gradients: so for its shard.
  bool first_writes = false;
  std::int64_t batch = 0, seq = 0;               // sequences of the microbatch, tokens of each
  std::int64_t heads = 0, kv_groups = 0, head_dim = 0, v_dim = 0, rope_dim = 0, nope_dim = 0;
  std::int64_t rope_offset = 0;  // first rotary column of a head
  std::int64_t experts = 0, local_experts = 0, top_k = 0;
  std::int64_t capacity = 0;  // rows of one rank's tokens that an expert takes
  bool padded = false;        // and has, whatever routing decides
  std::int64_t groups = 1, top_groups = 1;  // group-limited routing
  // load_labels, ce_loss: first row of a part of them. step: first of the n elements it works on;
  // Muon: number of the matrix
  std::int64_t first = 0;
  // all_reduce: 0: among all members of the group. tp: each run of so many consecutive members by
  // itself. embedding: among the so many stages that hold a table (SharedTable).
  std::int64_t run = 0;
  double score_passes = 0;    // attention that stores its scores: times they pass through memory
  double passes = 1;  // element-wise: times its operands' bytes, of a chain that is not fused;
                      // 0: done inside a neighbouring kernel (exchanges too)
  std::int64_t unfused_kernels = 0;  // of the chain that runs instead, beside its longest one
  // slice_norm: columns normalised; grouped_gemm: columns of one expert's B
  std::int64_t width = 0;
  bool by_rows = false;       // quantize: makes the column-wise copy alone
  bool gradient = false;      // quantize: of a gradient
  std::int64_t ahead = 0;     // load_tokens
  std::int64_t depth_rows = 0;  // load_labels, ce_loss; 0: no prediction depth
  std::int64_t depths = 0;      // and how many there are
  std::int64_t window = 0;    // attention: keys a query reaches, its own included; 0: all before it
  // attention in a ring: of so many equal parts of the scores, the one with keys that have come so
  // many steps; those of step 0 are the rank's own
  std::int64_t pieces = 0, piece = 0;
  double packed = 0;          // attention: mean length of the document a token lies in; 0: seq
  double slowest = 1;         // attention: work of the slowest rank over the mean
  TensorId source;  // reload: the layer's tensor that went to host memory; rms_norm_quantize,
                    // swiglu_quantize: the one that is quantised and not stored
  double flops = 0;           // token_mixing, selected_attention: work that no shape tells
  double wire = 1;            // exchanges: bytes that travel over those of the tensors
  double eps = 0, scale = 1;  // norms; attention and loss scale
  double mtp_scale = 0;       // ce_loss: of a prediction depth
  double bias_scale = 1;      // of a bias that each of several ranks adds to a part of a sum
  Elementwise function = Elementwise::none;  // pointwise, swiglu
  DType math = DType::fp32;   // type the tensor cores would use
};

struct Op {
  OpKind kind = OpKind::copy;
  std::string name;           // unique in its program: "fc1", "fc1.dgrad"
  Phase phase = Phase::forward;
  Module module = Module::residual;
  bool of_attention = false;  // of a decoder layer's first half, as what both halves have must say
  Group group = Group::none;
  Stream stream = Stream::compute;
  bool in_pieces = false;     // an exchange in pieces beside the op that reads or makes its tensor
  bool host_sync = false;     // the host reads a result: no CUDA graph may contain it
  bool on_host = false;       // the CPU's work
  std::vector<TensorId> in, out;
  OpAttributes attr;
  // An operation that a pass adds for another one is of the same part of the layer.
  void belongs_with(const Op& other) {
    module = other.module;
    of_attention = other.of_attention;
  }
};

// Kinds of a family cost the same and print the same name, that of its first kind: they differ in
// where their operands lie and which of them they take. gather_keys is of all_gather's family.
[[nodiscard]] OpKind family_of(OpKind);
[[nodiscard]] std::string name_of(OpKind);  // of its family
[[nodiscard]] std::string name_of(Phase);
[[nodiscard]] std::string name_of(Group);
[[nodiscard]] bool is_collective(OpKind);
[[nodiscard]] bool is_in_place(OpKind);  // out[0] is also in[0]

}  // namespace pleat
