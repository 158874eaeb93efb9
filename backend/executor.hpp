// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Executes one rank's program, operation by operation, in the order of walk_step. It decides
// nothing: storage is born and freed where the program says, and every operation is one call to the
// kernels or to a communicator.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "backend/data/batches.hpp"
#include "backend/init.hpp"
#include "backend/log/expert_load.hpp"
#include "backend/optimizer/weight_decay.hpp"
#include "backend/rank_context.hpp"
#include "backend/rank_progress.hpp"
#include "backend/runtime/execution_error.hpp"
#include "backend/runtime/graph_cache.hpp"
#include "backend/runtime/stream_order.hpp"
#include "backend/runtime/tensor_store.hpp"
#include "backend/span_recorder.hpp"
#include "backend/step_windows.hpp"
#include "backend/trainer.hpp"
#include "core/program/losses.hpp"
#include "kernels/device.hpp"

namespace pleat {

// Elements [offset, …) of a bucket.
struct BucketRange {
  std::int64_t offset = 0;
  std::vector<float> values;
  bool operator==(const BucketRange&) const = default;
};

// Elements [begin, begin + values.elements()) of a padded bucket that training has to keep.
struct KeptRange {
  const char* kind = "";     // "weight", "main", "exp_avg", "exp_avg_sq"
  std::size_t bucket = 0;
  std::int64_t begin = 0;
  View values;
};

class Executor final : private StepVisitor {
 public:
  // The arguments must outlive the executor, which keeps `progress` up to date.
  Executor(const Program&, const TrainConfig&, const RankContext&, const Batches&, Device&,
           RankProgress& progress);

  // Runs one step. Throws ExecutionError when the program cannot be executed as written.
  void run_step(int step, SpanRecorder* spans);

  // The losses of a global batch, as after a step, by the forward half of the stage's program
  // (core/program/evaluation.hpp). Changes nothing that training or what is reported of it depends on.
  [[nodiscard]] Losses evaluate(const StageProgram& forward, const Batches&, int batch);

  // Of the last step: the sums over this rank's microbatches, 0 where another rank has the same one,
  // and the norm before clipping.
  [[nodiscard]] const Losses& losses() const { return losses_; }
  [[nodiscard]] double grad_norm() const { return grad_norm_; }
  [[nodiscard]] const std::map<std::pair<int, int>, Binding>& routed() const { return routed_; }
  [[nodiscard]] std::int64_t peak_live_bytes() const { return store_.arena().peak(); }
  [[nodiscard]] std::int64_t block_bytes() const { return store_.arena().taken(); }
  [[nodiscard]] std::int64_t peak_host_bytes() const { return store_.host().peak(); }
  [[nodiscard]] double min_router_margin() const { return min_margin_; }
  // What the optimizer last saw of each bucket on this rank.
  [[nodiscard]] const std::map<Bucket, std::vector<BucketRange>>& gradient_shards() const {
    return shards_;
  }
  [[nodiscard]] std::vector<BucketRange> weights(Bucket);  // all that this rank holds
  [[nodiscard]] std::vector<float> buffers(Bucket);  // behind its weights, whole on every rank

  // Between steps. What this rank needs to go on: all weights that it holds, and its shard of the
  // state. Or what it saves: of weights its shard too, and nothing that an earlier rank saves.
  [[nodiscard]] std::vector<KeptRange> kept_ranges(bool to_save);
  // Steps that changed the weights. A step whose gradients are not finite changes nothing, on any
  // rank: the norm that all ranks share tells them.
  [[nodiscard]] std::int64_t updates() const { return updates_; }
  [[nodiscard]] bool skipped() const { return skipped_; }
  [[nodiscard]] double lr() const { return lr_; }  // of the last step
  // The kept ranges were filled from a checkpoint with so many updates.
  void restored(std::int64_t updates) {
    updates_ = updates;
    narrow_again();
    split_again();
    refresh_host_weights();
  }
  [[nodiscard]] const ExpertLoad& expert_load() const { return load_; }  // of the last step
  // This rank's part of the squared norm of the last step.
  [[nodiscard]] float norm_part() const { return norm_part_; }

  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] const StageProgram& stage() const { return stage_; }
  [[nodiscard]] const RankContext& context() const { return context_; }
  // Between kept ranges, which may be hidden from the host, and the host.
  [[nodiscard]] Device& device() const { return device_; }

 private:
  // An operation with its operands resolved. `site` is null at step level.
  struct Call {
    const Op& op;
    const OpSite* site;
    std::span<const View> in, out;
    View staged = {};  // the host's rows where they are in pinned memory already
  };

  void on_birth(const OpSite&, const InstanceKey&, const Tensor&) override;
  void on_op(const OpSite&) override;
  void on_death(const OpSite&, const InstanceKey&, const Tensor&) override;
  void on_stash(const OpSite&, const InstanceKey&, const Tensor&) override;
  void on_unstash(const OpSite&, const InstanceKey&, const Tensor&) override;

  [[nodiscard]] Losses own_losses();
  void initialise_weights();
  void initialise(const NamedPart&, InitialValue, View part) const;  // in host memory
  // The CPU's for what it computes, wherever the rank's other kernels run.
  [[nodiscard]] KernelSet& kernels_of(const Op& op) { return op.on_host ? host_kernels_ : kernels_; }
  [[nodiscard]] KernelSet& kernels_at(View v) {
    return device_.hidden(v.data) ? kernels_ : host_kernels_;
  }
  void copy_between(View from, View to);  // converts; either may lie in host memory
  void adjust_gradients();
  void run_step_ops(const std::vector<Op>&, bool epilogue);
  void perform(const Op&, const OpSite*);
  [[nodiscard]] View operand(const Op&, const OpSite*, TensorId, bool reads);
  [[nodiscard]] Binding binding(const OpSite&, const Tensor&) const;

  [[nodiscard]] bool in_graph(const Op&, const OpSite*) const;  // execute_graphs.cpp
  [[nodiscard]] bool has_kernels_alone(const Op&) const;
  void add_to_graph(const Call&);
  [[nodiscard]] View staged(const Call&);
  void run_waiting();
  void finish_given();  // executor.cpp
  [[nodiscard]] int stream_of(const Op&, const OpSite*) const;  // execute_streams.cpp
  void begin_on_stream(const Op&, const OpSite*);
  void dispatch(const Call&);   // execute.cpp
  void gemm(const Call&);
  [[nodiscard]] static bool turned_gradient(const Op&);
  [[nodiscard]] View bias_gradient_operand(const Call&);
  void pointwise_backward(const Call&);
  void add_gradient_so_far(const Call&);
  void attention(const Call&);  // execute_attention.cpp
  void attention_backward(const Call&);
  void rope(const Call&, bool inverse);
  struct AttentionPieces;
  [[nodiscard]] AttentionPieces attention_pieces(const Call&) const;
  [[nodiscard]] bool is_plain_attention(const Call&) const;
  [[nodiscard]] bool has_sinks(const Call&) const;
  [[nodiscard]] View sinks_of(const Call&, View all) const;
  void fill_tokens(const Call&, View tokens);  // execute_context.cpp; in host memory
  void fill_labels(const Call&, View labels);
  void read_labels(const Call&);
  [[nodiscard]] std::vector<std::int32_t> own_tokens(const Call&) const;
  void add_positions(const Call&);
  [[nodiscard]] std::vector<std::int32_t> document_starts(const OpSite&) const;
  [[nodiscard]] std::vector<std::int32_t> token_positions(const OpSite&) const;
  void pack_keys(const Call&, View piece);
  void unpack_keys(const Call&, View piece);
  void gather_keys(const Call&);
  void scatter_key_gradients(const Call&);
  void exchange_columns(const Call&, bool split);
  void exchange_rows_order(const Call&, bool to_sequence);
  [[nodiscard]] static int layer_of_result(const Call&);  // execute_moe.cpp
  void router(const Call&);
  void router_backward(const Call&);
  void router_losses(const Call&);
  void update_bias(const Call&);
  void grouped_gemm(const Call&);
  void quantize(const Call&);  // execute_quantize.cpp
  void quantize_weights(const Call&);
  [[nodiscard]] std::vector<QuantizedCopy> quantized_copies(const Call&) const;
  [[nodiscard]] View unstored(const Call&) const;
  void rms_norm_quantize(const Call&);
  [[nodiscard]] View equal_groups(std::int64_t groups, std::int64_t rows);
  struct Aside {  // memory for the time of an operation, where the kernels read it
    Block block;
    View kept;
    [[nodiscard]] View view() const { return kept; }
  };
  [[nodiscard]] Aside aside(DType, std::int64_t rows, std::int64_t cols);
  void quantize_weight(View weight, const Tensor&, View to, bool column);
  void gather_quantized(const Call&, Communicator&);
  [[nodiscard]] View narrow_copy(const WeightSlot&, const Tensor&, bool column, bool reads);
  [[nodiscard]] View second_operand(const Call&);
  void permute_backward(const Call&);
  void reorder_chunks(const Call&, bool sort);
  [[nodiscard]] View hosts_rows(const Call&) const;  // execute_host_rows.cpp
  void fill_hosts_rows(const Call&, View rows);
  void upload(const Call&);
  void drop_tokens(const Call&);
  void count_copies(const Call&);
  void learn_rows(const Call&);
  void permute(const Call&);
  using Counts = std::span<const std::int32_t>;
  void bind_kept(const Call&, Counts);
  void bind_routed(const Call&, Counts all);
  void make_room(const Call&, Binding& rows) const;
  [[nodiscard]] std::int64_t rows_of_peer(Counts all, int peer) const;
  // Of a tensor of counts whose contents are final: read from the device once.
  [[nodiscard]] Counts counts_on_host(const Call&, TensorId, View);
  void exchange_tokens(const Call&, bool back);  // execute_tokens.cpp
  void exchange_sorted_rows(const Call&, std::int64_t columns, bool back);  // execute_tiles.cpp
  void share_picked_rows(const Call&, Communicator&);
  void exchange_rows(const Call&, bool back);    // execute_comm.cpp
  void exchange_rows_of(const Call&, View from, View to, std::int64_t columns, bool back);
  void collective(const Call&);
  void share_rows(const Call&, Communicator&);
  void share_narrow_rows(const Call&, Communicator&);
  void reduce_scatter(const Call&, Communicator&);
  void exchange_of_peers(const Call&, Communicator&);
  void all_reduce(const Call&);
  void all_reduce_pieces(const Call&);
  void send_or_recv(const Call&);
  void ring_shift(const Call&);
  void bucket_collective(const Call&);  // execute_step.cpp
  void sum_gradients(const Op&, Communicator&, View all);
  void sum_gradients(const Op&, Communicator&, View all, View mine);
  [[nodiscard]] Aside sum_of_rounded(Communicator&, View all, std::span<const std::int64_t> shares);
  void grad_norm(const Call&);
  [[nodiscard]] double sum_of_squares(Bucket, View gradients);
  struct Elsewhere {  // elements of a bucket that another rank counts and saves
    std::int64_t first = 0, elements = 0;
  };
  [[nodiscard]] std::vector<Elsewhere> counted_elsewhere(Bucket) const;  // in order
  // This rank's place among those that have the same elements (Copies).
  [[nodiscard]] int place_in_copies(Bucket which) const {
    return static_cast<int>(which) % 2 == 1 ? context_.expert().etp : context_.attention().tp;
  }
  void clip(const Call&);  // execute_optimizer.cpp
  void adamw(const Call&);
  struct OptimizerRun;
  void adamw_narrow(const Call&, Bucket, const AdamW&, double scale);
  void adamw_of_halves(const Call&, const OptimizerRun&, View gradients,
                       const AdamW&);  // execute_remainder.cpp
  void with_joined(const Call&, const OptimizerRun&, const std::function<void(View)>& step);
  struct WideMain {  // of remainders, while they are saved or restored
    std::size_t bucket = 0;
    StateSegment segment;
    std::vector<float> values;
  };
  [[nodiscard]] View widen_main(std::size_t bucket, const StateSegment&);
  void split_again();
  template <class Visit>
  void for_each_half(WideMain&, Visit);
  void momentum(const Call&);
  void lamb(const Call&);  // execute_lamb.cpp
  void lamb_norms(const Call&);
  void lamb_step(const Call&);
  template <class Visit>
  void for_each_parameter(const Op&, Bucket, Visit);
  void muon_momentum(const Call&);  // execute_muon.cpp
  void gather_matrix(const Call&);
  void newton_schulz(const Call&);
  void step_matrix(const Call&);
  [[nodiscard]] static View in_workspace(View workspace, int which, std::int64_t rows,
                                         std::int64_t columns);
  [[nodiscard]] Bucket bucket_of_workspace(const Op&, TensorId) const;
  [[nodiscard]] const MatrixPart* matrix_of(const Op&, Bucket) const;
  struct OptimizerRun {  // of a bucket, with one weight decay
    std::int64_t whole = 0, shard = 0, state = 0;  // its first element in bucket, shard, state
    std::int64_t elements = 0;
    bool decays = true;
  };
  [[nodiscard]] std::vector<OptimizerRun> optimizer_runs(const Op&, Bucket) const;
  // In the bucket's tensors, or in those of a part that the host steps.
  [[nodiscard]] View gradients_of(const Op&, const OptimizerRun&, View tensor) const;
  [[nodiscard]] View weights_of(const Op&, const OptimizerRun&, View tensor,
                                const BucketState&) const;
  void keep_gradients(Bucket, const OptimizerRun&, View gradients);
  void cast_weights(const Call&);
  [[nodiscard]] Bucket bucket_of(const Op&, TensorId) const;
  struct BucketPlace {
    std::int64_t parts = 1, part = 0;  // of one set of shards: its ranks, and which this one is
    std::int64_t index = 0;            // of this rank's shard among all
    bool first_of_replicas = true;     // no other rank's copy of the shard comes before
  };
  [[nodiscard]] BucketPlace bucket_place(Bucket) const;
  // The pieces of a bucket that this rank steps: [whole, +elements) of the padded bucket are
  // [shard, +elements) of its shard.
  struct Piece {
    std::int64_t whole = 0, shard = 0, elements = 0;
  };
  [[nodiscard]] std::vector<Piece> pieces(Bucket) const;
  [[nodiscard]] std::vector<BucketUnit> units(Bucket) const;
  // A piece in a tensor of the whole bucket, or in one of the shard alone.
  [[nodiscard]] static View piece_of(const Piece&, View tensor, bool shard_only);
  [[nodiscard]] bool gradients_in_shards() const;  // ZeRO-2 and 3
  [[nodiscard]] bool weights_in_shards() const;    // ZeRO-3
  void offload(const Call&);                       // execute_offload.cpp
  void reload(const Call&);
  void move_state(const Call&, View here, View there, bool back);
  void initialise_main_params();
  void widen_weights();
  void gather_weights(bool narrow_only);
  void refresh_host_weights();
  template <class Chosen>
  void copy_weights(Chosen, bool back);
  // Moments with scales as fp32, while they are saved or restored.
  struct WideMoment {
    std::size_t bucket = 0;
    std::int64_t first = 0;  // of the shard
    TensorId moment, scales;
    std::vector<float> values;
  };
  [[nodiscard]] View widen(std::size_t bucket, const StateSegment&, TensorId moment,
                           TensorId scales);  // kept_ranges.cpp
  void narrow_again();
  void move_moments(WideMoment&, bool back);
  [[nodiscard]] std::vector<std::pair<Moment, View>> parts_of(WideMoment&);
  void sharded_collective(const Call&);            // execute_sharded.cpp
  [[nodiscard]] std::optional<TensorId> whole_tensor(const OpSite&, const Weight&,
                                                     bool gradient) const;
  [[nodiscard]] View sharded_operand(const Op&, const OpSite&, std::size_t weight, TensorId whole);
  void keep_weight(const WeightSlot&, View weight);
  // Of a step's tensor the elements that the operation names; the whole of it by default.
  [[nodiscard]] static View named_part(const Op&, View whole);

  const Program& program_;
  const TrainConfig& config_;
  const RankContext& context_;
  const Batches* batches_;
  Device& device_;
  KernelSet& kernels_;
  std::unique_ptr<KernelSet> own_host_kernels_;
  KernelSet& host_kernels_;  // kernels_ where they are the host's
  RankProgress& progress_;
  const StageProgram& stage_;
  const Schedule schedule_;
  const Binding stash_;  // its `room` and `stashed`
  StepWindows windows_;
  TensorStore store_;
  Arena aside_;  // of the device, beside the program's tensors: tables, copies for one operation
  std::map<std::pair<std::int64_t, std::int64_t>, Block> equal_groups_;
  Arena pinned_;  // of the host: what graphs copy from
  std::map<std::tuple<const Op*, const LayerInstance*, int>, Block> staged_;  // by microbatch
  std::optional<GraphCache> graphs_;
  std::optional<StreamOrder> order_;  // where the device has several
  std::vector<View> in_, out_;  // operands of the running operation
  std::vector<std::int64_t> send_bytes_, recv_bytes_;
  std::vector<float> scores_;
  std::vector<std::int32_t> labels_;
  // Of narrow copies of weights, by bucket, place and layout; the same in all operations of a step.
  std::map<std::tuple<Bucket, std::int64_t, bool>, BlockScales> weight_scales_;

  int step_ = 0;
  SpanRecorder* spans_ = nullptr;
  Losses losses_{};
  double grad_norm_ = 0;
  double lr_ = 0;
  UndecayedRanges undecayed_;
  float norm_part_ = 0;
  double clip_factor_ = 1;  // of the gradients, as clip wrote it
  ExpertLoad load_;
  std::int64_t updates_ = 0;
  bool skipped_ = false;
  double min_margin_ = std::numeric_limits<double>::infinity();
  std::map<std::pair<int, int>, Binding> routed_;  // by microbatch and layer
  std::map<InstanceKey, std::vector<std::int32_t>> counts_;  // that the host has read
  std::map<Bucket, std::vector<BucketRange>> shards_;
  std::vector<WideMoment> wide_;
  std::vector<WideMain> wide_mains_;
};

}  // namespace pleat
