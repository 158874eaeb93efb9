// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/expert_rows.hpp"

#include <cstdint>

#include "backend/execute/execution.hpp"
#include "backend/execute/input_rows.hpp"
#include "backend/runtime/host_access.hpp"

namespace pleat::execute {
namespace {

// Probabilities as rows of one element.
View as_rows(const Call& c, View v) {
  if (has_probabilities(c, c.op.in[0])) {
    v.rows = v.elements();
    v.cols = 1;
  }
  return v;
}

// The host knows the sum of the counts, and each of them only the report wants to have.
bool stay_on_device(const Call& c, const Execution& run) {
  return run.rows.are_all_kept() && run.device.hidden(c.out[0].data);
}

Counts integers(View v) { return {v.i32(), static_cast<std::size_t>(v.elements())}; }

}  // namespace

bool has_probabilities(const Call& c, TensorId tensor) {
  return c.site->program->tensor(tensor).shape.size() == 1;
}

// Padded experts have their capacity, whatever is dropped. What is left is counted for the report,
// where no graph has to stop for it.
void drop_tokens(const Call& c, Execution& run) {
  run.kernels.drop_tokens(c.in[0], c.in[1], c.op.attr.capacity, c.out[0], c.out[1]);
  if (!c.op.attr.padded) return;
  if (c.staged.data == nullptr) {
    read_on_host(run.device, c.out[1],
                 [&](View counts) { run.rows.set_kept(c, integers(counts)); });
  }
  upload(c, run, c.out[1], fill_capacity);
}

void expert_counts(const Call& c, Execution& run) {
  if (c.op.attr.padded) return upload(c, run, c.out[0], fill_capacity);
  run.kernels.expert_counts(c.in[0], c.out[0]);
  if (run.config.measure_load && stay_on_device(c, run)) {
    run.kernels.count_load(c.in[0], run.device_load.of(layer_of_result(c).value));
  }
}

void local_counts(const Call& c, Execution& run) {
  const std::int64_t local = c.op.attr.local_experts;
  run.kernels.local_counts(c.in[0], run.ranks.expert().ep * local, local, c.out[0]);
}

// Counts of the local experts alone: rows for the others stay out.
void permute(const Call& c, Execution& run) {
  const OpAttributes& a = c.op.attr;
  const bool all = c.in[3].elements() == a.experts;
  run.kernels.permute(c.in[0], c.in[1], c.in[2], c.in[3],
                      all ? 0 : run.ranks.expert().ep * a.local_experts, c.out[0], c.out[1],
                      c.out[2]);
}

void permute_bwd(const Call& c, Execution& run) {
  run.kernels.permute_bwd(c.in[0], c.in[1], c.in[2], c.out[0], c.out[1], c.op.attr.accumulate);
}

void unpermute(const Call& c, Execution& run) { run.kernels.unpermute(c.in[0], c.in[1], c.out[0]); }

void unpermute_bwd(const Call& c, Execution& run) {
  run.kernels.unpermute_bwd(c.in[0], c.in[1], c.out[0]);
}

void sort_chunks(const Call& c, Execution& run) {
  run.kernels.sort_chunks(as_rows(c, c.in[0]), c.in[1], chunk_shape(c.op, run),
                          as_rows(c, c.out[0]));
}

void unsort_chunks(const Call& c, Execution& run) {
  run.kernels.unsort_chunks(as_rows(c, c.in[0]), c.in[1], chunk_shape(c.op, run),
                            as_rows(c, c.out[0]));
}

void learn_kept(const Call& c, Execution& run) {
  if (c.op.attr.padded) return run.rows.set_padded(c);
  read_on_host(run.device, c.out[1], [&](View counts) { run.rows.set_kept(c, integers(counts)); });
}

void learn_counts(const Call& c, Execution& run) {
  if (c.op.attr.padded) return;
  if (stay_on_device(c, run)) return run.rows.set_all_kept(c, c.in[0].elements());
  const Counts counts = run.rows.counts_on_host(c, c.op.out[0], c.out[0]);
  if (std::ssize(counts) == c.op.attr.experts) {
    const int layer = layer_of_result(c).value;
    const ExpertSlots* const slots = run.placed.slots_of(layer);
    run.step.load.add(layer, slots == nullptr ? counts : Counts(counts_of_experts(*slots, counts)));
  }
  run.rows.set_kept(c, counts);
}

ChunkShape chunk_shape(const Op& op, const Execution& run) {
  const std::int64_t local = op.attr.local_experts;
  return {run.ranks.expert().ep * local, local, run.program.plan.expert.etp};
}

}  // namespace pleat::execute
